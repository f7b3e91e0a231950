"""The training loop: epochs, loss, callbacks, validation, early stopping and checkpoints.

Python owns time, the kernel owns arithmetic: a thread asks the kernel, with the GIL released, to train one chunk of
lines at one learning rate; everything else happens between such calls. The random numbers of a chunk follow from the
seed and the number of the chunk, and its learning rate from its offset in the corpus, so that training can stop and
resume after any chunk.
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from posvec.config import Config
from posvec.errors import CorpusError, ThreadStartError, TrainingError
from posvec.model import Model
from posvec.storage.records import EpochReport, TrainingProgress, TrainingReport, TrainingState
from posvec.system.signals import Interruption, deferred_signals
from posvec.training.budget import TimeBudget
from posvec.training.calibration import held_out_fraction
from posvec.training.callbacks import Callback, CallbackList, StopTraining
from posvec.training.chunks import ChunkedCorpus, content_digest
from posvec.training.divergence import check_loss
from posvec.training.executor import Executor, TrainingJob
from posvec.training.schedule import chunks_to_train, learning_rate
from posvec.training.supervision import LossSum, Supervisor
from posvec.training.threads import ThreadExecutor

__all__ = ["Callback", "StopTraining", "train"]

_RECENT_CHUNKS = 200


def train(
    model: Model,
    corpus: ChunkedCorpus,
    callbacks: Sequence[Callback] = (),
    checkpoint: Callable[[TrainingState], None] | None = None,
    executor: Executor | None = None,
    budget: TimeBudget | None = None,
) -> TrainingReport:
    """Train a model in place, by its own configuration; resume if its training was interrupted.

    Parameters
    ----------
    model
        The model; its ``state`` says where interrupted training stands.
    corpus
        The encoded corpus.
    callbacks
        Called after every chunk and every epoch.
    checkpoint
        Called with the state of training every ``checkpoint_minutes`` and on Ctrl-C or another signal of
        :data:`posvec.system.signals.STOP_SIGNALS`, while no thread trains; saves the model. The signal then raises
        KeyboardInterrupt; a second Ctrl-C raises it without saving, unless a save has begun.
    executor
        What trains the chunks, by default threads of this process.
    budget
        The time for training, which decides the number of epochs in place of the configuration.

    Returns
    -------
    TrainingReport
        What was trained, how long it took and the loss.

    Examples
    --------
    >>> from posvec import Model, Vocabulary, make_config
    >>> from posvec.corpus import open_corpus
    >>> from posvec.corpus.encoding import encode
    >>> from posvec.training import train
    >>> corpus = open_corpus("corpus.txt")
    >>> vocabulary = Vocabulary.count(corpus)
    >>> model = Model.create(make_config(dim=32, epochs=1, threads=1), vocabulary)
    >>> train(model, encode(corpus, vocabulary)).lines
    2000
    """
    run = _TrainingRun(model, corpus, callbacks, checkpoint, executor or ThreadExecutor(model, corpus), budget)
    with deferred_signals() as run.interruption:
        return run.run()


class _TrainingRun:
    def __init__(
        self,
        model: Model,
        corpus: ChunkedCorpus,
        callbacks: Sequence[Callback],
        checkpoint: Callable[[TrainingState], None] | None,
        executor: Executor,
        budget: TimeBudget | None = None,
    ) -> None:
        self.corpus = corpus
        self.budget = budget
        self.callbacks = CallbackList(callbacks)
        self.checkpoint = checkpoint
        self.executor = executor
        self.model = model
        self.all_epochs = LossSum()
        self.epoch = LossSum()
        self.recent_chunks: deque[tuple[int, float]] = deque()
        self.recent = LossSum()
        """Over the last chunks; its mean is the loss that is displayed."""
        self.epochs: list[EpochReport] = []
        self.next_chunk = 0
        self.seconds = self.epoch_seconds = 0.0
        self.saved = time.monotonic()
        self.interruption = Interruption()
        self.supervisor = Supervisor(model, corpus, executor)
        self.float32_after: int | None = None
        self.checkpoint_is_due = self.is_warned = False
        if budget:
            model.config = budget.begin(model.config)
        if model.state:
            self._restore(model.state)

    @property
    def config(self) -> Config:
        return self.model.config

    # ---- epochs -------------------------------------------------------------------------------------------------

    def run(self) -> TrainingReport:
        self._check_held_out()
        if self.model.state is None and self.supervisor.is_saturated:  # the vectors of a model that is trained further
            self._use_float32()
        stopped_early = self._train_epochs()
        if self.budget:
            self.budget.announce(self.config)
        self.interruption.protect_rest()  # the model is complete: the caller saves it, whatever signals arrive
        if self.all_epochs.masked_words == 0:
            raise CorpusError(
                "no line keeps two words after subsampling, so there is nothing to learn from; "
                f"{self._advice_on_words()}"
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
            threads=self.executor.threads,
            epochs=tuple(self.epochs),
            stopped_early=stopped_early,
            cluster=self.executor.cluster,
            float32_after=self.float32_after,
        )

    def _train_epochs(self) -> bool:
        """Train all epochs; return whether training ended early."""
        try:
            while len(self.epochs) < self.config.training.epochs:
                self._train_epoch()
                self._end_epoch()
                patience = self.config.training.patience
                if patience and self._epochs_without_progress() >= patience:
                    return len(self.epochs) < self.config.training.epochs
        except ThreadStartError as error:
            if self.checkpoint is None or not self.all_epochs.words:
                raise
            self._save()
            raise TrainingError(f"{error}. Training so far is saved; resume it with posvec resume") from error
        except StopTraining:
            if self.epoch.masked_words:
                self.epochs.append(EpochReport(self.epoch.mean, None, self.epoch_seconds))
            return True
        return False

    @property
    def _end(self) -> int:
        """The chunk with which training ends."""
        return chunks_to_train(self.config, self.corpus.chunks)

    @property
    def _end_of_epoch(self) -> int:
        """The chunk with which the present epoch ends."""
        return min((len(self.epochs) + 1) * self.corpus.chunks, self._end)

    def _train_epoch(self) -> None:
        while self.next_chunk < self._end_of_epoch:
            with self._tables_taken():
                self._train_chunks()
            self._stop_if_interrupted()
            if self.next_chunk < self._end_of_epoch:
                self._save()

    def _train_chunks(self) -> None:
        """Train until the end of the epoch, or until a checkpoint is due or training was interrupted."""
        self.checkpoint_is_due = False
        while self.next_chunk < self._end_of_epoch and not (self.checkpoint_is_due or self.interruption.requested):
            with self._start(self.next_chunk, self.supervisor.end_of_job(self.next_chunk, self._end_of_epoch)) as job:
                self._follow(job)
            self.next_chunk = job.next
            if self.supervisor.is_due(self.next_chunk):
                self._examine()

    @contextmanager
    def _tables_taken(self) -> Iterator[None]:
        """Keep the tables in the number format of the run; if training diverges, restore the last good state."""
        trainer = self.executor.trainer
        try:
            if trainer:
                trainer.tables.take()
            yield
        except ThreadStartError:
            raise
        except TrainingError as error:
            if (state := self.supervisor.restore()) is not None:
                self.model.state = dataclasses.replace(state, content=self._content)
                error.model = self.model
            raise
        finally:
            if trainer:
                trainer.tables.export()

    @property
    def _is_complete(self) -> bool:
        return self.next_chunk >= self._end

    def _examine(self) -> None:
        """Raise TrainingError if training has diverged; train on in float32 if 16 bits are too few."""
        mean = self.supervisor.examine_loss(len(self.epochs) + 1, self.all_epochs.words, self._is_complete)
        if self.supervisor.is_saturated:
            self._use_float32()
        if mean is not None:
            self.supervisor.keep(mean, self._state())

    def _use_float32(self) -> None:
        """Train on in float32, because 16 bits can no longer hold the features; say so if nothing is left to train."""
        reached = "features have grown to the most that 16 bits can hold"
        if not self._is_complete and self.executor.trainer:
            self.supervisor.use_float32()
            self.float32_after = self.all_epochs.words
            self.callbacks.warn(f"Training goes on in float32 after {self.float32_after:,} words, because {reached}.")
        elif not self.is_warned:
            self.is_warned = True
            self.callbacks.warn(f"{reached.capitalize()}; set precision=float32 to train them without bounds.")

    def _start(self, first: int, end: int, held_out: bool = False) -> TrainingJob:
        return self.executor.start(first, end, held_out, lambda: self.interruption.requested)

    def _stop_if_interrupted(self) -> None:
        if self.interruption.requested:
            self._save()
            raise KeyboardInterrupt

    def _follow(self, job: TrainingJob) -> None:
        """Add up results until the job ends; stop it when a checkpoint is due."""
        started, seconds, epoch_seconds = time.monotonic(), self.seconds, self.epoch_seconds
        minutes = self.config.training.checkpoint_minutes
        for result in job.results():
            now = time.monotonic()
            elapsed = max(0.0, now - started)
            self.seconds = seconds + elapsed
            self.epoch_seconds = epoch_seconds + elapsed
            self._count(*result)
            if self.budget and self.budget.is_due(self._epochs_done):
                self._follow_budget(job.next)
                if job.next >= self._end_of_epoch:
                    job.stop()
            progress = self.progress()
            try:
                self.callbacks.on_chunk(progress)
            except StopTraining:
                job.close()
                for last in job.results():  # of chunks that had begun
                    self._count(*last)
                raise
            if self.checkpoint and minutes and now - self.saved > 60 * minutes:
                self.checkpoint_is_due = True
                job.stop()
            if self.supervisor.glance():
                job.stop()

    def _count(self, words: int, masked_words: int, loss: float) -> None:
        check_loss(self.model, loss / max(1, masked_words), len(self.epochs) + 1, self.all_epochs.words)
        self.epoch.add(words, masked_words, loss)
        self.supervisor.add(masked_words, loss)
        self.all_epochs.add(words, masked_words, loss)
        self.recent_chunks.append((masked_words, loss))
        self.recent.add(0, masked_words, loss)
        if len(self.recent_chunks) > _RECENT_CHUNKS:
            masked_words, loss = self.recent_chunks.popleft()
            self.recent.add(0, -masked_words, -loss)

    def _end_epoch(self) -> None:
        self.epochs.append(EpochReport(self.epoch.mean, self._validate(), self.epoch_seconds))
        self.epoch, self.epoch_seconds = LossSum(), 0.0
        progress = dataclasses.replace(self.progress(), epoch=len(self.epochs), loss=self.epochs[-1].loss)
        self.callbacks.on_epoch(progress)

    def _check_held_out(self) -> None:
        """Raise CorpusError if the held-out lines have nothing to predict; resumed training goes on without them.

        Which lines are held out and which of their words are kept is the same in every epoch, so the first chunk with a
        masked word answers the question.
        """
        self.validates = self.config.training.validation > 0
        if not self.validates:
            return
        is_empty = True
        with self._start(0, self.corpus.chunks, held_out=True) as job:
            for result in job.results():
                if result.masked_words:
                    is_empty = False
                    job.stop()
        if not is_empty or self.interruption.requested:
            return
        empty = f"the lines that validation={self.config.training.validation:g} holds out have no words to predict"
        if self.model.state is None:
            raise CorpusError(f"{empty}; raise validation, or leave it out")
        self.validates = False
        self.callbacks.warn(f"Training goes on without a validation loss, because {empty}.")

    def _validate(self) -> float | None:
        """Return the mean loss over held-out lines, at learning rate 0 and with the same random numbers every time."""
        if not self.validates:
            return None
        total = LossSum()
        with self._start(0, self.corpus.chunks, held_out=True) as job:
            for result in job.results():
                total.add(*result)
        self._stop_if_interrupted()
        return total.mean

    def _advice_on_words(self) -> str:
        """Return how lines can keep more words."""
        vocabulary = self.config.vocabulary
        sample = f"raise sample (now {vocabulary.sample:g}; 0 keeps all words)" if vocabulary.sample else ""
        min_count = f"lower min_count (now {vocabulary.min_count})" if vocabulary.min_count > 1 else ""
        return " or ".join(filter(None, (sample, min_count))) or "give a corpus with longer lines"

    def _epochs_without_progress(self) -> int:
        losses = [epoch.validation_loss for epoch in self.epochs if epoch.validation_loss is not None]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def progress(self) -> TrainingProgress:
        fraction = min(1.0, self.all_epochs.words / max(1, self._words_to_train()))
        speed = self.all_epochs.words / max(self.seconds, 1e-3)
        return TrainingProgress(
            epoch=min(len(self.epochs) + 1, self.config.training.epochs),
            epochs=self.config.training.epochs,
            fraction=fraction,
            words=self.all_epochs.words,
            seconds=self.seconds,
            words_per_second=speed,
            seconds_left=(1 - fraction) * self._words_to_train() / max(speed, 1e-9),
            loss=self.recent.mean,
            lr=learning_rate(self.config, fraction),
            validation_loss=self.epochs[-1].validation_loss if self.epochs else None,
        )

    def _words_to_train(self) -> int:
        return round(self._words_per_epoch * self.config.training.total_epochs)

    @property
    def _words_per_epoch(self) -> int:
        return round(self.corpus.tokens * (1 - held_out_fraction(self.config, self.corpus)))

    @property
    def _epochs_done(self) -> float:
        return self.all_epochs.words / max(1, self._words_per_epoch)

    def _follow_budget(self, begun: int) -> None:
        """Change the number of epochs to what fits into the time; ``begun`` chunks have been begun."""
        assert self.budget
        self.model.config = self.budget.plan(self.config, self.corpus.chunks, begun, self._epochs_done)

    # ---- checkpoints --------------------------------------------------------------------------------------------

    def _save(self) -> None:
        started = time.monotonic()
        if self.checkpoint:
            if self.budget:
                self._follow_budget(self.next_chunk)
            with self.interruption.protected():
                self.checkpoint(dataclasses.replace(self._state(), content=self._content))
        self.saved = time.monotonic()
        if self.budget:
            self.budget.reserve(self.saved - started)

    def _state(self) -> TrainingState:
        return TrainingState(
            corpus=self.corpus.digest,
            sources=[],
            blocks_done=self.next_chunk,
            words=self.all_epochs.words,
            masked_words=self.all_epochs.masked_words,
            seconds=self.seconds,
            epoch_words=self.epoch.words,
            epoch_masked_words=self.epoch.masked_words,
            epoch_loss=self.epoch.loss,
            epoch_seconds=self.epoch_seconds,
            epochs=tuple(self.epochs),
            float32_after=self.float32_after,
        )

    @cached_property
    def _content(self) -> str:
        return content_digest(self.corpus)

    def _restore(self, state: TrainingState) -> None:
        self.next_chunk = state.blocks_done
        self.all_epochs = LossSum(state.words, state.masked_words)
        self.epoch = LossSum(state.epoch_words, state.epoch_masked_words, state.epoch_loss)
        self.float32_after = state.float32_after
        self.seconds, self.epoch_seconds = state.seconds, state.epoch_seconds
        self.epochs = list(state.epochs)
