"""Memory to use again: what is new takes longer to get from the system than all that is done with it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from posvec.tables import Floats


class Buffers:
    """Of any shape, in memory that was taken before if there is some that is large enough."""

    def __init__(self) -> None:
        self._free: list[Floats] = []

    def take(self, shape: tuple[int, ...]) -> Floats:
        size = math.prod(shape)
        found = next((i for i, memory in enumerate(self._free) if memory.size >= size), None)
        memory = np.empty(_rounded(size), np.float32) if found is None else self._free.pop(found)
        buffer: Floats = memory[:size].reshape(shape)
        return buffer

    def give(self, buffers: Iterable[Floats]) -> None:
        """Back, whole as they were taken; nobody uses them any more."""
        for buffer in buffers:
            assert isinstance(buffer.base, np.ndarray)
            self._free.append(buffer.base)


def _rounded(size: int) -> int:
    """Sizes that are almost the same share their memory."""
    return 1 << max(0, size - 1).bit_length()
