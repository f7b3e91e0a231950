"""Files and folders that appear in one step: complete under their name, or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posvec.errors import ModelError

TEMPORARY = ".posvec-"  # how the name of a file begins while it is written, and of one that a crash left behind


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[DigestingWriter]:
    """A binary stream whose bytes become the file ``path`` at the end; ModelError if they cannot be written.

    A failure of any kind, also one of the caller's, leaves what was at ``path`` as it was.
    """
    path = Path(path)
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(6)}.tmp")
    try:
        stream = DigestingWriter(temporary)
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        finally:
            # Closing writes what is buffered: on a full disk it fails again, and the first failure is the one to tell.
            with contextlib.suppress(OSError):
                stream.close()
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """A new folder that becomes ``path`` at the end; ModelError if it cannot be written.

    With ``overwrite`` it takes the place of an older one, unless that has other things in it than the new one.
    """
    path = Path(path).absolute()
    temporary, old = (path.with_name(f"{TEMPORARY}{secrets.token_hex(6)}.tmp") for _ in range(2))
    try:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{path} is a file, and a folder is to be written; choose another output")
        before = {entry.name for entry in path.iterdir()} if path.exists() else set()
        if before and not overwrite:
            raise ModelError(f"{path} is not empty; choose another output, or pass --overwrite (overwrite=True)")
        temporary.mkdir(parents=True)
        yield temporary
        if others := sorted(before - {entry.name for entry in temporary.iterdir()}):
            raise ModelError(f"{path} has other things in it, such as {others[0]}, so it is not overwritten")
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        _sync_folder(path.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


class DigestingWriter(io.BufferedWriter):
    """A new binary file that keeps count of the bytes written to it and their digest; ask when all are flushed."""

    def __init__(self, path: Path) -> None:
        self._file = _DigestingFile(path)
        super().__init__(self._file, 1 << 20)

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def digest(self) -> str:
        return self._file.hash.hexdigest()


def file_digest(path: Path) -> str:
    """The digest that a DigestingWriter had for the same bytes."""
    digest = _new_hash()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def cannot_write(path: Path, error: OSError) -> ModelError:
    remedy = "make it writable or choose another place"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        remedy = "free some space or choose another place (what was there before is still there)"
    return ModelError(f"cannot write {path}: {error.strerror or error}; {remedy}")


class _DigestingFile(io.FileIO):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "xb")
        self.size = 0
        self.hash = _new_hash()

    def write(self, data: Any, /) -> int:
        written = super().write(data) or 0
        self.hash.update(memoryview(data).cast("B")[:written])
        self.size += written
        return written


def _new_hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=20)


def _sync_folder(path: Path) -> None:
    """Make a rename last through a loss of power, on systems where folders can be synchronized."""
    with contextlib.suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
