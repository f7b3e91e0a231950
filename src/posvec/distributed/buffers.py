"""Memory that is reused: allocating new memory would take longer than the work done with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray


class BufferPool:
    """Provides arrays of any shape and type in memory that is reused; any thread may use it."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []
        self._lock = Lock()

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array with arbitrary values."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            found = next((i for i, memory in enumerate(self._free) if memory.size >= size), None)
            memory = None if found is None else self._free.pop(found)
        if memory is None:
            memory = np.empty(_rounded(size), np.uint8)
        return memory[:size].view(dtype).reshape(shape)

    def release(self, buffers: Iterable[Any]) -> None:
        """Return arrays, or parts of them, that nobody uses any more."""
        with self._lock:
            self._free += [buffer.base for buffer in buffers]


def _rounded(size: int) -> int:
    """Round a size up to a power of two, so that buffers of similar sizes can be reused."""
    return 1 << max(0, size - 1).bit_length()
