"""The training loop: stochastic gradient descent, a validation and a checkpoint per epoch, Ctrl-C, the test at the end.

Everything the loop depends on is in a checkpoint, in the midst of an epoch too, so that training that was
interrupted and resumed gives the numbers of training that was not (on one machine and device: others round otherwise).
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
from posvec.language_model.batches import Columns
from posvec.language_model.data import EOS, PARTS, Ids, Texts
from posvec.language_model.network import Network, State
from posvec.language_model.report import Epoch, LanguageModelReport
from posvec.language_model.storage import Saved
from posvec.language_model.transformer import Features
from posvec.storage.records import TrainingProgress
from posvec.system.signals import deferred_signals


class Training:
    """A network, its texts, and how far it got; ``save`` is given a checkpoint after each epoch and on Ctrl-C."""

    def __init__(
        self,
        network: Network,
        texts: Texts,
        report: LanguageModelReport,
        features: Features | None,
        device: torch.device,
        save: Callable[[Saved], None],
        display: Any = None,
    ) -> None:
        self.config = report.config
        self.device = device
        self.network = network.to(device)
        self.report = report
        self.words = texts.words
        eos = texts.words.index(EOS)
        self.columns = {part: columns(getattr(texts, part), self.config.batch, eos, features) for part in PARTS}
        self.best: dict[str, Tensor] = {}
        self.lr = self.config.lr
        self.steps_done = 0  # of this epoch, as all that follows
        self.loss_sum = 0.0
        self.tokens = 0
        self.seconds = 0.0
        self.state: State | None = None
        self._save, self._display = save, display
        self._trained = [weight for weight in self.network.parameters() if weight.requires_grad]
        self._interrupted = False

    def restore(self, saved: Saved) -> None:
        """Go back to a checkpoint."""
        assert saved.progress is not None
        self.network.load_state_dict(saved.weights)
        self.best = {name: weight.to(self.device) for name, weight in saved.best.items()}
        for name in _COUNTED:
            setattr(self, name, saved.progress[name])
        if "hidden" in saved.states:
            self.state = saved.states["hidden"].to(self.device), saved.states["cell"].to(self.device)
        torch.set_rng_state(saved.states["cpu"])
        if "cuda" in saved.states and self.device.type == "cuda":
            torch.cuda.set_rng_state(saved.states["cuda"], self.device)

    def run(self) -> LanguageModelReport:
        """Train the epochs that are left; the network has the weights of the best one when this returns."""
        with deferred_signals(self._interrupt):
            while len(self.report.epochs) < self.config.epochs:
                self._train_epoch()
                self._end_epoch()
            self.network.load_state_dict(self.best, strict=False)
            self.report = self.report.replace(test_loss=evaluate(self.network, self.columns["test"], self.device))
        self._save(Saved(self.report, self.words, dict(self.network.state_dict()), {}))
        return self.report

    def _train_epoch(self) -> None:
        self.network.train()
        optimizer = torch.optim.SGD(self._trained, self.lr)
        began = time.monotonic() - self.seconds
        for block in self.columns["train"].blocks(self.config.steps, self.device, self.steps_done):
            self._heed_interruption()
            optimizer.zero_grad()
            with mixed_precision(self.network, self.device):
                hidden, (short, long) = self.network(block.inputs, block.extra, self.state)
            self.state = short.detach(), long.detach()
            loss = self.network.training_loss(hidden, block.targets)
            loss.backward()
            nn.utils.clip_grad_norm_(self._trained, self.config.clip)
            optimizer.step()
            self._count(loss.item(), block.tokens, time.monotonic() - began)

    def _count(self, loss: float, tokens: int, seconds: float) -> None:
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is not a number any more; lower lr (now {self.lr:g})")
        self.steps_done += 1
        self.loss_sum += loss * tokens
        self.tokens += tokens
        self.seconds = seconds
        if self._display:
            self._display.on_block(self._progress(loss))

    def _end_epoch(self) -> None:
        self._heed_interruption()
        validation = evaluate(self.network, self.columns["valid"], self.device)
        if not math.isfinite(validation):
            raise TrainingError(f"the validation loss is not a number any more; lower lr (now {self.lr:g})")
        lowest = min((epoch.validation_loss for epoch in self.report.epochs), default=math.inf)
        epoch = Epoch(self.loss_sum / self.tokens, validation, self.lr, self.seconds)
        self._check_loss(max(epoch.loss, validation))
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
        self._save(self._checkpoint())

    def _check_loss(self, loss: float) -> None:
        """Raises if an epoch ended far from anything learnt: finite, for units saturate, and of no use."""
        guessing = math.log(len(self.words))
        if loss > _DIVERGED * (1 + guessing):
            advice = f"lower lr (now {self.lr:g})" + (
                f" or clip (now {self.config.clip:g})" if self.config.clip > 1 else ""
            )
            raise TrainingError(
                f"training diverged: the loss is {loss:.3g} after epoch {len(self.report.epochs) + 1}, where guessing "
                f"among {len(self.words):,} words has {guessing:.3g}; {advice}"
            )

    def _checkpoint(self) -> Saved:
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        if self.state is not None:
            states["hidden"], states["cell"] = self.state
        progress = {name: getattr(self, name) for name in _COUNTED}
        return Saved(self.report, self.words, dict(self.network.state_dict()), self.best, states, progress)

    def _interrupt(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True  # and nothing more: this runs in a signal handler, between any two instructions

    def _heed_interruption(self) -> None:
        if self._interrupted:
            self._save(self._checkpoint())
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


# Times the loss of guessing: nothing that learns gets there, not in its first epoch either.
_DIVERGED = 10

# What a checkpoint holds of the loop.
_COUNTED = ("lr", "steps_done", "loss_sum", "tokens", "seconds")


def columns(ids: Ids, batch: int, eos: int, features: Features | None) -> Columns:
    """A text in columns, with what a transformer says about its words beside them."""
    if features is None:
        return Columns.of(ids, batch, eos)
    return Columns.of(ids, batch, eos, features.of(np.concatenate([[eos], ids[:-1]])))


@torch.no_grad()
def evaluate(network: Network, text: Columns, device: torch.device) -> float:
    """Mean negative log-likelihood of all tokens of a text, by the whole distribution."""
    network.eval()
    total, tokens, state = 0.0, 0, None
    for block in text.blocks(network.config.steps, device):
        with mixed_precision(network, device):
            hidden, state = network(block.inputs, block.extra, state)
        total += network.loss(hidden, block.targets).item() * block.tokens
        tokens += block.tokens
    return total / tokens


def mixed_precision(network: Network, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """For the LSTM; the network gives its output layer hidden states of the right type itself."""
    # Many CPUs have no LSTM in bfloat16; theirs is in float32, and only the output layer in bfloat16.
    if network.config.precision == "float32" or device.type == "cpu":
        return contextlib.nullcontext()
    return torch.autocast(device.type, torch.bfloat16)
