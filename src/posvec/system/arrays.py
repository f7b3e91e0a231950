"""Array types, unit vectors, and tables whose memory is aligned for the kernel."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import PAD

FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
RowArray = NDArray[np.float32] | NDArray[np.int16]
"""Rows as they are trained, or changes of such rows: float32, or 16-bit fixed point (the setting ``precision``)."""

_CAREFUL_ROWS = 4096  # converted to float64 at a time


def padded_table(rows: int, dim: int) -> FloatArray:
    """Allocate a table of zeros, (rows, dim), whose rows begin at multiples of 64 bytes, as the kernel requires.

    It uses huge pages (2 MB) if the system provides them: training accesses rows in random order, and with small pages
    most accesses would miss the TLB.

    Examples
    --------
    >>> table = padded_table(10, 5)
    >>> table.shape, table.strides[0] % 64
    ((10, 5), 0)
    """
    stride = padded(dim)
    # Private, because shared memory, the default, gets no huge pages.
    memory = mmap.mmap(-1, max(1, rows * stride * 4), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # the system has no huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    table: FloatArray = np.frombuffer(memory, np.float32, rows * stride).reshape(rows, stride)[:, :dim]
    return table


def padded(features: int) -> int:
    """Return the number of floats that a padded row of so many features takes."""
    return -(-features // PAD) * PAD


def is_padded(table: FloatArray) -> bool:
    """Whether a table has the layout of :func:`padded_table`."""
    return (
        table.strides[0] % (PAD * 4) == 0
        and table.strides[0] - table.shape[1] * 4 < PAD * 4
        and table.ctypes.data % 64 == 0
    )


def kernel_view(table: FloatArray) -> FloatArray:
    """Return a view of a padded table that includes the padding of its rows."""
    rows, stride = len(table), table.strides[0] // 4 if table.shape[1] else 0
    view: FloatArray = np.lib.stride_tricks.as_strided(table, (rows, stride), (table.strides[0], 4))
    return view


def unit_vector(vector: FloatArray | DoubleArray) -> FloatArray:
    """Scale a vector to length 1; a vector of zeros stays zeros, and one that is not finite stays not finite.

    Examples
    --------
    >>> unit_vector(np.array([3, 4], np.float32)).tolist()
    [0.6000000238418579, 0.800000011920929]
    >>> unit_vector(np.array([3e300, 4e300])).tolist()  # the squares would overflow
    [0.6000000238418579, 0.800000011920929]
    """
    rows: FloatArray = unit_rows(vector[np.newaxis])[0]
    return rows


def unit_rows(vectors: FloatArray | DoubleArray) -> FloatArray:
    """Scale each row to length 1, however large or small its numbers are; rows of zeros stay zeros.

    Examples
    --------
    >>> unit_rows(np.array([[3e-30, 4e-30], [0, 0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        plain = is_plain_norm(norms)
        rows: FloatArray = np.asarray(vectors / np.where(plain, norms, 1), np.float32)
        others = np.flatnonzero(~plain)
        for ids in np.array_split(others, -(-len(others) // _CAREFUL_ROWS) or 1):
            # Relative to the largest number of each row, squares neither overflow nor underflow.
            careful = vectors[ids].astype(np.float64)
            largest = np.abs(careful).max(1, keepdims=True, initial=0)
            careful /= np.where(largest == 0, 1, largest)
            lengths = np.linalg.norm(careful, axis=1, keepdims=True)
            rows[ids] = careful / np.where(lengths == 0, 1, lengths)
    return rows


def row_norms(table: FloatArray) -> FloatArray:
    """Return the length of each row, also where the squares of its numbers overflow or underflow.

    A finite row that is longer than the largest float32 gets this number.

    Examples
    --------
    >>> row_norms(np.array([[3, 4], [3e20, 4e20]], np.float32)).tolist()
    [5.0, 5.000000...e+20]
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", table, table))
    others = np.flatnonzero(~is_plain_norm(norms))
    for ids in np.array_split(others, -(-len(others) // _CAREFUL_ROWS) or 1):
        lengths = np.linalg.norm(table[ids].astype(np.float64), axis=1)
        norms[ids] = np.where(np.isfinite(lengths), np.minimum(lengths, np.finfo(np.float32).max), lengths)
    return norms


def is_plain_norm(norms: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Whether lengths are so far from the bounds of float32 that sums of squares and products are accurate."""
    plain: NDArray[np.bool_] = (norms > 1e-15) & (norms < 1e18)
    return plain


def sigmoid(score: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + e^-score), also where e^-score overflows."""
    value: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, np.negative(score)))
    return value
