"""The training loop: stretches of lines over threads, learning rate, loss, callbacks, validation, checkpoints.

Python owns time, the kernel owns arithmetic: a worker thread asks the kernel, with the GIL released, to train one
stretch of lines at one learning rate; everything else happens between such calls. What a stretch draws follows from the
seed and its number, and its learning rate from its place, so that training can stop and go on after any of them.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from posvec.errors import CorpusError, TrainingError
from posvec.model import Model
from posvec.storage.records import EpochReport, TrainingProgress, TrainingReport, TrainingState
from posvec.system.signals import deferred_signals
from posvec.training.divergence import overflow_advice
from posvec.training.stretches import Crew, Text, Threads, Work, content_digest, learning_rate

# Times the loss of a model that knows nothing, log 2 per word: what comes back from there is no model. Under a
# score_limit such scores give no update, so that parameters can run away and still never overflow.
_DIVERGED = 1000
_RECENT = 200  # stretches


class Callback(Protocol):
    """Told how training goes, in the thread that called ``train``. Raise :class:`StopTraining` to end it early."""

    def on_block(self, progress: TrainingProgress) -> None: ...
    def on_epoch(self, progress: TrainingProgress) -> None: ...


class StopTraining(Exception):
    """Raised by a callback: training ends here, and the model is as good as it is."""


def train(
    model: Model,
    corpus: Text,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[TrainingState], None] | None = None,
    crew: Crew | None = None,
) -> TrainingReport:
    """Train a model in place, by its own configuration; from where it stands if it was interrupted.

    The ``crew`` does it, by default threads of this process.

    ``checkpoint`` is called with the state of training every ``checkpoint_minutes`` and on Ctrl-C, while no thread
    trains; it saves the model. Ctrl-C then raises KeyboardInterrupt, and a second one does so without saving.
    """
    return _Run(model, corpus, callbacks, checkpoint, crew or Threads(model, corpus)).run()


@dataclass
class _Tally:
    """Sums over stretches."""

    words: int = 0
    masked_words: int = 0
    loss: float = 0.0

    def add(self, words: int, masked_words: int, loss: float) -> None:
        self.words += words
        self.masked_words += masked_words
        self.loss += loss

    @property
    def mean_loss(self) -> float:
        return self.loss / self.masked_words if self.masked_words else 0.0


class _Run:
    def __init__(
        self,
        model: Model,
        corpus: Text,
        callbacks: Sequence[Callback],
        checkpoint: Callable[[TrainingState], None] | None,
        crew: Crew,
    ) -> None:
        self.config = model.config
        self.corpus = corpus
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.crew = crew
        self.model = model
        self.all_epochs = _Tally()
        self.epoch = _Tally()
        self.recent: deque[tuple[int, float]] = deque()  # of which the loss shown is the mean
        self.recent_total = _Tally()
        self.epochs: list[EpochReport] = []
        self.next_stretch = 0
        self.seconds = self.epoch_seconds = 0.0
        self.saved = time.monotonic()
        self.interrupted = False
        if model.state:
            self._restore(model.state)

    # ---- epochs -------------------------------------------------------------------------------------------------

    def run(self) -> TrainingReport:
        with deferred_signals(self._interrupt):
            stopped_early = self._train_epochs()
        if self.all_epochs.masked_words == 0:
            raise CorpusError(
                "no line keeps two words after subsampling, so there was nothing to learn from; use preset=small, or "
                "raise sample and lower min_count"
            )
        return TrainingReport(
            config=self.config,
            loss=self.epochs[-1].loss,
            seconds=self.seconds,
            words=self.all_epochs.words,
            masked_words=self.all_epochs.masked_words,
            lines=len(self.corpus),
            tokens=self.corpus.tokens,
            vocabulary=len(self.model.vocabulary),
            threads=self.crew.threads,
            epochs=tuple(self.epochs),
            stopped_early=stopped_early,
            cluster=self.crew.cluster,
        )

    def _train_epochs(self) -> bool:
        """Whether training ended before its last epoch did."""
        training = self.config.training
        try:
            while len(self.epochs) < training.epochs:
                self._train_epoch()
                self._end_epoch()
                if training.patience and self._epochs_without_progress() >= training.patience:
                    return len(self.epochs) < training.epochs
        except StopTraining:
            if self.epoch.masked_words:
                self.epochs.append(EpochReport(self.epoch.mean_loss, None, self.epoch_seconds))
            return True
        return False

    def _train_epoch(self) -> None:
        end = (len(self.epochs) + 1) * self.corpus.chunks
        while self.next_stretch < end:
            with self._work(self.next_stretch, end) as work:
                self._follow(work)
            self.next_stretch = work.next
            self._heed_interruption()
            if self.next_stretch < end:
                self._save()

    def _work(self, first: int, end: int, held_out: bool = False) -> Work:
        return self.crew.work(first, end, held_out, lambda: self.interrupted)

    def _interrupt(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True  # and nothing more: this runs in a signal handler, between any two instructions

    def _heed_interruption(self) -> None:
        if self.interrupted:
            self._save()
            raise KeyboardInterrupt

    def _follow(self, work: Work) -> None:
        """Count what was done until the work ends; end it when a checkpoint is due."""
        started, seconds, epoch_seconds = time.monotonic(), self.seconds, self.epoch_seconds
        minutes = self.config.training.checkpoint_minutes
        for result in work.results():
            now = time.monotonic()
            elapsed = max(0.0, now - started)
            self.seconds = seconds + elapsed
            self.epoch_seconds = epoch_seconds + elapsed
            self._count(*result)
            progress = self.progress()
            try:
                for callback in self.callbacks:
                    callback.on_block(progress)
            except StopTraining:
                work.close()
                for rest in work.results():  # of the stretches that were under way
                    self._count(*rest)
                raise
            if self.checkpoint and minutes and now - self.saved > 60 * minutes:
                work.stop()

    def _count(self, words: int, masked_words: int, loss: float) -> None:
        mean = loss / max(1, masked_words)
        if not mean < _DIVERGED * (1 + self.config.training.negatives) * math.log(2):  # not >=: it may be NaN
            what = f"the loss grew to {mean:.3g}" if math.isfinite(mean) else "the parameters overflowed"
            raise TrainingError(
                f"{what} in epoch {len(self.epochs) + 1} after {self.all_epochs.words:,} words, and training stopped: "
                f"{overflow_advice(self.model)}"
            )
        self.epoch.add(words, masked_words, loss)
        self.all_epochs.add(words, masked_words, loss)
        self.recent.append((masked_words, loss))
        self.recent_total.add(0, masked_words, loss)
        if len(self.recent) > _RECENT:
            masked_words, loss = self.recent.popleft()
            self.recent_total.add(0, -masked_words, -loss)

    def _end_epoch(self) -> None:
        self.epochs.append(EpochReport(self.epoch.mean_loss, self._validate(), self.epoch_seconds))
        self.epoch, self.epoch_seconds = _Tally(), 0.0
        progress = dataclasses.replace(self.progress(), epoch=len(self.epochs), loss=self.epochs[-1].loss)
        for callback in self.callbacks:
            callback.on_epoch(progress)

    def _validate(self) -> float | None:
        """The mean loss over the lines held out, at learning rate 0 and with the same draws every time."""
        if not self.config.training.validation:
            return None
        tally = _Tally()
        with self._work(0, self.corpus.chunks, held_out=True) as work:
            for result in work.results():
                tally.add(*result)
        self._heed_interruption()
        if not tally.masked_words:
            raise CorpusError("the lines held out for validation have no words to predict; raise validation")
        return tally.mean_loss

    def _epochs_without_progress(self) -> int:
        losses = [epoch.validation_loss for epoch in self.epochs if epoch.validation_loss is not None]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def progress(self) -> TrainingProgress:
        share = min(1.0, self.all_epochs.words / max(1, self._words_to_train()))
        speed = self.all_epochs.words / max(self.seconds, 1e-3)
        return TrainingProgress(
            epoch=min(len(self.epochs) + 1, self.config.training.epochs),
            epochs=self.config.training.epochs,
            fraction=share,
            words=self.all_epochs.words,
            seconds=self.seconds,
            words_per_second=speed,
            seconds_left=(1 - share) * self._words_to_train() / max(speed, 1e-9),
            loss=self.recent_total.mean_loss,
            lr=learning_rate(self.config, share),
            validation_loss=self.epochs[-1].validation_loss if self.epochs else None,
        )

    def _words_to_train(self) -> int:
        held_out = self.config.training.validation
        return round(self.corpus.tokens * (1 - held_out)) * self.config.training.epochs

    # ---- checkpoints --------------------------------------------------------------------------------------------

    def _save(self) -> None:
        if self.checkpoint:
            self.checkpoint(
                TrainingState(
                    corpus=self.corpus.digest,
                    sources=[],
                    blocks_done=self.next_stretch,
                    words=self.all_epochs.words,
                    masked_words=self.all_epochs.masked_words,
                    seconds=self.seconds,
                    epoch_words=self.epoch.words,
                    epoch_masked_words=self.epoch.masked_words,
                    epoch_loss=self.epoch.loss,
                    epoch_seconds=self.epoch_seconds,
                    epochs=[dataclasses.asdict(epoch) for epoch in self.epochs],
                    content=self._content,
                )
            )
        self.saved = time.monotonic()

    @cached_property
    def _content(self) -> str:
        return content_digest(self.corpus)

    def _restore(self, state: TrainingState) -> None:
        self.next_stretch = state.blocks_done
        self.all_epochs = _Tally(state.words, state.masked_words)
        self.epoch = _Tally(state.epoch_words, state.epoch_masked_words, state.epoch_loss)
        self.seconds, self.epoch_seconds = state.seconds, state.epoch_seconds
        self.epochs = [EpochReport(**epoch) for epoch in state.epochs]
