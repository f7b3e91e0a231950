"""The training loop: stochastic gradient descent, validation and a checkpoint after each epoch, the final test.

A checkpoint contains the whole state of the loop, also in the middle of an epoch. Therefore, training that was
interrupted and resumed gives the same numbers as uninterrupted training on the same machine and device.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posvec.errors import TrainingError
from posvec.language_model.batches import BatchedText
from posvec.language_model.checkpoints import LoopState, read_loop_state
from posvec.language_model.data import EOS, PARTS, Texts, TokenIds
from posvec.language_model.network import LSTMState, Network
from posvec.language_model.report import Epoch, LanguageModelReport
from posvec.language_model.storage import SavedLanguageModel
from posvec.language_model.transformer import WordFeatures
from posvec.storage.records import TrainingProgress
from posvec.system.signals import Interruption, deferred_signals


class LanguageModelTraining:
    """The training of a network on texts; ``save`` receives a checkpoint after each epoch and on Ctrl-C."""

    def __init__(
        self,
        network: Network,
        texts: Texts,
        report: LanguageModelReport,
        features: WordFeatures | None,
        device: torch.device,
        save: Callable[[SavedLanguageModel], None],
        display: Any = None,
    ) -> None:
        self.config = report.config
        self.device = device
        self.network = network.to(device)
        self.report = report
        self.words = texts.words
        eos = texts.words.index(EOS)
        self.texts = {part: batch_text(getattr(texts, part), self.config.batch, eos, features) for part in PARTS}
        self.best: dict[str, Tensor] = {}
        self.lr = self.config.lr
        self.steps_done = 0  # in this epoch, like the following attributes
        self.loss_sum = 0.0
        self.tokens = 0
        self.seconds = 0.0
        self.state: LSTMState | None = None
        self._save, self._display = save, display
        self._trained = [weight for weight in self.network.parameters() if weight.requires_grad]
        self._interruption = Interruption()

    def restore(self, saved: SavedLanguageModel) -> None:
        """Restore the state of a checkpoint; raise ModelError if it is damaged."""
        trained = {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}
        loop = read_loop_state(saved, trained, self.texts["train"].steps(self.config.steps), self.device)
        self.network.load_state_dict(saved.weights)
        self.best = {name: weight.to(self.device) for name, weight in saved.best.items()}
        self.lr, self.steps_done, self.loss_sum = loop.lr, loop.steps_done, loop.loss_sum
        self.tokens, self.seconds = loop.tokens, loop.seconds
        if "hidden" in saved.states:
            self.state = saved.states["hidden"].to(self.device), saved.states["cell"].to(self.device)

    def run(self) -> LanguageModelReport:
        """Train the remaining epochs, restore the weights of the best epoch and measure the test loss."""
        with deferred_signals() as self._interruption:
            while len(self.report.epochs) < self.config.epochs:
                self.train_epoch()
                self._end_epoch()
            test_loss = self._test_loss()
            with self._interruption.protected():
                self.report = self.report.replace(test_loss=test_loss)
                self._save(SavedLanguageModel(self.report, self.words, dict(self.network.state_dict()), {}))
        return self.report

    def _test_loss(self) -> float:
        """Restore the weights of the best epoch and measure the test loss; the last checkpoint survives a signal."""
        self.network.load_state_dict(self.best, strict=False)
        return mean_loss(self.network, self.texts["test"], self.device, self._raise_if_requested)

    def train_epoch(self) -> None:
        """Train on the rest of the training text, from the step ``steps_done``."""
        self.network.train()
        optimizer = torch.optim.SGD(self._trained, self.lr)
        began = time.monotonic() - self.seconds
        for segment in self.texts["train"].segments(self.config.steps, self.device, self.steps_done):
            self._raise_if_interrupted()
            optimizer.zero_grad()
            with mixed_precision(self.network, self.device):
                outputs, (hidden, cell) = self.network(segment.inputs, segment.extra, self.state)
            self.state = hidden.detach(), cell.detach()
            loss = self.network.training_loss(outputs, segment.targets)
            loss.backward()
            nn.utils.clip_grad_norm_(self._trained, self.config.clip)
            optimizer.step()
            self._count(loss.item(), segment.tokens, time.monotonic() - began)

    def _count(self, loss: float, tokens: int, seconds: float) -> None:
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is not finite; lower lr (now {self.lr:g})")
        self.steps_done += 1
        self.loss_sum += loss * tokens
        self.tokens += tokens
        self.seconds = seconds
        if self._display:
            self._display.on_chunk(self._progress(loss))

    def _end_epoch(self) -> None:
        self._raise_if_interrupted()
        validation = mean_loss(self.network, self.texts["valid"], self.device, self._raise_if_interrupted)
        if not math.isfinite(validation):
            raise TrainingError(f"the validation loss is not finite; lower lr (now {self.lr:g})")
        lowest = min((epoch.validation_loss for epoch in self.report.epochs), default=math.inf)
        epoch = Epoch(self.loss_sum / self.tokens, validation, self.lr, self.seconds)
        self._check_loss(max(epoch.loss, validation))
        self._check_weights()
        self.report = self.report.replace(epochs=(*self.report.epochs, epoch))
        if validation < lowest:
            trained = ((name, weight) for name, weight in self.network.named_parameters() if weight.requires_grad)
            self.best = {name: weight.detach().clone() for name, weight in trained}
        else:
            self.lr /= self.config.lr_divisor
        self.state = None
        if self._display:
            self._display.on_epoch(self._progress(epoch.loss, validation))
        self.steps_done, self.loss_sum, self.tokens, self.seconds = 0, 0.0, 0, 0.0
        self._save_checkpoint()

    def _check_loss(self, loss: float) -> None:
        """Raise if the loss is far above that of uniform guessing; it can stay finite, because LSTM units saturate."""
        guessing = math.log(len(self.words))
        if loss > _DIVERGED * (1 + guessing):
            advice = f"lower lr (now {self.lr:g})" + (
                f" or clip (now {self.config.clip:g})" if self.config.clip > 1 else ""
            )
            raise TrainingError(
                f"training diverged: the loss is {loss:.3g} after epoch {len(self.report.epochs) + 1}, whereas uniform "
                f"guessing among {len(self.words):,} words has {guessing:.3g}; {advice}"
            )

    def _check_weights(self) -> None:
        """Raise if weights have become so large that steps no longer change them, although the loss is bounded."""
        largest = max(float(weight.detach().abs().max()) for weight in self._trained)
        if not largest < _MAX_WEIGHT:
            raise TrainingError(
                f"training diverged: weights have grown to {largest:.3g}; lower lr (now {self.lr:g}) or clip (now "
                f"{self.config.clip:g})"
            )

    def _checkpoint(self) -> SavedLanguageModel:
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        if self.state is not None:
            states["hidden"], states["cell"] = self.state
        loop = LoopState(self.lr, self.steps_done, self.loss_sum, self.tokens, self.seconds)
        return SavedLanguageModel(
            self.report, self.words, dict(self.network.state_dict()), self.best, states, loop.to_dict()
        )

    def _save_checkpoint(self) -> None:
        with self._interruption.protected():
            self._save(self._checkpoint())

    def _raise_if_interrupted(self) -> None:
        if self._interruption.requested:
            self._save_checkpoint()
            raise KeyboardInterrupt

    def _raise_if_requested(self) -> None:
        if self._interruption.requested:
            raise KeyboardInterrupt

    def _progress(self, loss: float, validation_loss: float | None = None) -> TrainingProgress:
        earlier = self.report.epochs if validation_loss is None else self.report.epochs[:-1]
        epochs, per_epoch = self.config.epochs, self.report.tokens[0]
        words = len(earlier) * per_epoch + self.tokens
        seconds = sum(epoch.seconds for epoch in earlier) + self.seconds
        speed = words / max(seconds, 1e-9)
        left = (epochs * per_epoch - words) / max(speed, 1e-9)
        return TrainingProgress(
            len(earlier) + 1, epochs, words / (epochs * per_epoch), words, seconds, speed, left, loss, self.lr,
            validation_loss,
        )  # fmt: skip


# Training has diverged if its loss is this many times that of uniform guessing, which no useful training reaches.
_DIVERGED = 10

# The weights of useful networks are below 100.
_MAX_WEIGHT = 1e6


def batch_text(ids: TokenIds, batch: int, eos: int, features: WordFeatures | None) -> BatchedText:
    """Divide a text into columns, with the features of a transformer for each input token."""
    if features is None:
        return BatchedText.of(ids, batch, eos)
    return BatchedText.of(ids, batch, eos, features.of(np.concatenate([[eos], ids[:-1]])))


@torch.no_grad()
def mean_loss(
    network: Network, text: BatchedText, device: torch.device, check: Callable[[], None] = lambda: None
) -> float:
    """The mean negative log-likelihood of all tokens of a text, with the full softmax.

    ``check`` is called before every segment and may raise an exception.
    """
    network.eval()
    total, tokens, state = 0.0, 0, None
    for segment in text.segments(network.config.steps, device):
        check()
        with mixed_precision(network, device):
            hidden, state = network(segment.inputs, segment.extra, state)
        total += network.loss(hidden, segment.targets).item() * segment.tokens
        tokens += segment.tokens
    return total / tokens


def mixed_precision(network: Network, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """The context for the precision of the LSTM; the network itself converts the inputs of its output layer."""
    # On CPUs, many of which do not support an LSTM in bfloat16, only the output layer uses bfloat16.
    if network.config.precision == "float32" or device.type == "cpu":
        return contextlib.nullcontext()
    return torch.autocast(device.type, torch.bfloat16)
