"""Array types, unit vectors, and tables whose memory is aligned for the kernel."""

from __future__ import annotations

import contextlib
import math
import mmap

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import PAD

FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
RowArray = NDArray[np.float32] | NDArray[np.int16]
"""Rows as they are trained, or changes of such rows: float32, or 16-bit fixed point (the setting ``precision``)."""


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
    rows, stride = len(table), table.strides[0] // 4
    view: FloatArray = np.lib.stride_tricks.as_strided(table, (rows, stride), (table.strides[0], 4))
    return view


def unit_vector(vector: FloatArray) -> FloatArray:
    """Scale a vector to length 1; a vector of zeros, or one that is not finite, is returned unchanged.

    Examples
    --------
    >>> unit_vector(np.array([3, 4], np.float32)).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    norm = float(np.linalg.norm(vector))
    return vector / np.float32(norm) if 0 < norm < math.inf else vector


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Scale each row to length 1; rows of zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0] = 1
    rows: FloatArray = vectors / norms
    return rows


def sigmoid(score: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + e^-score), also where e^-score overflows."""
    value: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, np.negative(score)))
    return value
