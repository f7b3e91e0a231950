"""The tables of a model while they are trained, in the number format of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.model import Model
from posvec.storage.tables import QuantizedTable
from posvec.system.arrays import FloatArray, IndexArray, RowArray, kernel_view, padded

_MAX_CODE = 2**15 - 1
_SAMPLED_ROWS = 1024


class RowTables(NamedTuple):
    """The vectors of a model as they are stored during training, padding included."""

    input: RowArray
    output: RowArray
    word_head: RowArray
    positional: FloatArray

    def copy(self) -> RowTables:
        """Return copies of all tables."""
        return RowTables(self.input.copy(), self.output.copy(), self.word_head.copy(), self.positional.copy())


class TrainingTables(ABC):
    """Owns the tables of a model during a run and exports them to the model.

    :meth:`take` makes the tables ready for the kernel, :meth:`export` makes the model's tables ordinary float32 arrays
    again. In between, the model shows the values of the moment.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tables = model.trained_tables()

    @property
    @abstractmethod
    def stored(self) -> RowTables:
        """The tables in the number format of the run, not copied."""

    @abstractmethod
    def trainer(self, *arguments: object) -> _kernel.Float32Trainer | _kernel.Fixed16Trainer:
        """Make a kernel trainer for these tables; ``arguments`` follow the heads in its constructor."""

    def head_arrays(self) -> Iterator[tuple[object, ...]]:
        """Yield, for each head, what the kernel needs: its tables, the rows of its words, and its features."""
        stored, rows = self.stored, self.model.rows
        heads = self.model.config.heads
        for head in heads:
            is_last = head is heads[-1]
            words = np.arange(len(self.model.vocabulary) + 1, dtype=np.uint64)
            yield (
                stored.input if is_last else stored.word_head,
                stored.output[:, head.begin : head.begin + padded(head.dim)],
                stored.positional[:, head.positional],
                rows.row_begin if is_last else words,
                rows.rows if is_last else words[:-1].astype(np.uint32),
                head.dim,
                self.model.config.training.spelling_rate if is_last and len(heads) > 1 else 1.0,
            )

    @abstractmethod
    def take(self) -> bool:
        """Make the tables ready to be trained; return whether they were not before."""

    @abstractmethod
    def export(self) -> None:
        """Give the model its tables as float32 arrays."""

    def saturated(self) -> float:
        """Return the fraction of features that are at the bounds of the number format, in the table with the most."""
        return 0.0


class Float32Tables(TrainingTables):
    """Trained in place: the tables are the model's own arrays."""

    @property
    def stored(self) -> RowTables:
        return RowTables(
            kernel_view(self.tables.input_vectors),
            kernel_view(self.tables.output_vectors),
            kernel_view(self.tables.word_head),
            self.model.positional_vectors,
        )

    def trainer(self, *arguments: object) -> _kernel.Float32Trainer:
        heads = [_kernel.Float32Head(*arrays) for arrays in self.head_arrays()]  # type: ignore[arg-type]
        return _kernel.Float32Trainer(heads, *arguments)  # type: ignore[arg-type]

    def take(self) -> bool:
        return False

    def export(self) -> None:
        pass


class Fixed16Tables(TrainingTables):
    """Trained as 16-bit fixed-point numbers, which take the first half of the memory of the float32 arrays.

    While they do, the model's tables are :class:`LiveTable` objects, which decode the rows that are read.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._live = {name: LiveTable(self, table, UNITS[name]) for name, table in self.tables._asdict().items()}
        self.is_taken = False

    @property
    def stored(self) -> RowTables:
        live = self._live
        return RowTables(
            live["input_vectors"].codes,
            live["output_vectors"].codes,
            live["word_head"].codes,
            self.model.positional_vectors,
        )

    def trainer(self, *arguments: object) -> _kernel.Fixed16Trainer:
        heads = [_kernel.Fixed16Head(*arrays) for arrays in self.head_arrays()]  # type: ignore[arg-type]
        return _kernel.Fixed16Trainer(heads, *arguments)  # type: ignore[arg-type]

    def take(self) -> bool:
        if self.is_taken:
            return False
        self.is_taken = True
        for name, table in self._live.items():
            setattr(self.model, name, table)
            _kernel.encode_fixed16(kernel_view(table.floats), table.unit, table.codes)
        return True

    def export(self) -> None:
        if not self.is_taken:
            return
        for name, table in self._live.items():
            _kernel.decode_fixed16(table.codes, table.unit, kernel_view(table.floats))
            setattr(self.model, name, table.floats)
        self.is_taken = False

    def saturated(self) -> float:
        return max(table.saturated() for table in self._live.values())


class LiveTable(QuantizedTable):
    """A table that is being trained in 16 bits: reading it gives float32 copies of the rows as they are now."""

    def __init__(self, tables: Fixed16Tables, floats: FloatArray, unit: float) -> None:
        self._tables, self.floats, self.unit = tables, floats, unit
        whole = kernel_view(floats)
        self.codes: NDArray[np.int16] = whole.reshape(-1).view(np.int16)[: whole.size].reshape(whole.shape)
        super().__init__({}, *floats.shape)

    def decode(self, ids: IndexArray) -> FloatArray:
        if not self._tables.is_taken:
            return self.floats[ids]
        codes = np.ascontiguousarray(self.codes[ids])
        decoded = np.empty(codes.shape, np.float32)
        _kernel.decode_fixed16(codes, self.unit, decoded)
        return decoded[:, : self.shape[1]]

    def saturated(self) -> float:
        """Return the fraction of features that are at the bounds, in a sample of the rows."""
        rows, dim = self.shape
        sample = slice(None, None, -(-rows // _SAMPLED_ROWS))
        is_taken = self._tables.is_taken
        features: RowArray = np.ascontiguousarray(self.codes[sample, :dim]) if is_taken else self.floats[sample]
        bound = _MAX_CODE if is_taken else np.float32(_MAX_CODE * self.unit)
        if not features.size or -bound < features.min() <= features.max() < bound:  # nearly always, and fast
            return 0.0
        return np.count_nonzero((features >= bound) | (features <= -bound)) / features.size


UNITS = {
    "input_vectors": _kernel.INPUT_UNIT,
    "word_head": _kernel.INPUT_UNIT,
    "output_vectors": _kernel.OUTPUT_UNIT,
}
"""Of which numbers the features of each table are multiples in 16 bits."""

_FORMATS: Mapping[str, type[TrainingTables]] = {"float32": Float32Tables, "fixed16": Fixed16Tables}


def training_tables(model: Model) -> TrainingTables:
    """Return the tables of a model in the number format that its setting ``precision`` names."""
    return _FORMATS[model.config.training.precision](model)
