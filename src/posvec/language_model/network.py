"""The network: vectors -> dropout -> LSTM layers -> dropout -> linear, tied to the vectors -> softmax.

Tied weights are one tensor, ``lookup``, that is used twice; when frozen it is left out of what is trained.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posvec.errors import ConfigError
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.softmax import cross_entropy, log_probabilities, sampled_cross_entropy

State = tuple[Tensor, Tensor]


class Network(nn.Module):
    """Of ``words`` words with vectors of ``dim`` features; ``extra`` features can stand beside each input vector."""

    log_proposal: Tensor

    def __init__(self, config: LanguageModelConfig, words: int, dim: int, extra: int = 0) -> None:
        super().__init__()
        if config.tie and config.hidden != dim and not config.projection:
            raise ConfigError(
                f"tied weights need as many hidden units ({config.hidden}) as a vector has features ({dim}); set "
                f"hidden={dim} (--hidden {dim}), or projection (--projection) or tie=False (--no-tie)"
            )
        self.config = config
        self.lookup = nn.Parameter(torch.zeros(words, dim), requires_grad=not config.freeze)
        # The few rows that were read are added to the gradient of tied weights, which the output layer fills.
        self._sparse = config.tie and config.softmax == "full"
        self.dropout = nn.Dropout(config.dropout)
        between = config.dropout if config.layers > 1 else 0.0
        self.lstm = nn.LSTM(dim + extra, config.hidden, config.layers, dropout=between)
        self.projection = nn.Linear(config.hidden, dim, bias=False) if config.projection else None
        if config.softmax == "adaptive":
            self.adaptive = nn.AdaptiveLogSoftmaxWithLoss(config.hidden, words, _cutoffs(words))
            return
        self.bias = nn.Parameter(torch.zeros(words))
        if not config.tie:
            self.output = nn.Parameter(torch.empty(words, config.hidden).uniform_(-0.1, 0.1))
        if config.softmax == "sampled":
            self.register_buffer("log_proposal", torch.zeros(words))

    @staticmethod
    def create(
        config: LanguageModelConfig, table: NDArray[np.float32], counts: NDArray[np.int64], extra: int = 0
    ) -> Network:
        """A network to be trained: its vectors are given, everything else is drawn at random."""
        words, dim = table.shape
        network = Network(config, words, dim, extra)
        with torch.no_grad():
            network.lookup.copy_(torch.from_numpy(table))
            if config.softmax == "sampled":
                # Flattened as the negatives of word2vec are; one more, so that words of the test text are drawn too.
                weights = torch.from_numpy(counts + 1.0) ** 0.75
                network.log_proposal.copy_(torch.log(weights / weights.sum()))
        return network

    @property
    def weight(self) -> Tensor:
        """W of the output layer."""
        return self.lookup if self.config.tie else self.output

    def forward(self, ids: Tensor, extra: Tensor | None = None, state: State | None = None) -> tuple[Tensor, State]:
        """Hidden states as the output layer takes them, (steps * batch, D), of ids (steps, batch)."""
        inputs = nn.functional.embedding(ids, self.lookup, sparse=self._sparse)
        if extra is not None:
            inputs = torch.cat([inputs, extra.to(inputs.dtype)], 2)
        hidden, state = self.lstm(self.dropout(inputs), state)
        hidden = self.dropout(hidden).flatten(0, 1)
        hidden = hidden if self.projection is None else self.projection(hidden)
        return hidden.bfloat16() if self.config.precision == "bfloat16" else hidden, state

    def training_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Mean loss of the targets that count, by the softmax of the configuration."""
        if self.config.softmax == "sampled":
            return sampled_cross_entropy(
                hidden, self.weight, self.bias, targets, self.log_proposal, self.config.samples
            )
        return self.loss(hidden, targets)

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Mean negative log-likelihood of the targets that count."""
        if self.config.softmax == "adaptive":
            counted = targets >= 0
            loss: Tensor = self.adaptive(hidden[counted].float(), targets[counted]).loss
            return loss
        return cross_entropy(hidden, self.weight, self.bias, targets)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        if self.config.softmax == "adaptive":
            return self.adaptive.log_prob(hidden.float())
        return log_probabilities(hidden, self.weight, self.bias)


def _cutoffs(words: int) -> list[int]:
    """Where classes of rarer words begin."""
    cutoffs = sorted({words // 10, words // 3} - {0})
    if not cutoffs:
        raise ConfigError(f"an adaptive softmax is for many words, and here are {words}; leave out softmax (--softmax)")
    return cutoffs
