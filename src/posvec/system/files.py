"""Local and remote files: which ones a path, folder or pattern means, and reading them in blocks of bytes."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, cast

from posvec.errors import CorpusError
from posvec.system.decompression import decompress, is_compressed, is_corruption
from posvec.system.remote import RemotePath, is_remote

BLOCK = 4 << 20
"""The size in bytes of the blocks in which plain files are read."""
_SAMPLE = 64 << 10
# 1,032 is the highest ratio of gzip, reached by a file of zeros.
_MAX_EXPANDED, _MAX_EXPANSION = 1 << 30, 1032


def path_exists(path: str | Path) -> bool:
    """Whether a file or folder exists, readable or not, or a pattern matches one; True for every URL."""
    if is_remote(path):
        return True
    try:
        return _exists(path) or bool(_matches(str(path)))
    except PermissionError:
        return True
    except OSError:  # the name is too long
        return False


def find_files(path: str | Path) -> list[Path]:
    """List the files that a path means.

    Parameters
    ----------
    path
        A file, a folder, a pattern or a URL.

    Returns
    -------
    list of Path
        The file; or the regular files of a folder and its subfolders, sorted, without hidden ones; or those that match
        the pattern. For a URL they are :class:`posvec.system.remote.RemotePath`.

    Raises
    ------
    CorpusError
        If there are none, or a folder cannot be read.

    Examples
    --------
    >>> find_files("corpus*.txt")
    [PosixPath('corpus.txt')]
    """
    if is_remote(path):
        return _find_remote(str(path))
    with reading(Path(path)):
        exists = _exists(path)
    if not exists:
        matches = _matches(str(path))
        if not matches:
            problem = "no file matches the pattern" if glob.has_magic(str(path)) else "no such file or folder:"
            raise CorpusError(f"{problem} {path}; check the spelling and the current folder ({Path.cwd()})")
        return [file for match in matches for file in find_files(match)]
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(_walk(path))
    if not files:
        raise CorpusError(f"the folder {path} has no files in it (hidden ones are skipped); name one that has")
    return files


def file_identity(path: Path) -> tuple[int, int]:
    """Return the size and modification time of a file, a cheap way to notice that it changed."""
    with reading(path):
        stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def file_fingerprint(path: Path) -> str:
    """Return a digest that identifies a file without reading all of it.

    It covers the path, size and modification time, and samples of the beginning, middle and end. For a digest of all
    bytes see :func:`posvec.system.atomic.file_digest`.
    """
    digest = blake2b(digest_size=16)
    with reading(path):
        size, changed = file_identity(path)
        digest.update(f"{path.absolute()}\0{size}\0{changed}\0".encode("utf-8", "surrogateescape"))
        if path.is_file():  # a pipe can be read only once
            with path.open("rb") as file:
                for start in (0, size // 2, max(0, size - _SAMPLE)):
                    file.seek(start)
                    digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def read_blocks(path: Path, report: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the content of a file, decompressed if its extension says so; ``report`` gets the bytes read so far.

    The bytes that are reported are those of the file itself, before decompression.
    """
    with reading(path), path.open("rb") as raw:
        for block in decompress(raw, path.suffix) if is_compressed(path) else _plain_blocks(raw):
            report(raw.tell() if raw.seekable() else 0)
            if block:
                yield block


def read_lines(path: Path, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of the lines of a plain file that begin at an offset from ``begin`` to ``end - 1``."""
    with reading(path), path.open("rb") as raw:
        if begin:
            raw.seek(begin - 1)
            for _ in _rest_of_line(raw):  # skip the line that began before
                pass
        block = b"\n"
        while (left := end - raw.tell()) > 0:
            block = raw.read(min(BLOCK, left))
            if not block:
                return  # the file was truncated, which Corpus.check_unchanged reports
            yield block
        if not block.endswith(b"\n"):
            yield from _rest_of_line(raw)


def read_file(path: Path) -> bytearray:
    """Return the content of a file, decompressed if its extension says so, with the limit of :func:`read_bounded`."""
    content = bytearray()
    for block in read_bounded(path):
        content += block
    return content


def read_bounded(path: Path) -> Iterator[bytes]:
    """Yield the content of a file like :func:`read_blocks`, for readers that keep all of it in memory.

    A compressed file that expands to more than 1 GiB and more than 1,032 times its size is refused with CorpusError.
    """
    size = 0
    for block in read_blocks(path, lambda read: None):
        size += len(block)
        if size > _MAX_EXPANDED and is_compressed(path) and size > _MAX_EXPANSION * path.stat().st_size:
            raise CorpusError(
                f"{path} exceeds the decompression limit: it expands to {size:,} bytes and more, over "
                f"{_MAX_EXPANSION:,} times its size; check its origin, or decompress it yourself"
            )
        yield block


class reading:
    """Turn errors while a file is read into CorpusError with a sentence that names the file.

    Examples
    --------
    >>> with reading(Path("none.txt")):
    ...     Path("none.txt").read_bytes()
    Traceback (most recent call last):
    posvec.errors.CorpusError: no such file or folder: none.txt; check the spelling
    """

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
        if is_corruption(error):
            raise CorpusError(
                f"{self.path} is damaged or its extension is wrong ({str(error).rstrip('.')}); "
                f"obtain the file again or fix its extension"
            ) from error
        if isinstance(error, OSError):
            raise CorpusError(f"cannot read {self.path}: {error.strerror}; check the file and its disk") from error


def _plain_blocks(raw: IO[bytes]) -> Iterator[bytes]:
    while block := raw.read(BLOCK):
        yield block


def _rest_of_line(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a line in pieces of bounded size."""
    while piece := raw.readline(BLOCK):
        yield piece
        if piece.endswith(b"\n"):
            return


def _find_remote(url: str) -> list[Path]:
    files = RemotePath(url).files()
    if not files:
        raise CorpusError(f"no file at {url}; check the URL")
    return cast("list[Path]", files)


def _exists(path: str | Path) -> bool:
    try:
        os.lstat(path)  # not Path(path).lstat(), which takes an empty name for the current folder
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def _matches(pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        return []
    # ** is recursive only as a whole part of a path; elsewhere it must not walk the whole disk.
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
