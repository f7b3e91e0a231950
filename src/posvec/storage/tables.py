"""Tables of vectors that are stored in fewer bytes and decoded when they are read.

A quantized table is indexed like an array (``table[rows]``, ``table[rows, columns]``, ``table @ vector``, ``shape``)
and decodes only the selected rows. Its codes may be views of a memory-mapped file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.storage.safetensors import Tensors
from posvec.system.arrays import FloatArray, IndexArray

_ROWS_PER_BLOCK = 2048


class QuantizedTable(ABC):
    """Vectors, (n, D), that are stored as codes and decoded when they are read.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.storage.quantization import quantize
    >>> rows = np.array([[127, -127], [63.5, 0], [0, 0]], np.float32)
    >>> table = quantize("int8", rows, np.arange(3), lambda count: None, sub_vector=2, seed=1)
    >>> table.shape, table.nbytes
    ((3, 2), 18)
    >>> table[0]
    array([ 127., -127.], dtype=float32)
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], rows: int, dim: int) -> None:
        self.tensors: Tensors = dict(tensors)
        """The arrays of codes, by the names under which they are saved."""
        self.shape = rows, dim

    @abstractmethod
    def decode(self, ids: IndexArray) -> FloatArray:
        """Return the rows with these ids."""

    @property
    def nbytes(self) -> int:
        """The size of the codes."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    @property
    def mapped_parts(self) -> Iterable[Any]:
        """What :func:`posvec.system.mapping.check_mapped` looks at."""
        return self.tensors.values()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> FloatArray:
        """Decode a row, or rows by a slice, a list or a mask; ``(rows, columns)`` selects columns of these rows."""
        rows, *columns = index if isinstance(index, tuple) else (index,)
        if isinstance(rows, int | np.integer):
            decoded: FloatArray = self.decode(np.array([range(len(self))[rows]]))[0]
            return decoded[columns[0]] if columns else decoded
        ids = np.arange(len(self))[rows] if _must_be_resolved(rows) else np.asarray(rows, np.intp)
        decoded = self.decode(ids)
        return decoded[:, columns[0]] if columns else decoded

    def __matmul__(self, vectors: FloatArray) -> FloatArray:
        return np.concatenate([self[block] @ vectors for block in row_blocks(len(self))])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)


VectorTable: TypeAlias = FloatArray | QuantizedTable
"""A table of vectors, quantized or not."""


class StackedTable(QuantizedTable):
    """The rows of words followed by the rows of n-grams, which are quantized separately."""

    def __init__(self, words: VectorTable, ngrams: VectorTable) -> None:
        super().__init__({}, len(words) + len(ngrams), words.shape[1])
        self.words, self.ngrams = words, ngrams

    @property
    def nbytes(self) -> int:
        return self.words.nbytes + self.ngrams.nbytes

    @property
    def mapped_parts(self) -> Iterable[Any]:
        return self.words, self.ngrams

    def decode(self, ids: IndexArray) -> FloatArray:
        rows = np.empty((len(ids), self.shape[1]), np.float32)
        of_words = ids < len(self.words)
        rows[of_words] = self.words[ids[of_words]]
        rows[~of_words] = self.ngrams[ids[~of_words] - len(self.words)]
        return rows


class AbsentTable(QuantizedTable):
    """Output vectors that were not saved: reading them raises PosvecError."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__({}, rows, dim)

    def decode(self, ids: IndexArray) -> FloatArray:
        raise PosvecError(
            "this model was compressed to its word vectors alone, and without output vectors no masked word can be "
            "predicted; compress the original without --vectors-only (vectors_only=True)"
        )


def row_blocks(count: int) -> Iterator[slice]:
    """Cut the rows of a table into blocks that are quantized or decoded at a time."""
    return (slice(begin, min(begin + _ROWS_PER_BLOCK, count)) for begin in range(0, count, _ROWS_PER_BLOCK))


def finite_rows(table: VectorTable, ids: IndexArray) -> FloatArray:
    """Return rows of a table; raise PosvecError if one of their numbers is infinite or NaN."""
    rows = table[ids]
    if not np.isfinite(rows).all():
        raise PosvecError("the model has numbers that are not finite; train it again or restore it from a copy")
    return rows


def _must_be_resolved(rows: Any) -> bool:
    """Whether an index is a slice, a mask or has negative numbers, so that it is not a list of row ids."""
    if isinstance(rows, slice):
        return True
    array = np.asarray(rows)
    return array.dtype == bool or (array.size > 0 and int(array.min()) < 0)
