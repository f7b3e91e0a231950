"""Checksums of files, fast enough to compare them whenever a file is opened.

A checksum detects damage and other content, not intent: who can write the file can also write its checksum. Digests
that resist forgery are in :mod:`posvec.system.atomic`.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from posvec.system.threads import map_in_order

# CRC-32 runs at memory speed on most machines, where blake2b reads about 1 GB/s. A CRC of each unit, so that several
# threads can compute them, and so that the probability of a miss does not grow with the file.
_UNIT = 4 << 20


class ChecksumWriter(io.BufferedWriter):
    """A new binary file that counts and checksums the bytes written to it; both are valid after a flush.

    Examples
    --------
    >>> with ChecksumWriter(Path("numbers")) as file:
    ...     _ = file.write(b"12345")
    >>> file.size, file.checksum == file_checksum(Path("numbers"))
    (5, True)
    """

    def __init__(self, path: Path) -> None:
        self._file = _ChecksumFile(path)
        super().__init__(self._file, 1 << 20)

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def checksum(self) -> str:
        return self._file.checksum


def file_checksum(path: Path, threads: int = 1, progress: Callable[[float], None] | None = None) -> str:
    """Return the checksum of a file, the same that :class:`ChecksumWriter` computes.

    Parameters
    ----------
    path
        The file.
    threads
        How many threads to use; 0 is one per core.
    progress
        Called with the fraction that is done.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    units: list[int] = []
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size

        def checksum(start: int) -> int:
            value, end = 0, min(start + _UNIT, size)
            while start < end and (block := os.pread(file.fileno(), end - start, start)):
                value = zlib.crc32(block, value)
                start += len(block)
            return value

        for value in map_in_order(checksum, range(0, size, _UNIT), threads):
            units.append(value)
            if progress:
                progress(min(1.0, len(units) * _UNIT / size))
    return _combine(size, units)


class _ChecksumFile(io.FileIO):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "xb")
        self.size = 0
        self._complete: list[int] = []
        self._last = 0

    @property
    def checksum(self) -> str:
        return _combine(self.size, [*self._complete, self._last] if self.size % _UNIT else self._complete)

    def write(self, data: Any, /) -> int:
        written = super().write(data) or 0
        left = memoryview(data).cast("B")[:written]
        while left:
            part = left[: _UNIT - self.size % _UNIT]
            self._last = zlib.crc32(part, self._last)
            self.size += len(part)
            left = left[len(part) :]
            if self.size % _UNIT == 0:
                self._complete.append(self._last)
                self._last = 0
        return written


def _combine(size: int, units: list[int]) -> str:
    return blake2b(
        size.to_bytes(8, "little") + b"".join(unit.to_bytes(4, "little") for unit in units), digest_size=16
    ).hexdigest()
