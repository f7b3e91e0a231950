"""The tables of a model while they are trained, in the number format of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.model import Model
from posvec.storage.tables import QuantizedTable
from posvec.system.arrays import FloatArray, IndexArray, RowArray, kernel_view

_MAX_CODE = 2**15 - 1
_SAMPLED_ROWS = 1024


class RowTables(NamedTuple):
    """Input, output and positional vectors as they are stored during training, padding included."""

    input: RowArray
    output: RowArray
    positional: FloatArray


class TrainingTables(ABC):
    """Owns the tables of a model during a run and exports them to the model.

    :meth:`take` makes the tables ready for the kernel, :meth:`export` makes the model's tables ordinary float32 arrays
    again. In between, the model shows the values of the moment.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.input_vectors, self.output_vectors = model.trained_tables()

    @property
    @abstractmethod
    def stored(self) -> RowTables:
        """The tables in the number format of the run, not copied."""

    @abstractmethod
    def trainer(self, *arguments: object) -> _kernel.Float32Trainer | _kernel.Fixed16Trainer:
        """Make a kernel trainer for these tables; ``arguments`` follow the tables in its constructor."""

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
            kernel_view(self.input_vectors), kernel_view(self.output_vectors), self.model.positional_vectors
        )

    def trainer(self, *arguments: object) -> _kernel.Float32Trainer:
        return _kernel.Float32Trainer(*self.stored, *arguments)  # type: ignore[arg-type]

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
        self._live = (
            LiveTable(self, self.input_vectors, _kernel.INPUT_UNIT),
            LiveTable(self, self.output_vectors, _kernel.OUTPUT_UNIT),
        )
        self.is_taken = False

    @property
    def stored(self) -> RowTables:
        return RowTables(self._live[0].codes, self._live[1].codes, self.model.positional_vectors)

    def trainer(self, *arguments: object) -> _kernel.Fixed16Trainer:
        return _kernel.Fixed16Trainer(*self.stored, *arguments)  # type: ignore[arg-type]

    def take(self) -> bool:
        if self.is_taken:
            return False
        self.model.input_vectors, self.model.output_vectors = self._live
        self.is_taken = True
        for table in self._live:
            _kernel.encode_fixed16(kernel_view(table.floats), table.unit, table.codes)
        return True

    def export(self) -> None:
        if not self.is_taken:
            return
        for table in self._live:
            _kernel.decode_fixed16(table.codes, table.unit, kernel_view(table.floats))
        self.is_taken = False
        self.model.input_vectors, self.model.output_vectors = self.input_vectors, self.output_vectors

    def saturated(self) -> float:
        return max(table.saturated() for table in self._live)


class LiveTable(QuantizedTable):
    """A table that is being trained in 16 bits: reading it gives float32 copies of the rows as they are now."""

    def __init__(self, tables: Fixed16Tables, floats: FloatArray, unit: float) -> None:
        self._tables, self.floats, self.unit = tables, floats, unit
        padded = kernel_view(floats)
        self.codes: NDArray[np.int16] = padded.reshape(-1).view(np.int16)[: padded.size].reshape(padded.shape)
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


_FORMATS: Mapping[str, type[TrainingTables]] = {"float32": Float32Tables, "fixed16": Fixed16Tables}


def training_tables(model: Model) -> TrainingTables:
    """Return the tables of a model in the number format that its setting ``precision`` names."""
    return _FORMATS[model.config.training.precision](model)
