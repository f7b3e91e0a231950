"""The loss of the output layer: the negative log-likelihood of words w given hidden states h, (N, D).

    loss = -1/N sum_n log softmax(W h_n + b)[w_n]          W (V, D), b (V,)

The gradient of the logits is softmax - one-hot, so it is known as soon as they are. ``cross_entropy`` therefore takes a
few rows of h at a time, and goes all the way from logits to the gradients of h, W and b while the logits are in the
cache: a matrix of N x V numbers, hundreds of megabytes for a large vocabulary, never exists.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

IGNORED = -1
"""A target that does not count: padding."""

# Logits at a time: so many fit into the caches; but fewer rows would make the products of matrices slow, and add to the
# gradient of W, which is read and written for each block, too often.
_LOGITS = 1 << 20
_FEWEST_ROWS = 256


def cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """The mean over all targets that count."""
    if torch.is_grad_enabled():
        loss: Tensor = _CrossEntropy.apply(hidden, weight, bias, targets)
        return loss
    total = torch.zeros((), dtype=torch.float64, device=hidden.device)
    for rows in _blocks(len(hidden), len(weight)):
        logs = log_probabilities(hidden[rows], weight, bias)
        total += _picked(logs, targets[rows]).sum(dtype=torch.float64)
    return -total / (targets != IGNORED).sum()


def log_probabilities(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.log_softmax(torch.addmm(bias.to(hidden.dtype), hidden, weight.to(hidden.dtype).t()).float(), 1)


def sampled_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, log_proposal: Tensor, samples: int
) -> Tensor:
    """The mean loss against the target and words drawn from a proposal distribution, given as its logarithm.

    Z = sum_v exp(s_v) is estimated by exp(s_w) of the target w and, for the rest, sum_j exp(s_j) / (S q_j) over the S
    samples j != w, whose expectation it is (Jean et al. 2015): with many samples this is the full softmax.
    """
    counted = targets != IGNORED
    hidden, targets = hidden[counted], targets[counted]
    drawn = torch.multinomial(log_proposal.exp(), samples, replacement=True)
    log_expected = log_proposal[drawn] + math.log(samples)
    right = (hidden * weight[targets]).sum(1).float() + bias[targets]
    others = torch.addmm(bias[drawn].to(hidden.dtype), hidden, weight[drawn].to(hidden.dtype).t()).float()
    others = others - log_expected
    others = others.masked_fill(drawn[None, :] == targets[:, None], float("-inf"))
    return (torch.logsumexp(torch.cat([right[:, None], others], 1), 1) - right).mean()


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        dtype = hidden.dtype
        cast_weight, cast_bias = weight.to(dtype), bias.to(dtype)
        ignored = targets == IGNORED
        any_ignored = bool(ignored.any())
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.empty_like(cast_weight) if ctx.needs_input_grad[1] else None
        bias_gradient = torch.zeros_like(bias)
        total = torch.zeros((), dtype=torch.float64, device=hidden.device)
        blocks = _blocks(len(hidden), len(weight))
        # Memory that is asked for once: the system clears large pieces of it whenever it hands them out.
        all_logits = hidden.new_empty(blocks[0].stop, len(weight))
        all_shares = torch.empty_like(all_logits, dtype=torch.float32)
        for rows in blocks:
            logits, gradient = all_logits[: rows.stop - rows.start], all_shares[: rows.stop - rows.start]
            torch.addmm(cast_bias, hidden[rows], cast_weight.t(), out=logits)
            words = targets[rows, None].clamp(min=0)
            torch.softmax(logits, 1, torch.float32, out=gradient)
            # log sum exp(logits) = greatest logit - log of its share: no second pass of exp, and no share is 0.
            losses = logits.amax(1).float() - gradient.amax(1).log() - logits.gather(1, words)[:, 0].float()
            gradient.scatter_add_(1, words, gradient.new_full((len(gradient), 1), -1.0))
            if any_ignored:
                losses = losses.masked_fill(ignored[rows], 0)
                gradient[ignored[rows]] = 0
            total += losses.sum(dtype=torch.float64)
            bias_gradient += gradient.sum(0)
            cast_gradient = gradient.to(dtype)
            torch.mm(cast_gradient, cast_weight, out=hidden_gradient[rows])
            if weight_gradient is not None:
                first = rows.start == 0
                torch.addmm(weight_gradient, cast_gradient.t(), hidden[rows], beta=int(not first), out=weight_gradient)
        ctx.gradients = hidden_gradient, weight_gradient, bias_gradient
        ctx.share = share = 1 / (len(targets) - int(ignored.sum()))
        return (total * share).to(torch.float32)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.gradients
        ctx.gradients = None  # given away: autograd adds to a gradient in place if nobody else holds it
        scale = outer[0] * ctx.share
        return hidden.mul_(scale), None if weight is None else weight.float().mul_(scale), bias.mul_(scale), None


def _blocks(rows: int, words: int) -> list[slice]:
    step = max(_FEWEST_ROWS, _LOGITS // words)
    return [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]


def _picked(logs: Tensor, targets: Tensor) -> Tensor:
    """The logarithm of each target's probability, 0 where it does not count."""
    picked = logs.gather(1, targets[:, None].clamp(min=0))[:, 0]
    return torch.where(targets == IGNORED, torch.zeros_like(picked), picked)
