"""Supervision of training: the loss and the tables are examined while it runs, and the last good state is kept.

Tables of 16-bit numbers that reach their bounds are trained further in float32. If the loss grows beyond that of an
untrained model, training ends, and the model becomes again what it was when the loss was lowest.

Examinations are made after chunks whose numbers follow from the corpus alone, so that training with one thread that was
interrupted and resumed continues with the same bits. An examination reads a sample of the rows and takes less than half
a millisecond; the tables are copied only after so many words that copying takes less than 1 % of the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posvec.model import Model
from posvec.storage.records import TrainingState
from posvec.training.chunks import ChunkedCorpus
from posvec.training.divergence import MIN_MASKED_WORDS, check_mean_loss
from posvec.training.executor import Executor
from posvec.training.schedule import chunks_to_train
from posvec.training.tables import RowTables, training_tables

MAX_SATURATED = 0.001
"""The largest fraction of saturated features with which a table stays in 16 bits. In trainings of large texts that
succeed, one feature in millions reaches the bound."""

_WORK_PER_EXAMINATION = 72_000_000  # at most; 200,000 words at D = 300, about a quarter of a second with one thread
_EXAMINATIONS = 20  # of a training, at least, if it has so many chunks
_CHUNKS_PER_PAUSE = 200  # of each of several threads, which wait for each other on average half a chunk
_CHUNKS_PER_GLANCE = 50  # of each thread, without a pause
_SMALL_COPY = 1 << 20  # bytes; copied in about the time of an examination
_MAX_COPY = 1 << 27  # bytes; training of larger tables takes so long that checkpoints are written
_WORK_PER_WORD = 60  # besides D: training a word takes about as long as D + 60 features
_WORK_PER_COPIED_BYTE = 240  # copies take 0.1 % of the time at 4 GB/s, and 0.5 % the first time, into new memory
_NOISE = 1.1  # the ratio of a loss to the lowest one up to which training makes progress


@dataclass
class LossSum:
    """Sums over chunks."""

    words: int = 0
    masked_words: int = 0
    loss: float = 0.0

    def add(self, words: int, masked_words: int, loss: float) -> None:
        self.words += words
        self.masked_words += masked_words
        self.loss += loss

    @property
    def mean(self) -> float:
        return self.loss / self.masked_words if self.masked_words else 0.0


@dataclass(frozen=True)
class _Copy:
    """The parameters at one moment, and the state of training."""

    tables: RowTables
    state: TrainingState


class Supervisor:
    """Examines a training between chunks, and keeps its last good state."""

    def __init__(self, model: Model, corpus: ChunkedCorpus, executor: Executor) -> None:
        self._model, self._executor, self._chunks = model, executor, corpus.chunks
        per_chunk = corpus.tokens / corpus.chunks
        chunks = chunks_to_train(model.config, corpus.chunks)
        if executor.threads > 1:
            self.interval = _CHUNKS_PER_PAUSE * executor.threads
        else:
            words = _WORK_PER_EXAMINATION / (model.config.model.dim + _WORK_PER_WORD)
            self.interval = min(int(words / per_chunk), chunks // _EXAMINATIONS)
        self.interval = max(1, self.interval)
        if executor.trainer is None:  # the model has the present values only at the end of a job
            self.interval = corpus.chunks
        self._glances = executor.threads * _CHUNKS_PER_GLANCE
        self._results = 0
        self._glanced = False
        """Whether saturated features were found while threads trained."""
        self.recent = LossSum()
        """Over the chunks since the last examination."""
        self._lowest = math.inf
        self._copy: _Copy | None = None

    def end_of_job(self, first: int, end: int) -> int:
        """Return the chunk before which a job that begins at ``first`` pauses for an examination."""
        epoch = first // self._chunks * self._chunks
        return min(end, epoch + ((first - epoch) // self.interval + 1) * self.interval)

    def is_due(self, chunk: int) -> bool:
        """Whether training is examined before this chunk."""
        return chunk % self._chunks % self.interval == 0 or self._glanced

    def add(self, masked_words: int, loss: float) -> None:
        """Add the result of a chunk."""
        self.recent.add(0, masked_words, loss)
        self._results += 1

    def glance(self) -> bool:
        """Return whether the tables must be examined now; called after each result, while several threads train."""
        if self._executor.threads > 1 and self._results % self._glances == 0:
            self._glanced = self.is_saturated
        return self._glanced

    @property
    def is_saturated(self) -> bool:
        """Whether 16 bits can no longer hold the features of a table."""
        trainer = self._executor.trainer
        tables = trainer.tables if trainer else training_tables(self._model)
        return tables.saturated() > MAX_SATURATED

    def examine_loss(self, epoch: int, words: int, is_last: bool) -> float | None:
        """Return the mean loss since the last examination; raise TrainingError if training has diverged.

        None stands for the mean over too few masked words, which are then part of the next examination. They are enough
        if features are saturated as well, or if this is the last examination.
        """
        self._glanced = False  # what was seen is examined now
        masked_words = self.recent.masked_words
        if masked_words < MIN_MASKED_WORDS and not (masked_words and (is_last or self.is_saturated)):
            return None
        mean = self.recent.mean
        check_mean_loss(self._model, mean, self._lowest, epoch, words)
        self.recent = LossSum()
        return mean

    def keep(self, mean: float, state: TrainingState) -> None:
        """Keep a copy of the tables if the loss is about as low as ever, and if the tables are not too large."""
        is_good = mean <= _NOISE * self._lowest
        self._lowest = min(mean, self._lowest)
        trainer = self._executor.trainer
        if trainer is None or not is_good:
            return
        tables = trainer.tables.stored
        size = sum(table.nbytes for table in tables)
        work = max(0, size - _SMALL_COPY) * _WORK_PER_COPIED_BYTE
        words = work / (self._model.config.model.dim + _WORK_PER_WORD) * self._executor.threads
        if size > _MAX_COPY or state.words - (self._copy.state.words if self._copy else 0) < words:
            return
        if self._copy is None:
            copies = tables.copy()
        else:
            copies = self._copy.tables
            for copy, table in zip(copies, tables, strict=True):
                np.copyto(copy, table)
        self._copy = _Copy(copies, state)

    def use_float32(self) -> None:
        """Train on in float32; 16-bit copies are discarded."""
        assert self._executor.trainer is not None
        self._executor.trainer.use_float32()
        self._copy = None

    def restore(self) -> TrainingState | None:
        """Give the tables the values of the last good state; return this state, or None."""
        trainer = self._executor.trainer
        if self._copy is None or trainer is None:
            return None
        for table, values in zip(trainer.tables.stored, self._copy.tables, strict=True):
            np.copyto(table, values)
        return self._copy.state
