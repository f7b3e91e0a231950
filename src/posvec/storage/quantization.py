"""Quantization of tables of vectors, and how quantized tables are saved and opened.

``float16``  each number in half precision.
``int8``     8-bit integers times a scale for each row, chosen so that the largest integer is 127.
``pq``       product quantization, one byte for several numbers (:mod:`posvec.storage.product_quantization`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ModelError, PosvecError
from posvec.storage.product_quantization import ProductTable
from posvec.storage.safetensors import Tensors, require_tensor
from posvec.storage.tables import (
    AbsentTable,
    QuantizedTable,
    StackedTable,
    VectorTable,
    finite_rows,
    row_blocks,
)
from posvec.system.arrays import FloatArray, IndexArray

QUANTIZATIONS = ("float16", "int8", "pq")


@dataclass(frozen=True)
class Compression:
    """How a model was compressed, as stored in config.json.

    Examples
    --------
    >>> str(Compression("int8", pruned=True, vectors_only=False))
    'int8, fewer buckets'
    """

    codes: str
    """float16, int8 or pq; float32 if numbers were not quantized."""
    pruned: bool
    """Whether buckets of n-grams were removed."""
    vectors_only: bool
    """Whether the output vectors were removed."""

    def __str__(self) -> str:
        pruned = ["fewer buckets"] if self.pruned else []
        return ", ".join([self.codes, *pruned, *(["word vectors alone"] if self.vectors_only else [])])


class Float16Table(QuantizedTable):
    """Numbers in half precision."""

    def decode(self, ids: IndexArray) -> FloatArray:
        return self.tensors["values"][ids].astype(np.float32)

    @staticmethod
    def quantize(table: VectorTable, ids: IndexArray, advance: Callable[[int], None]) -> Float16Table:
        values = np.empty((len(ids), table.shape[1]), np.float16)
        for block in row_blocks(len(ids)):
            rows = finite_rows(table, ids[block])
            if (np.abs(rows) > np.finfo(np.float16).max).any():
                raise PosvecError("the model has numbers beyond 65,504, the highest of float16; use int8")
            values[block] = rows
            advance(len(rows))
        return Float16Table({"values": values}, *values.shape)


class Int8Table(QuantizedTable):
    """8-bit integers times a scale for each row."""

    def decode(self, ids: IndexArray) -> FloatArray:
        scales: FloatArray = self.tensors["scales"][ids]
        return self.tensors["codes"][ids] * scales[:, None]

    @staticmethod
    def quantize(table: VectorTable, ids: IndexArray, advance: Callable[[int], None]) -> Int8Table:
        codes = np.empty((len(ids), table.shape[1]), np.int8)
        scales = np.empty(len(ids), np.float32)
        for block in row_blocks(len(ids)):
            rows = finite_rows(table, ids[block])
            scales[block] = np.abs(rows).max(1, initial=0) / 127
            codes[block] = np.rint(rows / np.where(scales[block] > 0, scales[block], 1)[:, None])
            advance(len(rows))
        return Int8Table({"codes": codes, "scales": scales}, *codes.shape)


def quantize(
    method: str, table: VectorTable, ids: IndexArray, advance: Callable[[int], None], sub_vector: int, seed: int
) -> VectorTable:
    """Quantize some rows of a table.

    Parameters
    ----------
    method
        ``float16``, ``int8`` or ``pq``; any other name leaves the numbers as they are.
    table
        The vectors.
    ids
        The rows to quantize, in the order of the new table.
    advance
        Called with the number of rows that were quantized since the last call.
    sub_vector
        With ``pq``, how many numbers share a byte.
    seed
        With ``pq``, the seed of k-means.

    Returns
    -------
    QuantizedTable or ndarray
        The new table.

    Examples
    --------
    >>> import numpy as np
    >>> table = quantize("float16", np.eye(3, dtype=np.float32), np.array([2, 0]), lambda count: None, 2, 1)
    >>> table[0]
    array([0., 0., 1.], dtype=float32)
    """
    if method == "float16":
        return Float16Table.quantize(table, ids, advance)
    if method == "int8":
        return Int8Table.quantize(table, ids, advance)
    if method == "pq":
        return ProductTable.quantize(table, ids, advance, sub_vector, seed)
    advance(len(ids))
    return table[ids]


def table_tensors(name: str, table: VectorTable) -> Tensors:
    """Return the arrays that a table is saved as, by their names in the file."""
    if isinstance(table, np.ndarray):
        return {name: table}
    if isinstance(table, StackedTable):
        return table_tensors(f"{name}.words", table.words) | table_tensors(f"{name}.ngrams", table.ngrams)
    return {f"{name}.{part}": tensor for part, tensor in table.tensors.items()}


def load_table(
    tensors: Mapping[str, NDArray[Any]], name: str, method: str, counts: tuple[int, ...], dim: int
) -> VectorTable:
    """Open a table that was saved as tensors.

    Parameters
    ----------
    tensors
        The arrays of a file.
    name
        The name of the table, with which the names of its arrays begin.
    method
        A quantization, ``absent`` for a table that was not saved, or anything else for plain float32.
    counts
        The numbers of rows of words and of n-grams, which are quantized separately, or of words alone.
    dim
        The number of columns.

    Returns
    -------
    QuantizedTable or ndarray
        The table, whose codes are the given arrays.

    Raises
    ------
    ModelError
        If an array is missing or has another type or shape.
    """
    if method == "absent":
        return AbsentTable(counts[0], dim)
    if method not in QUANTIZATIONS:
        return require_tensor(tensors, name, np.float32, (sum(counts), dim))
    if len(counts) == 2 and counts[1]:
        words, ngrams = (
            load_table(tensors, f"{name}.{part}", method, (count,), dim)
            for part, count in zip(("words", "ngrams"), counts, strict=True)
        )
        return StackedTable(words, ngrams)
    rows = counts[0]
    if method == "float16":
        return Float16Table({"values": require_tensor(tensors, f"{name}.values", np.float16, (rows, dim))}, rows, dim)
    scales = require_tensor(tensors, f"{name}.scales", np.float32, (rows,))
    if method == "int8":
        codes = require_tensor(tensors, f"{name}.codes", np.int8, (rows, dim))
        return Int8Table({"codes": codes, "scales": scales}, rows, dim)
    codebook = require_tensor(tensors, f"{name}.codebook", np.float32, (None, None, None))
    positions, centroids, width = codebook.shape
    if not centroids or not dim <= positions * width < dim + width:
        raise ModelError(f"{name}.codebook does not have centroids for vectors of {dim} numbers")
    codes = require_tensor(tensors, f"{name}.codes", np.uint8, (rows, positions))
    return ProductTable({"codes": codes, "scales": scales, "codebook": codebook}, rows, dim)
