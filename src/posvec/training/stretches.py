"""Stretches of lines, the unit of training: what the kernel does in one call, and the threads that make the calls."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import Config
from posvec.corpus.encoding import Chunk
from posvec.model import Model
from posvec.storage.records import ClusterReport
from posvec.system.arrays import FloatArray, Numbers, kernel_view, padded_table
from posvec.system.cpu import cpu_level
from posvec.system.threads import thread_count


class Text(Protocol):
    """A corpus that is encoded and cut into stretches, wherever it is."""

    @property
    def digest(self) -> str: ...
    @property
    def in_vocabulary(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    def chunk(self, index: int) -> Chunk: ...
    def __len__(self) -> int: ...


def content_digest(text: Text) -> str:
    """Identifies all that is trained on, wherever it came from; reads it once, which takes a second per gigabyte."""
    digest = blake2b(digest_size=16)
    for index in range(text.chunks):
        chunk = text.chunk(index)
        starts = chunk.lines[chunk.begin : chunk.end + 1]
        digest.update(np.diff(starts).tobytes())
        digest.update(chunk.ids[int(starts[0]) : int(starts[-1])].tobytes())
    return digest.hexdigest()


Result = tuple[int, int, float]
"""Of training: tokens read, masked words, and the sum of their losses."""


Tables = tuple[Numbers, Numbers, FloatArray]
"""Input vectors and output vectors, in 16 bits where they are packed, and positional vectors."""


class Work(ABC):
    """Stretches ``next`` to ``end - 1`` that are being trained, or whose lines held out are scored, until stopped."""

    def __init__(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> None:
        self.next, self.end, self.held_out = first, end, held_out
        self._interrupted = interrupted
        self._stopped = False

    def __enter__(self) -> Work:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Take no further stretch. The ones being trained go on to their end."""
        self._stopped = True

    def close(self) -> None:
        """Stop, and wait until nobody touches the parameters any more."""
        self.stop()

    @abstractmethod
    def results(self) -> Iterator[Result]:
        """What was done, as it is; ends when all is, or when the work was stopped."""

    @property
    def _is_over(self) -> bool:
        return self._stopped or self._interrupted() or self.next >= self.end


class Crew(Protocol):
    """Those who train stretches: threads of this process, or workers of a cluster."""

    @property
    def threads(self) -> int: ...
    @property
    def cluster(self) -> ClusterReport | None: ...
    def work(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> Work: ...


class Stretches:
    """The lines of a corpus in stretches, and the model that is trained on them; numbered over all epochs."""

    def __init__(self, model: Model, corpus: Text, threads: int = 1) -> None:
        self.config = model.config
        self.corpus = corpus
        self._model = model
        self._packs = self.config.training.precision == "fixed16"
        self.workspaces: queue.SimpleQueue[_kernel.Workspace] = queue.SimpleQueue()
        """Free ones: memory that is new costs time."""
        self._input_vectors, self._output_vectors = model.trained_tables()
        tables = self._input_vectors, self._output_vectors
        others = (
            model.positional_vectors,
            model.rows.row_begin,
            model.rows.rows,
            model.vocabulary.keep_probabilities(),
            *model.vocabulary.alias_table(),
            kernel_options(self.config, threads),
            cpu_level(),
        )
        self._trainer: _kernel.Fixed16Trainer | _kernel.Float32Trainer
        if self._packs:
            self._trainer = _kernel.Fixed16Trainer(_packed_rows(tables[0]), _packed_rows(tables[1]), *others)
        else:
            self._trainer = _kernel.Float32Trainer(kernel_view(tables[0]), kernel_view(tables[1]), *others)

    def pack(self) -> bool:
        """From now on the memory of the tables is the kernel's; the model gives copies to who asks for them.

        Returns whether there was anything to do.
        """
        if not self._packs or self._model.packed:
            return False
        self._model.packed = self
        for table, codes, unit in self._codes():
            _kernel.encode_fixed16(kernel_view(table), unit, codes)
        return True

    def unpack(self) -> None:
        if self._model.packed:
            for table, codes, unit in self._codes():
                _kernel.decode_fixed16(codes, unit, kernel_view(table))
            self._model.packed = None

    def input_copy(self) -> FloatArray:
        return _decoded(*self._codes()[0])

    def output_copy(self) -> FloatArray:
        return _decoded(*self._codes()[1])

    @property
    def tables(self) -> Tables:
        """The parameters as they lie in memory while they are packed, not copied."""
        tables = self._input_vectors, self._output_vectors
        rows = [_packed_rows(table) if self._packs else table for table in tables]
        return rows[0], rows[1], self._model.positional_vectors

    def _codes(self) -> list[tuple[FloatArray, NDArray[np.int16], float]]:
        """Each table, its codes, which lie where it does, and their unit."""
        tables = (self._input_vectors, _kernel.INPUT_UNIT), (self._output_vectors, _kernel.OUTPUT_UNIT)
        return [(table, _packed_rows(table), unit) for table, unit in tables]

    def train(self, number: int, workspace: _kernel.Workspace, held_out: bool) -> Result:
        """One stretch of lines, numbered over all epochs."""
        epoch, place = divmod(number, self.corpus.chunks)
        lines = self.corpus.chunk(place)
        share = (epoch + lines.tokens_before / self.corpus.tokens) / self.config.training.epochs
        return self._trainer.train(
            workspace,
            lines.ids,
            lines.lines,
            lines.begin,
            lines.end,
            0.0 if held_out else learning_rate(self.config, share),
            _stretch_seed(self.config.training.seed, -1 - number if held_out else number),
            self.config.training.validation,
            held_out,
            lines.first_line,
        )


class Threads:
    """Those of this process."""

    cluster = None

    def __init__(self, model: Model, corpus: Text) -> None:
        self.threads = thread_count(model.config.training.threads)
        self._stretches = Stretches(model, corpus, self.threads)

    def work(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> Work:
        return Burst(self._stretches, first, end, self.threads, held_out, interrupted)


class Burst(Work):
    """Threads of this process, each taking the next stretch."""

    def __init__(
        self,
        stretches: Stretches,
        first: int,
        end: int,
        threads: int,
        held_out: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(first, end, held_out, interrupted)
        self._stretches = stretches
        self._lock = threading.Lock()
        self._results: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
        self._working = threads
        self._threads = [threading.Thread(target=self._work) for _ in range(threads)]
        self._packed = stretches.pack()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        super().close()
        for thread in self._threads:
            thread.join()
        if self._packed:
            self._stretches.unpack()

    def results(self) -> Iterator[Result]:
        """What each stretch gave; ends when all threads have."""
        while self._working:
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                self._working -= 1
            else:
                yield result

    def _work(self) -> None:
        workspaces = self._stretches.workspaces
        try:
            workspace = workspaces.get_nowait()
        except queue.Empty:
            workspace = _kernel.Workspace()
        try:
            while (number := self._take()) is not None:
                self._results.put(self._stretches.train(number, workspace, self.held_out))
        except BaseException as error:
            self.stop()
            self._results.put(error)
        finally:
            workspaces.put(workspace)
            self._results.put(None)

    def _take(self) -> int | None:
        with self._lock:
            if self._is_over:
                return None
            self.next += 1
            return self.next - 1


def total(results: Sequence[Result]) -> Result:
    words, masked_words, losses = zip(*results, strict=True) if results else ((), (), ())
    return sum(words), sum(masked_words), sum(losses)


def learning_rate(config: Config, share: float) -> float:
    """Falls linearly over training, of which ``share`` is done, from initial_lr to its final share."""
    training = config.training
    return training.initial_lr * (1 - (1 - training.final_lr_ratio) * share)


def _packed_rows(table: FloatArray) -> NDArray[np.int16]:
    """The rows of a table that is packed, which lie in the first half of its memory."""
    padded = kernel_view(table)
    return padded.reshape(-1).view(np.int16)[: padded.size].reshape(padded.shape)


def _decoded(table: FloatArray, codes: NDArray[np.int16], unit: float) -> FloatArray:
    copy = padded_table(*table.shape)
    _kernel.decode_fixed16(codes, unit, kernel_view(copy))
    return copy


def kernel_options(config: Config, threads: int = 1) -> _kernel.KernelOptions:
    """The settings that the kernel needs, in its own terms."""
    model, training = config.model, config.training
    options = _kernel.KernelOptions()
    options.dim, options.positional_dim, options.window = model.dim, model.positional_dim, model.window
    options.negatives, options.negative_reuse = training.negatives, training.negative_reuse
    options.mean_over_words = model.context_mean == "words"
    options.exact_gradient = training.input_gradient == "exact"
    options.summed_positional = training.positional_gradient == "summed"
    options.train_positions = training.train_positions
    options.shrink = training.window_sampling == "shrink"
    options.text_positions = training.positions == "text"
    options.score_limit = training.score_limit
    options.threads = threads
    return options


def _stretch_seed(seed: int, number: int) -> int:
    """Different for every stretch of every run; the kernel mixes the bits."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) % 2**64
