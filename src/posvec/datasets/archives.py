"""Archives from elsewhere, unpacked without trust: nothing outside of the folder, no links, no bombs."""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from posvec.corpus.cache import writing_to
from posvec.errors import DownloadError, PosvecError
from posvec.system.files import decompressed, is_corruption

LIMIT = 2 << 30
"""Bytes that an archive may unpack to."""
_BLOCK = 1 << 20
# What zipfile and tarfile raise where a file is not as it should be, some of it by accident.
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, struct.error, OSError),
    *(RuntimeError, ValueError, LookupError, OverflowError),
)


def unpack(archive: Path, folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> list[Path]:
    """The files of a tar or zip archive, below ``folder``; only those whose name is ``wanted``."""
    written: list[Path] = []
    left = LIMIT
    try:
        for name, stream in _files(archive):
            target = _inside(folder, name, archive)
            if not wanted(name):
                continue
            with writing_to(folder):
                target.parent.mkdir(parents=True, exist_ok=True)
                file = target.open("wb", buffering=0)
            with file:
                while block := stream.read(_BLOCK):
                    left -= len(block)
                    if left < 0:
                        raise DownloadError(f"{archive} unpacks to more than {LIMIT:,} bytes; it was not used")
                    with writing_to(folder):
                        file.write(block)
            written.append(target)
    except PosvecError:
        raise
    except Exception as error:
        if not isinstance(error, _DAMAGE) and not is_corruption(error):
            raise
        reason = str(error).partition(":")[0]  # a list of what it is not may follow
        raise DownloadError(f"{archive} is damaged or no archive ({reason}); fetch it again") from error
    return written


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as stream:
                        yield info.filename, stream
        return
    # Compressed in any way, or not at all. Not decompressed by tarfile, which takes as much memory as a file asks for.
    with archive.open("rb") as raw, _open_tar(_Stream(decompressed(raw))) as tarred:
        for member in tarred:
            if member.isfile():
                content = tarred.extractfile(member)
                assert content is not None
                yield member.name, content
            elif not member.isdir():
                raise DownloadError(f"{archive} has a link or device in it, {member.name}; it was not used")


def _open_tar(stream: Any) -> tarfile.TarFile:
    return tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK)


class _Stream:
    """Blocks as a file that is read once, as far as tarfile asks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._held = blocks, b""

    def read(self, size: int) -> bytes:
        while len(self._held) < size and (block := next(self._blocks, b"")):
            self._held += block
        taken, self._held = self._held[:size], self._held[size:]
        return taken


def _inside(folder: Path, name: str, archive: Path) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise DownloadError(f"{archive} wants to write outside of its folder, to {name}; it was not used")
    return folder.joinpath(*path.parts)
