"""The training loop: stretches of lines over threads, learning rate, loss, callbacks, validation, checkpoints.

Python owns time, the kernel owns arithmetic: a worker thread asks the kernel, with the GIL released, to train one
stretch of lines at one learning rate; everything else happens between such calls. What a stretch draws follows from the
seed and its number, and its learning rate from its place, so that training can stop and go on after any of them.
"""

from __future__ import annotations

import dataclasses
import math
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import Config
from posvec.encoding import EncodedCorpus
from posvec.environment import cpu_level
from posvec.errors import CorpusError, TrainingError
from posvec.model import Model, kernel_view
from posvec.parallel import thread_count
from posvec.reports import EpochReport, Progress, TrainingReport, TrainingState

# Tokens per stretch, if the corpus has many: enough that a call costs nothing, few enough that the learning rate falls
# smoothly and Ctrl-C is answered at once.
_STRETCH = 20_000
# Masked words per block of the kernel: with the rows of more words than this the second-level cache overflows.
_BLOCK = 16
# Times the loss of a model that knows nothing, log 2 per word: what comes back from there is no model. Under a
# score_limit such scores give no update, so that parameters can run away and still never overflow.
_DIVERGED = 1000


class Callback(Protocol):
    """Told how training goes, in the thread that called ``train``. Raise :class:`StopTraining` to end it early."""

    def on_block(self, progress: Progress) -> None: ...
    def on_epoch(self, progress: Progress) -> None: ...


class StopTraining(Exception):
    """Raised by a callback: training ends here, and the model is as good as it is."""


def train(
    model: Model,
    corpus: EncodedCorpus,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[TrainingState], None] | None = None,
) -> TrainingReport:
    """Train a model in place, by its own configuration; from where it stands if it was interrupted.

    ``checkpoint`` is called with the state of training every ``checkpoint_minutes`` and on Ctrl-C, while no thread
    trains; it saves the model. Ctrl-C then raises KeyboardInterrupt, and a second one does so without saving.
    """
    return _Run(model, corpus, callbacks, checkpoint).run()


def learning_rate(config: Config, share: float) -> float:
    """Falls linearly over training, of which ``share`` is done, from initial_lr to its final share."""
    training = config.training
    return training.initial_lr * (1 - (1 - training.final_lr_share) * share)


def kernel_options(config: Config) -> _kernel.Options:
    """The settings that the kernel needs, in its own terms."""
    model, training = config.model, config.training
    options = _kernel.Options()
    options.dim, options.positional_dim, options.window = model.dim, model.positional_dim, model.window
    options.negatives, options.negative_reuse = training.negatives, training.negative_reuse
    options.block = _BLOCK
    options.mean_over_words = model.context_mean == "words"
    options.exact_gradient = training.input_gradient == "exact"
    options.summed_positional = training.positional_gradient == "summed"
    options.train_positions = training.train_positions
    options.shrink = training.window_sampling == "shrink"
    options.text_positions = training.positions == "text"
    options.score_limit = training.score_limit
    return options


def overflow_advice(config: Config) -> str:
    """Which setting to change when the parameters have overflowed."""
    training, model = config.training, config.model
    if model.positional_dim and model.initializer == "identity" and model.dim > 600:
        return f"initializer=identity explodes for dim > 600 (now {model.dim}); use initializer=sqrt_normal"
    advice = f"lower initial_lr (now {training.initial_lr:g})"
    if training.positional_gradient == "summed" and model.positional_dim:
        return f"{advice} or set positional_gradient=averaged"
    if model.context_mean == "words":
        return f"{advice} or set context_mean=rows, whose steps are about twenty times smaller"
    if training.score_limit and model.positional_dim:
        return f"{advice} or set score_limit=0, which lets scores that ran away come back"
    return advice


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
        corpus: EncodedCorpus,
        callbacks: Sequence[Callback],
        checkpoint: Callable[[TrainingState], None] | None,
    ) -> None:
        self.config = model.config
        self.corpus = corpus
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.threads = thread_count(self.config.training.threads)
        self.vocabulary = len(model.vocabulary)
        self.trainer = _kernel.Trainer(
            kernel_view(model.input_vectors),
            kernel_view(model.output_vectors),
            model.positional_vectors,
            model.rows.row_begin,
            model.rows.rows,
            model.vocabulary.keep_probabilities(),
            *model.vocabulary.alias_table(),
            kernel_options(self.config),
            cpu_level(),
        )
        self.workspaces = [_kernel.Workspace() for _ in range(self.threads)]
        self.stretches = _stretches(corpus)
        self.per_epoch = len(self.stretches) - 1
        self.all_epochs = _Tally()
        self.epoch = _Tally()
        self.recent: deque[tuple[int, float]] = deque(maxlen=200)  # of which the loss shown is the mean
        self.epochs: list[EpochReport] = []
        self.next_stretch = 0
        self.seconds = self.epoch_seconds = 0.0
        self.saved = time.monotonic()
        self.interrupted = False
        if model.state:
            self._restore(model.state)

    # ---- epochs -------------------------------------------------------------------------------------------------

    def run(self) -> TrainingReport:
        with _interruption(self._interrupt):
            stopped_early = self._train_epochs()
        if self.all_epochs.masked_words == 0:
            raise CorpusError(
                "no line keeps two words after subsampling, so there was nothing to learn from; raise sample or lower "
                "min_count"
            )
        return TrainingReport(
            config=self.config,
            loss=self.epochs[-1].loss,
            seconds=self.seconds,
            words=self.all_epochs.words,
            masked_words=self.all_epochs.masked_words,
            lines=len(self.corpus),
            tokens=self.corpus.tokens,
            vocabulary=self.vocabulary,
            threads=self.threads,
            epochs=tuple(self.epochs),
            stopped_early=stopped_early,
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
        end = (len(self.epochs) + 1) * self.per_epoch
        while self.next_stretch < end:
            with _Burst(self, self.next_stretch, end) as burst:
                self._follow(burst)
            self.next_stretch = burst.next
            self._heed_interruption()
            if self.next_stretch < end:
                self._save()

    def _interrupt(self) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True  # and nothing more: this runs in a signal handler, between any two instructions

    def _heed_interruption(self) -> None:
        if self.interrupted:
            self._save()
            raise KeyboardInterrupt

    def _follow(self, burst: _Burst) -> None:
        """Count what the threads of a burst have done until it ends; end it when a checkpoint is due."""
        started, seconds, epoch_seconds = time.monotonic(), self.seconds, self.epoch_seconds
        minutes = self.config.training.checkpoint_minutes
        for result in burst.results():
            now = time.monotonic()
            self.seconds = seconds + now - started
            self.epoch_seconds = epoch_seconds + now - started
            self._count(*result)
            progress = self.progress()
            try:
                for callback in self.callbacks:
                    callback.on_block(progress)
            except StopTraining:
                burst.close()
                for rest in burst.results():  # of the stretches that were under way
                    self._count(*rest)
                raise
            if self.checkpoint and minutes and now - self.saved > 60 * minutes:
                burst.stop()

    def _count(self, words: int, masked_words: int, loss: float) -> None:
        mean = loss / max(1, masked_words)
        if not mean < _DIVERGED * (1 + self.config.training.negatives) * math.log(2):  # not >=: it may be NaN
            what = f"the loss grew to {mean:.3g}" if math.isfinite(mean) else "the parameters overflowed"
            raise TrainingError(
                f"{what} in epoch {len(self.epochs) + 1} after {self.all_epochs.words:,} words, and training stopped: "
                f"{overflow_advice(self.config)}"
            )
        self.epoch.add(words, masked_words, loss)
        self.all_epochs.add(words, masked_words, loss)
        self.recent.append((masked_words, loss))

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
        with _Burst(self, 0, self.per_epoch, held_out=True) as burst:
            for result in burst.results():
                tally.add(*result)
        self._heed_interruption()
        if not tally.masked_words:
            raise CorpusError("the lines held out for validation have no words to predict; raise validation")
        return tally.mean_loss

    def _epochs_without_progress(self) -> int:
        losses = [epoch.validation_loss for epoch in self.epochs if epoch.validation_loss is not None]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def progress(self) -> Progress:
        share = min(1.0, self.all_epochs.words / max(1, self._words_to_train()))
        masked = sum(masked for masked, _ in self.recent)
        speed = self.all_epochs.words / max(self.seconds, 1e-3)
        return Progress(
            epoch=min(len(self.epochs) + 1, self.config.training.epochs),
            epochs=self.config.training.epochs,
            share=share,
            words=self.all_epochs.words,
            seconds=self.seconds,
            words_per_second=speed,
            seconds_left=(1 - share) * self._words_to_train() / max(speed, 1e-9),
            loss=sum(loss for _, loss in self.recent) / masked if masked else 0.0,
            lr=learning_rate(self.config, share),
            validation_loss=self.epochs[-1].validation_loss if self.epochs else None,
        )

    def _words_to_train(self) -> int:
        held_out = self.config.training.validation
        return round(self.corpus.tokens * (1 - held_out)) * self.config.training.epochs

    # ---- stretches ----------------------------------------------------------------------------------------------

    def train_stretch(self, number: int, workspace: _kernel.Workspace, held_out: bool) -> tuple[int, int, float]:
        """One stretch of lines, numbered over all epochs: tokens read, masked words and the sum of their losses."""
        epoch, place = divmod(number, self.per_epoch)
        begin, end = int(self.stretches[place]), int(self.stretches[place + 1])
        share = (epoch + int(self.corpus.lines[begin]) / self.corpus.tokens) / self.config.training.epochs
        return self.trainer.train(
            workspace,
            self.corpus.ids,
            self.corpus.lines,
            begin,
            end,
            0.0 if held_out else learning_rate(self.config, share),
            _stretch_seed(self.config.training.seed, -1 - number if held_out else number),
            self.config.training.validation,
            held_out,
        )

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
                )
            )
        self.saved = time.monotonic()

    def _restore(self, state: TrainingState) -> None:
        self.next_stretch = state.blocks_done
        self.all_epochs = _Tally(state.words, state.masked_words)
        self.epoch = _Tally(state.epoch_words, state.epoch_masked_words, state.epoch_loss)
        self.seconds, self.epoch_seconds = state.seconds, state.epoch_seconds
        self.epochs = [EpochReport(**epoch) for epoch in state.epochs]


class _Burst:
    """Threads that train stretches ``first`` to ``end - 1`` in order, each taking the next one, until stopped."""

    def __init__(self, run: _Run, first: int, end: int, held_out: bool = False) -> None:
        self.next, self.end, self.held_out = first, end, held_out
        self._run = run
        self._lock = threading.Lock()
        self._stopped = False
        self._results: queue.SimpleQueue[tuple[int, int, float] | BaseException | None] = queue.SimpleQueue()
        self._working = len(run.workspaces)
        self._threads = [threading.Thread(target=self._work, args=(each,)) for each in run.workspaces]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> _Burst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Take no further stretch. The ones being trained go on to their end."""
        self._stopped = True

    def close(self) -> None:
        """Stop, and wait until no thread touches the parameters any more."""
        self.stop()
        for thread in self._threads:
            thread.join()

    def results(self) -> Iterator[tuple[int, int, float]]:
        """What each stretch gave, as they end; ends when all threads have."""
        while self._working:
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                self._working -= 1
            else:
                yield result

    def _work(self, workspace: _kernel.Workspace) -> None:
        try:
            while (number := self._take()) is not None:
                self._results.put(self._run.train_stretch(number, workspace, self.held_out))
        except BaseException as error:
            self.stop()
            self._results.put(error)
        finally:
            self._results.put(None)

    def _take(self) -> int | None:
        with self._lock:
            if self._stopped or self._run.interrupted or self.next >= self.end:
                return None
            self.next += 1
            return self.next - 1


@contextmanager
def _interruption(handle: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls ``handle`` in place of raising KeyboardInterrupt wherever the main thread happens to be."""
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread has a say in signals, and who ignores this one (nohup, a job behind &) goes on doing so.
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: handle())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stretches(corpus: EncodedCorpus) -> NDArray[np.int64]:
    """The lines at which stretches begin, and the number of lines: whole lines of about ``_STRETCH`` tokens."""
    size = min(_STRETCH, max(500, corpus.tokens // 500))
    inner = np.searchsorted(corpus.lines, np.arange(size, corpus.tokens, size, dtype=np.uint64))
    return np.unique(np.concatenate([[0], inner, [len(corpus)]]))


def _stretch_seed(seed: int, number: int) -> int:
    """Different for every stretch of every run; the kernel mixes the bits."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) % 2**64
