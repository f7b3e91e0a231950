"""The network: vectors -> dropout -> LSTM layers -> dropout -> linear layer, tied to the vectors -> softmax.

Tied weights are one tensor, ``lookup``, that is used twice. If it is frozen, it is not trained.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from posvec.errors import ConfigError
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.softmax import cross_entropy, log_probabilities, sampled_cross_entropy

LSTMState = tuple[Tensor, Tensor]
"""The hidden state and the cell state of all layers."""


class Network(nn.Module):
    """A network for ``words`` words, with vectors of ``dim`` features and ``extra`` features for each input token."""

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
        # With tied weights the output layer produces a dense gradient; the lookup then adds to a few of its rows.
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
        """Make a network to train, with the given vectors and random initial values of all other parameters."""
        words, dim = table.shape
        network = Network(config, words, dim, extra)
        with torch.no_grad():
            network.lookup.copy_(torch.from_numpy(table))
            if config.softmax == "sampled":
                # The exponent is that of word2vec's negative sampling. Adding 1 includes words of the test text.
                weights = torch.from_numpy(counts + 1.0) ** 0.75
                network.log_proposal.copy_(torch.log(weights / weights.sum()))
        return network

    @property
    def weight(self) -> Tensor:
        """The weight matrix of the output layer."""
        return self.lookup if self.config.tie else self.output

    def forward(
        self, ids: Tensor, extra: Tensor | None = None, state: LSTMState | None = None
    ) -> tuple[Tensor, LSTMState]:
        """Map token ids, (steps, batch), to the inputs of the output layer, (steps * batch, D), and the next state."""
        inputs = nn.functional.embedding(ids, self.lookup, sparse=self._sparse)
        if extra is not None:
            inputs = torch.cat([inputs, extra.to(inputs.dtype)], 2)
        hidden, state = self.lstm(self.dropout(inputs), state)
        hidden = self.dropout(hidden).flatten(0, 1)
        hidden = hidden if self.projection is None else self.projection(hidden)
        return hidden.bfloat16() if self.config.precision == "bfloat16" else hidden, state

    def training_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of the targets that are not ignored, with the configured softmax."""
        if self.config.softmax == "sampled":
            return sampled_cross_entropy(
                hidden, self.weight, self.bias, targets, self.log_proposal, self.config.samples
            )
        return self.loss(hidden, targets)

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """The mean negative log-likelihood of the targets that are not ignored."""
        if self.config.softmax == "adaptive":
            counted = targets >= 0
            loss: Tensor = self.adaptive(hidden[counted].float(), targets[counted]).loss
            return loss
        return cross_entropy(hidden, self.weight, self.bias, targets)

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """The log-probabilities of all words, (N, words)."""
        if self.config.softmax == "adaptive":
            return self.adaptive.log_prob(hidden.float())
        return log_probabilities(hidden, self.weight, self.bias)


def _cutoffs(words: int) -> list[int]:
    """The indices at which the classes of rarer words begin."""
    cutoffs = sorted({words // 10, words // 3} - {0})
    if not cutoffs:
        raise ConfigError(
            f"an adaptive softmax needs at least 3 words, and the texts have {words}; leave out softmax (--softmax)"
        )
    return cutoffs
