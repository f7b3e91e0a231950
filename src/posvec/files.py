"""Files → blocks of bytes: which files a path, folder or pattern means, and how plain and compressed ones are read."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from posvec.errors import CorpusError

BLOCK = 4 << 20
_SAMPLE = 64 << 10
# Of compressed bytes at a time: what they grow to is held in memory.
_COMPRESSED_BLOCK = 64 << 10


def names_files(path: str | Path) -> bool:
    """Whether there is such a file or folder, or the pattern matches one."""
    try:
        return os.path.lexists(path) or bool(_matches(str(path)))
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False


def find_files(path: str | Path) -> list[Path]:
    """The file; or the regular files of a folder and those below it, sorted, without hidden ones; or of a pattern."""
    if not os.path.lexists(path):
        matches = _matches(str(path))
        if not matches:
            what = "no file matches the pattern" if glob.has_magic(str(path)) else "no such file or folder:"
            raise CorpusError(f"{what} {path}; check the spelling and the current folder ({Path.cwd()})")
        return [file for match in matches for file in find_files(match)]
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(_walk(path))
    if not files:
        raise CorpusError(f"the folder {path} has no files in it (hidden ones are skipped); name one that has")
    return files


def file_identity(path: Path) -> tuple[int, int]:
    """Size and time of the last change: what tells cheaply that a file was touched."""
    with reading(path):
        stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def file_digest(path: Path) -> str:
    """Identifies a file without reading it all: its place, size, time, and its beginning, middle and end."""
    digest = blake2b(digest_size=16)
    with reading(path):
        size, changed = file_identity(path)
        digest.update(f"{path.absolute()}\0{size}\0{changed}\0".encode("utf-8", "surrogateescape"))
        if path.is_file():  # a pipe has nothing to look ahead into
            with path.open("rb") as file:
                for start in (0, size // 2, max(0, size - _SAMPLE)):
                    file.seek(start)
                    digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def read_blocks(path: Path, report: Callable[[int], None]) -> Iterator[bytes]:
    """The bytes of a file, decompressed by its ending; ``report`` hears how many bytes of the file itself were read."""
    with reading(path), path.open("rb") as raw:
        for block in _decompressed(path, raw):
            report(raw.tell() if raw.seekable() else 0)
            if block:
                yield block


class reading:
    """Turns what goes wrong with a file while it is read into a sentence that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise CorpusError(f"no such file or folder: {self.path}; check the spelling") from error
        if isinstance(error, PermissionError):
            raise CorpusError(
                f"no permission to read {self.path}; change it with chmod +r, or name another file"
            ) from error
        if isinstance(error, (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, _Damaged)) or (
            isinstance(error, OSError) and error.errno is None  # how bz2 says it
        ):
            raise CorpusError(
                f"{self.path} is damaged or not what its ending says ({str(error).rstrip('.')}); "
                f"get the file again, or mend its ending"
            ) from error
        if isinstance(error, OSError):
            raise CorpusError(f"cannot read {self.path}: {error.strerror}; check the file and its disk") from error


class _Damaged(Exception):
    pass


def _matches(pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        return []
    # ** is only a pattern of its own as a whole part of a path; elsewhere it must not walk the disk.
    return sorted(glob.glob(pattern, recursive="**" in Path(pattern).parts))  # noqa: PTH207 (a pattern can be absolute)


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise CorpusError(f"no permission to list {error.filename}; change it with chmod +rx, or name another folder")

    for root, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(root, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _decompressed(path: Path, raw: IO[bytes]) -> Iterator[bytes]:
    ending = path.suffix.lower()
    if ending == ".zst":
        yield from _zstandard(raw)
        return
    stream: Any = raw
    if ending == ".gz":
        stream = gzip.GzipFile(fileobj=raw)
    elif ending == ".bz2":
        stream = bz2.BZ2File(raw)
    elif ending == ".xz":
        stream = lzma.LZMAFile(raw)  # noqa: SIM115
    while block := stream.read(BLOCK):
        yield block


def _zstandard(raw: IO[bytes]) -> Iterator[bytes]:
    # Not stream_reader: that takes the end of a file that was cut short for its end.
    import zstandard

    frame = None
    while compressed := raw.read(_COMPRESSED_BLOCK):
        while compressed:
            if frame is None:
                frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                block = frame.decompress(compressed)
            except zstandard.ZstdError as error:
                raise _Damaged(str(error)) from error
            yield block
            compressed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = None
    if frame is not None:
        raise _Damaged("it ends too early")
