"""The memory allocator of the C library."""

from __future__ import annotations

import contextlib
import ctypes


def return_freed_memory() -> None:
    """Give the memory that this process has freed back to the system, where the C library can do so."""
    with contextlib.suppress(OSError, AttributeError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)
