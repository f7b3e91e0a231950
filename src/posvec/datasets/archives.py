"""Unpacking of untrusted archives: no files outside the folder, no links, no decompression bombs."""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from posvec.corpus.cache import writing_to
from posvec.errors import DownloadError, PosvecError
from posvec.system.decompression import decompress_detected, is_corruption

LIMIT = 2 << 30
"""The largest total number of bytes of an unpacked archive."""
_BLOCK = 1 << 20
# What zipfile and tarfile raise for damaged files, intentionally or not.
_CORRUPTION_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, struct.error, OSError),
    *(RuntimeError, ValueError, LookupError, OverflowError),
)


def unpack(archive: Path, folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> list[Path]:
    """Unpack a tar or zip archive.

    Parameters
    ----------
    archive
        The archive; tar archives may be compressed.
    folder
        The folder to write to.
    wanted
        Called with the name of each file; returns whether to unpack it.

    Returns
    -------
    list of pathlib.Path
        The files that were written.

    Raises
    ------
    DownloadError
        If the archive is damaged, too large, or contains links or names that lead outside the folder.
    """
    written: list[Path] = []
    remaining = LIMIT
    try:
        for name, stream in _files(archive):
            target = _checked_target(folder, name, archive)
            if not wanted(name):
                continue
            with writing_to(folder):
                target.parent.mkdir(parents=True, exist_ok=True)
                file = target.open("wb", buffering=0)
            with file:
                while block := stream.read(_BLOCK):
                    remaining -= len(block)
                    if remaining < 0:
                        raise DownloadError(f"{archive} unpacks to more than {LIMIT:,} bytes and was not used")
                    with writing_to(folder):
                        file.write(block)
            written.append(target)
    except PosvecError:
        raise
    except Exception as error:
        if not isinstance(error, _CORRUPTION_ERRORS) and not is_corruption(error):
            raise
        reason = str(error).partition(":")[0]  # tarfile appends a list of the compressions it tried
        raise DownloadError(f"{archive} is damaged or not an archive ({reason}); fetch it again") from error
    return written


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as stream:
                        yield info.filename, stream
        return
    # tarfile is not used for decompression, because it allocates as much memory as a file requests.
    with archive.open("rb") as raw, _open_tar(_Stream(decompress_detected(raw))) as tarred:
        for member in tarred:
            if member.isfile():
                content = tarred.extractfile(member)
                assert content is not None
                yield member.name, content
            elif not member.isdir():
                raise DownloadError(f"{archive} contains a link or device, {member.name}, and was not used")


def _open_tar(stream: Any) -> tarfile.TarFile:
    return tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK)


class _Stream:
    """A file object over an iterator of blocks, with the one method that tarfile needs."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._buffer = blocks, b""

    def read(self, size: int) -> bytes:
        while len(self._buffer) < size and (block := next(self._blocks, b"")):
            self._buffer += block
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


def _checked_target(folder: Path, name: str, archive: Path) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise DownloadError(f"{archive} contains a file outside its folder, {name}, and was not used")
    return folder.joinpath(*path.parts)
