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
    """A table of zeros (rows, dim) whose rows begin at multiples of 64 bytes, as the kernel wants them.

    It lies in pages of 2 MB where the system gives them: training jumps between rows, and finding a page costs time.
    """
    stride = padded(dim)
    # private: shared memory, the default, gets no such pages
    memory = mmap.mmap(-1, max(1, rows * stride * 4), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    table: FloatArray = np.frombuffer(memory, np.float32, rows * stride).reshape(rows, stride)[:, :dim]
    return table


def padded(features: int) -> int:
    """The numbers that a row of so many features takes."""
    return -(-features // PAD) * PAD


def is_padded(table: FloatArray) -> bool:
    return (
        table.strides[0] % (PAD * 4) == 0
        and table.strides[0] - table.shape[1] * 4 < PAD * 4
        and table.ctypes.data % 64 == 0
    )


def kernel_view(table: FloatArray) -> FloatArray:
    """The whole rows of a padded table, padding included."""
    rows, stride = len(table), table.strides[0] // 4
    view: FloatArray = np.lib.stride_tricks.as_strided(table, (rows, stride), (table.strides[0], 4))
    return view


def unit_vector(vector: FloatArray) -> FloatArray:
    """Scale a vector to length 1; a vector of zeros, or one that is not finite, is returned as it is."""
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
