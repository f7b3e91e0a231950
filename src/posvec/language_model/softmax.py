"""The loss of the output layer: the mean negative log-likelihood of words w given hidden states h, (N, D).

    loss = -1/N sum_n log softmax(W h_n + b)[w_n]          W (V, D), b (V,)

The gradient of the logits is softmax - one-hot, so it is known as soon as the logits are. Therefore, ``cross_entropy``
processes a few rows of h at a time and computes the gradients of h, W and b while the logits are in the cache. The
matrix of N x V logits, hundreds of megabytes for a large vocabulary, is never stored.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

IGNORED = -1
"""The target of padding, which is excluded from the loss."""

# The logits of a chunk of rows should fit into the caches. Too few rows would make the matrix products slow, and the
# gradient of W, which is read and written for each chunk, would be updated too often.
_LOGITS = 1 << 20
_MIN_ROWS = 256


def cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """The mean loss over the targets that are not ignored."""
    if torch.is_grad_enabled():
        loss: Tensor = _CrossEntropy.apply(hidden, weight, bias, targets)
        return loss
    total = torch.zeros((), dtype=torch.float64, device=hidden.device)
    for rows in _chunks(len(hidden), len(weight)):
        logs = log_probabilities(hidden[rows], weight, bias)
        total += _picked(logs, targets[rows]).sum(dtype=torch.float64)
    return -total / (targets != IGNORED).sum()


def log_probabilities(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """log softmax(W h + b), (N, V)."""
    return torch.log_softmax(torch.addmm(bias.to(hidden.dtype), hidden, weight.to(hidden.dtype).t()).float(), 1)


def sampled_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, log_proposal: Tensor, samples: int
) -> Tensor:
    """The mean loss with a softmax over the target and words sampled from a proposal distribution q.

    ``log_proposal`` is the logarithm of q. Z = sum_v exp(s_v) is estimated by exp(s_w) of the target w plus
    sum_j exp(s_j) / (S q_j) over the S samples j != w, whose expectation is the rest of Z (Jean et al. 2015). With many
    samples the loss approaches that of the full softmax.
    """
    counted = targets != IGNORED
    hidden, targets = hidden[counted], targets[counted]
    drawn = torch.multinomial(log_proposal.exp(), samples, replacement=True)
    log_expected = log_proposal[drawn] + math.log(samples)
    target_scores = (hidden * weight[targets]).sum(1).float() + bias[targets]
    sample_scores = torch.addmm(bias[drawn].to(hidden.dtype), hidden, weight[drawn].to(hidden.dtype).t()).float()
    sample_scores = sample_scores - log_expected
    sample_scores = sample_scores.masked_fill(drawn[None, :] == targets[:, None], float("-inf"))
    return (torch.logsumexp(torch.cat([target_scores[:, None], sample_scores], 1), 1) - target_scores).mean()


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
        chunks = _chunks(len(hidden), len(weight))
        # Allocated once, because the system clears large pieces of memory at each allocation.
        all_logits = hidden.new_empty(chunks[0].stop, len(weight))
        all_gradients = torch.empty_like(all_logits, dtype=torch.float32)
        for rows in chunks:
            logits, gradient = all_logits[: rows.stop - rows.start], all_gradients[: rows.stop - rows.start]
            torch.addmm(cast_bias, hidden[rows], cast_weight.t(), out=logits)
            words = targets[rows, None].clamp(min=0)
            torch.softmax(logits, 1, torch.float32, out=gradient)
            # log sum exp(logits) = greatest logit - log of its probability, which is never 0. This avoids a second exp.
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
        ctx.scale = scale = 1 / (len(targets) - int(ignored.sum()))
        return (total * scale).to(torch.float32)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.gradients
        # Drop the references, because autograd accumulates in place only into gradients without other references.
        ctx.gradients = None
        scale = outer[0] * ctx.scale
        return hidden.mul_(scale), None if weight is None else weight.float().mul_(scale), bias.mul_(scale), None


def _chunks(rows: int, words: int) -> list[slice]:
    step = max(_MIN_ROWS, _LOGITS // words)
    return [slice(begin, min(begin + step, rows)) for begin in range(0, rows, step)]


def _picked(logs: Tensor, targets: Tensor) -> Tensor:
    """The log-probability of each target, or 0 if the target is ignored."""
    picked = logs.gather(1, targets[:, None].clamp(min=0))[:, 0]
    return torch.where(targets == IGNORED, torch.zeros_like(picked), picked)
