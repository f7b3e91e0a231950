"""Tables of vectors in fewer bytes: half precision, 8-bit integers, product quantization.

A coded table is asked as an array is (``table[rows]``, ``table[rows, columns]``, ``table @ vector``, ``shape``) and
decodes what it is asked for; its codes may be mapped from a file.

``float16``  each number in half precision.
``int8``     row = scale * integers, the largest of which is 127.
``pq``       product quantization (Jegou et al. 2011): a row is cut into sub-vectors of a few numbers, and of each only
             the number of the nearest among 256 centroids is kept, which k-means finds for each place of the row.
             Directions are coded, so that short rows have no larger error than long ones; the scale of a row is the one
             that brings its coded direction nearest to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.errors import ModelError, PosvecError
from posvec.storage.safetensors import Tensors
from posvec.system.arrays import FloatArray, unit_rows
from posvec.system.threads import map_in_order

Ids = NDArray[np.intp]
Advance = Callable[[int], None]

CODED = ("float16", "int8", "pq")
CENTROIDS = 256
SAMPLE, ITERATIONS = 16_384, 12  # rows that k-means sees, and how often
ROWS = 2048  # coded or decoded at a time


@dataclass(frozen=True)
class Compression:
    """How a model was made smaller, as config.json says it."""

    codes: str
    """float16, int8, pq, or float32 where numbers stayed as they were."""
    pruned: bool
    """Whether buckets of n-grams were left out."""
    vectors_only: bool
    """Whether the output vectors were left out."""

    def __str__(self) -> str:
        pruned = ["fewer buckets"] if self.pruned else []
        return ", ".join([self.codes, *pruned, *(["word vectors alone"] if self.vectors_only else [])])


class CodedTable(ABC):
    """Rows of numbers, (n, D), that are decoded when they are asked for."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], rows: int, dim: int) -> None:
        self.tensors: Tensors = dict(tensors)
        """What the table is made of, by the names that they are saved under."""
        self.shape = rows, dim

    @abstractmethod
    def decode(self, ids: Ids) -> FloatArray:
        """The rows of these numbers."""

    @property
    def nbytes(self) -> int:
        """What the table takes as it is, coded."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> FloatArray:
        """A row, or rows by a slice, a list or a mask; of an index (rows, columns), these columns of these rows."""
        rows, *columns = index if isinstance(index, tuple) else (index,)
        if isinstance(rows, int | np.integer):
            decoded: FloatArray = self.decode(np.array([range(len(self))[rows]]))[0]
            return decoded[columns[0]] if columns else decoded
        ids = np.arange(len(self))[rows] if _needs_numbers(rows) else np.asarray(rows, np.intp)
        decoded = self.decode(ids)
        return decoded[:, columns[0]] if columns else decoded

    def __matmul__(self, vectors: FloatArray) -> FloatArray:
        return np.concatenate([self[block] @ vectors for block in _blocks(len(self))])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)


VectorTable: TypeAlias = FloatArray | CodedTable
"""Rows of numbers, coded or not."""


class HalfTable(CodedTable):
    def decode(self, ids: Ids) -> FloatArray:
        return self.tensors["values"][ids].astype(np.float32)

    @staticmethod
    def encode(table: VectorTable, ids: Ids, advance: Advance) -> HalfTable:
        values = np.empty((len(ids), table.shape[1]), np.float16)
        for block in _blocks(len(ids)):
            rows = _finite(table, ids[block])
            if (np.abs(rows) > np.finfo(np.float16).max).any():
                raise PosvecError("the model has numbers beyond 65,504, the highest of float16; use int8")
            values[block] = rows
            advance(len(rows))
        return HalfTable({"values": values}, *values.shape)


class IntegerTable(CodedTable):
    def decode(self, ids: Ids) -> FloatArray:
        scales: FloatArray = self.tensors["scales"][ids]
        return self.tensors["codes"][ids] * scales[:, None]

    @staticmethod
    def encode(table: VectorTable, ids: Ids, advance: Advance) -> IntegerTable:
        codes = np.empty((len(ids), table.shape[1]), np.int8)
        scales = np.empty(len(ids), np.float32)
        for block in _blocks(len(ids)):
            rows = _finite(table, ids[block])
            scales[block] = np.abs(rows).max(1, initial=0) / 127
            codes[block] = np.rint(rows / np.where(scales[block] > 0, scales[block], 1)[:, None])
            advance(len(rows))
        return IntegerTable({"codes": codes, "scales": scales}, *codes.shape)


class ProductTable(CodedTable):
    def decode(self, ids: Ids) -> FloatArray:
        scales: FloatArray = self.tensors["scales"][ids]
        return _directions(self.tensors["codes"][ids], self.tensors["codebook"], self.shape[1]) * scales[:, None]

    @staticmethod
    def encode(table: VectorTable, ids: Ids, advance: Advance, sub_vector: int, seed: int) -> ProductTable:
        dim = table.shape[1]
        sample = np.sort(np.random.default_rng(seed).permutation(len(ids))[:SAMPLE])
        codebook = train_codebook(_cut(unit_rows(_finite(table, ids[sample])), sub_vector), seed)
        codes = np.empty((len(ids), len(codebook)), np.uint8)
        scales = np.empty(len(ids), np.float32)

        def encode_block(block: slice) -> int:
            rows = _finite(table, ids[block])
            codes[block] = nearest(_cut(unit_rows(rows), sub_vector), codebook)
            directions = _directions(codes[block], codebook, dim)
            squares = np.einsum("ij,ij->i", directions, directions)
            scales[block] = np.einsum("ij,ij->i", rows, directions) / np.where(squares > 0, squares, 1)
            return len(rows)

        for done in map_in_order(encode_block, _blocks(len(ids))):
            advance(done)
        return ProductTable({"codes": codes, "scales": scales, "codebook": codebook}, len(ids), dim)


class StackedTable(CodedTable):
    """One table above another: the rows of words, then those of n-grams, each with codes of their own."""

    def __init__(self, above: VectorTable, below: VectorTable) -> None:
        super().__init__({}, len(above) + len(below), above.shape[1])
        self.above, self.below = above, below

    @property
    def nbytes(self) -> int:
        return self.above.nbytes + self.below.nbytes

    def decode(self, ids: Ids) -> FloatArray:
        rows = np.empty((len(ids), self.shape[1]), np.float32)
        first = ids < len(self.above)
        rows[first] = self.above[ids[first]]
        rows[~first] = self.below[ids[~first] - len(self.above)]
        return rows


class AbsentTable(CodedTable):
    """Output vectors that were left out: whatever needs them is refused with a sentence."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__({}, rows, dim)

    def decode(self, ids: Ids) -> FloatArray:
        raise PosvecError(
            "this model was compressed to its word vectors alone, and without output vectors no masked word can be "
            "predicted; compress the original without --vectors-only (vectors_only=True)"
        )


def encode(method: str, table: VectorTable, ids: Ids, advance: Advance, sub_vector: int, seed: int) -> VectorTable:
    """Some rows of a table, coded; ``advance`` is told how many more are done."""
    if method == "float16":
        return HalfTable.encode(table, ids, advance)
    if method == "int8":
        return IntegerTable.encode(table, ids, advance)
    if method == "pq":
        return ProductTable.encode(table, ids, advance, sub_vector, seed)
    advance(len(ids))
    return table[ids]


def tensors_of(name: str, table: VectorTable) -> Tensors:
    """What a table is saved as."""
    if isinstance(table, np.ndarray):
        return {name: table}
    if isinstance(table, StackedTable):
        return tensors_of(f"{name}.words", table.above) | tensors_of(f"{name}.ngrams", table.below)
    return {f"{name}.{part}": tensor for part, tensor in table.tensors.items()}


def restore(
    tensors: Mapping[str, NDArray[Any]], name: str, method: str, counts: tuple[int, ...], dim: int
) -> VectorTable:
    """The table that was saved under a name, of so many rows; ModelError if the tensors are not those of one.

    ``counts`` are the rows of words and of n-grams, which have codes of their own, or of words alone.
    """
    if method not in CODED:
        return (
            AbsentTable(counts[0], dim)
            if method == "absent"
            else checked(tensors, name, np.float32, (sum(counts), dim))
        )
    if len(counts) == 2 and counts[1]:
        above, below = (
            restore(tensors, f"{name}.{part}", method, (count,), dim)
            for part, count in zip(("words", "ngrams"), counts, strict=True)
        )
        return StackedTable(above, below)
    rows = counts[0]
    if method == "float16":
        return HalfTable({"values": checked(tensors, f"{name}.values", np.float16, (rows, dim))}, rows, dim)
    scales = checked(tensors, f"{name}.scales", np.float32, (rows,))
    if method == "int8":
        codes = checked(tensors, f"{name}.codes", np.int8, (rows, dim))
        return IntegerTable({"codes": codes, "scales": scales}, rows, dim)
    codebook = checked(tensors, f"{name}.codebook", np.float32, (None, None, None))
    places, centroids, width = codebook.shape
    if not centroids or not dim <= places * width < dim + width:
        raise ModelError(f"{name}.codebook is not of vectors of {dim} numbers")
    codes = checked(tensors, f"{name}.codes", np.uint8, (rows, places))
    return ProductTable({"codes": codes, "scales": scales, "codebook": codebook}, rows, dim)


def checked(tensors: Mapping[str, NDArray[Any]], name: str, dtype: type, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The tensor of a name, if its type and its shape are these; None stands for any number."""
    found = tensors.get(name)
    if found is None or found.dtype != dtype or found.ndim != len(shape):
        raise ModelError(f"{name} is not {shape}")
    if any(size not in (None, there) for size, there in zip(shape, found.shape, strict=True)):
        raise ModelError(f"{name} is not {shape}")
    return found


def train_codebook(rows: FloatArray, seed: int) -> FloatArray:
    """Centroids of the sub-vectors at each place, (places, up to 256, d), by k-means from rows (n, places, d)."""
    count, places, width = rows.shape
    chosen = np.random.default_rng(seed).permutation(count)[:CENTROIDS]
    codebook = np.ascontiguousarray(rows[chosen].transpose(1, 0, 2))
    if not count:
        return np.zeros((places, 1, width), np.float32)
    blocks = list(_blocks(count))
    for _ in range(ITERATIONS if count > CENTROIDS else 0):
        codes = np.concatenate(list(map_in_order(lambda block: nearest(rows[block], codebook), blocks)))
        for place in range(places):
            size = np.bincount(codes[:, place], minlength=CENTROIDS)
            used = size > 0  # a centroid that is nearest to nothing stays where it is
            for i in range(width):
                sums = np.bincount(codes[:, place], rows[:, place, i], CENTROIDS)
                codebook[place, used, i] = sums[used] / size[used]
    return codebook


def nearest(rows: FloatArray, codebook: FloatArray) -> NDArray[np.uint8]:
    """The nearest centroid of each sub-vector, (n, places), of rows (n, places, d)."""
    codes = np.empty(rows.shape[:2], np.uint8)
    _kernel.nearest_centroids(rows, codebook, codes)
    return codes


def _cut(rows: FloatArray, sub_vector: int) -> FloatArray:
    """Rows in sub-vectors, (n, places, d), the last one filled with zeros."""
    places = -(-rows.shape[1] // sub_vector)
    padded = np.zeros((len(rows), places * sub_vector), np.float32)
    padded[:, : rows.shape[1]] = rows
    return padded.reshape(len(rows), places, sub_vector)


def _directions(codes: NDArray[np.uint8], codebook: FloatArray, dim: int) -> FloatArray:
    places, centroids, width = codebook.shape
    rows = codes + np.arange(places) * centroids
    # Clipped rather than checked: a damaged code gives a wrong vector, never one from beyond the table.
    cut: FloatArray = codebook.reshape(-1, width).take(rows, axis=0, mode="clip")
    return cut.reshape(len(codes), places * width)[:, :dim]


def _finite(table: VectorTable, ids: Ids) -> FloatArray:
    rows = table[ids]
    if not np.isfinite(rows).all():
        raise PosvecError("the model has numbers that are not finite; train it again or restore it from a copy")
    return rows


def _blocks(count: int) -> Iterator[slice]:
    return (slice(begin, min(begin + ROWS, count)) for begin in range(0, count, ROWS))


def _needs_numbers(rows: Any) -> bool:
    """Whether an index is a slice or a mask, or counts from the end."""
    if isinstance(rows, slice):
        return True
    array = np.asarray(rows)
    return array.dtype == bool or (array.size > 0 and int(array.min()) < 0)
