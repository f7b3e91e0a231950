"""Files and folders that appear in one step: complete under their name, or not at all.

What is being written has a temporary name and is locked, and the system frees the lock however the process ends: what
has such a name and no lock was left behind by one that was killed, and the next that writes beside it removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posvec.errors import ModelError

TEMPORARY = re.compile(r"\.posvec-[0-9a-f]{12}\.tmp")
"""How files and folders are named while they are written, and those that a crash left behind."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[DigestingWriter]:
    """A binary stream whose bytes become the file ``path`` at the end; ModelError if they cannot be written.

    A failure of any kind, also one of the caller's, leaves what was at ``path`` as it was.
    """
    path = Path(path)
    temporary: Path | None = None
    try:
        remove_abandoned(path.parent)
        temporary, stream = _new_file(path.parent)
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            temporary.replace(path)  # before it is closed, which frees the lock
        finally:
            # Closing writes what is buffered: on a full disk it fails again, and the first failure is the one to tell.
            with contextlib.suppress(OSError):
                stream.close()
        _sync_folder(path.parent)
    except BaseException as error:
        if temporary is not None:
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
    try:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{path} is a file, and a folder is to be written; choose another output")
        before = {entry.name for entry in path.iterdir()} if path.exists() else set()
        if before and not overwrite:
            raise ModelError(f"{path} is not empty; choose another output, or pass --overwrite (overwrite=True)")
        with temporary_folder(path.parent) as temporary:
            yield temporary
            if others := sorted(before - {entry.name for entry in temporary.iterdir()}):
                raise ModelError(f"{path} has other things in it, such as {others[0]}, so it is not overwritten")
            move_folder(temporary, path)
            _sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A new folder in ``parent``; what has its name at the end is removed, so rename it before."""
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent)
    path, lock = _new_folder(parent)
    try:
        yield path
    finally:
        os.close(lock)
        shutil.rmtree(path, ignore_errors=True)


def move_folder(new: Path, path: Path) -> None:
    """Give a folder the name ``path``. What had that name is gone, or, where the system can swap, is now at ``new``."""
    if not path.exists():
        new.rename(path)
    elif not _swap(new, path):
        # Killed between the two, there is nothing at ``path``; what was there has a name that nobody removes.
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)


def remove_abandoned(folder: Path) -> None:
    """Remove what a process that was killed left in a folder under a temporary name."""
    with contextlib.suppress(OSError):  # a file too many is no reason to fail
        for entry in [entry for entry in folder.iterdir() if TEMPORARY.fullmatch(entry.name)]:
            with contextlib.suppress(OSError), _opened(entry) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # or it is in use
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether what was opened there is there still."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


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
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None):  # None: NumPy, of bytes that were not written
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


def _new_file(folder: Path) -> tuple[Path, DigestingWriter]:
    while True:
        path = _temporary_name(folder)
        stream = DigestingWriter(path)
        if _is_ours(path, stream.fileno()):
            return path, stream
        stream.close()


def _new_folder(parent: Path) -> tuple[Path, int]:
    """And the descriptor that keeps it locked."""
    while True:
        path = _temporary_name(parent)
        path.mkdir()
        with contextlib.suppress(FileNotFoundError):  # taken for abandoned, see below
            lock = os.open(path, os.O_RDONLY)
            if _is_ours(path, lock):
                return path, lock
            os.close(lock)


def _temporary_name(folder: Path) -> Path:
    return folder / f".posvec-{secrets.token_hex(6)}.tmp"


def _is_ours(path: Path, descriptor: int) -> bool:
    """Lock it. Another process may have taken it for abandoned between its creation and now."""
    with contextlib.suppress(OSError):  # some network file systems have no locks; there, nothing is taken for abandoned
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return is_same_file(path, descriptor)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _swap(one: Path, two: Path) -> bool:
    """Exchange two names in one step, if the system knows how to."""
    import ctypes

    library = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(two)
    if sys.platform == "darwin":
        return hasattr(library, "renamex_np") and library.renamex_np(*names, 2) == 0
    here = -100  # AT_FDCWD: relative names are relative to the current folder
    return hasattr(library, "renameat2") and library.renameat2(here, names[0], here, names[1], 2) == 0


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
