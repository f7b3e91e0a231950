"""Files of word vectors as bytes: read at once or memory-mapped, written in one step, compressed by file extension."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ModelError
from posvec.system.atomic import replacing
from posvec.system.decompression import is_compressed
from posvec.system.files import read_file, reading


def read_bytes(path: Path) -> NDArray[np.uint8]:
    """Return a file's bytes, memory-mapped; a compressed file or a pipe is read into memory."""
    if is_compressed(path) or (path.exists() and not path.is_file()):
        return np.frombuffer(read_file(path), np.uint8)
    with reading(path), path.open("rb") as file:
        if not file.seek(0, 2):
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


@contextlib.contextmanager
def open_for_writing(path: str | Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """Yield a stream that becomes the file in one step at the end, compressed if the file extension says so."""
    path = Path(path)
    if not overwrite:
        check_not_existing(path)
    with replacing(path) as stream:
        compressor = _COMPRESSORS.get(path.suffix.lower())
        if compressor is None:
            yield stream
            return
        with compressor(stream) as compressed:
            yield compressed


def check_not_existing(path: Path) -> None:
    """Raise ModelError if there is a file already."""
    if path.exists():
        raise ModelError(f"{path} exists already; choose another name, or pass --overwrite (overwrite=True)")


def invalid_file(path: Path, reason: str) -> ModelError:
    """Return the error for a file that does not follow its format."""
    return ModelError(f"{path} is damaged or not in this format: {reason}; restore the file, or name its format")


def _zstandard(stream: IO[bytes]) -> Any:
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(stream, closefd=False)


_COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    # Without a name and a time stamp, so that the same vectors give the same bytes.
    ".gz": lambda stream: gzip.GzipFile("", "wb", 6, stream, mtime=0),
    ".bz2": lambda stream: bz2.BZ2File(stream, "wb"),
    ".xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115 (closed by its user)
    ".zst": _zstandard,
}
