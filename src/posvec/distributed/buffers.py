"""Memory to use again: what is new takes longer to get from the system than all that is done with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Buffers:
    """Of any shape and type, in memory that was taken before if there is some that is large enough; for any thread."""

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []
        self._lock = Lock()

    def take(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            found = next((i for i, memory in enumerate(self._free) if memory.size >= size), None)
            memory = None if found is None else self._free.pop(found)
        if memory is None:
            memory = np.empty(_rounded(size), np.uint8)
        return memory[:size].view(dtype).reshape(shape)

    def give(self, buffers: Iterable[Any]) -> None:
        """Back, or parts of them; nobody uses them any more."""
        with self._lock:
            self._free += [buffer.base for buffer in buffers]


def _rounded(size: int) -> int:
    """Sizes that are almost the same share their memory."""
    return 1 << max(0, size - 1).bit_length()
