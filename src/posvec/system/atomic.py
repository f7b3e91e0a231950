"""Atomic replacement of files and folders: a name refers to a complete file or folder at every moment.

A file or folder is written under a temporary name and locked. The system releases the lock however the process ends, so
that a temporary name without a lock belongs to a process that was killed; the next process that writes to the same
folder removes it.
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
from posvec.system.signals import deferred_signals

TEMPORARY = re.compile(r"\.posvec-[0-9a-f]{12}\.tmp")
"""The names of files and folders while they are written; a crash can leave them."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[DigestingWriter]:
    """Write a file completely or not at all.

    Parameters
    ----------
    path
        The file to create or replace.

    Yields
    ------
    DigestingWriter
        A binary stream; the file appears at the end of the ``with`` block.

    Raises
    ------
    ModelError
        If the file cannot be written. After any exception, also one of the caller, the old file is unchanged.

    Examples
    --------
    >>> with replacing("note.txt") as stream:
    ...     stream.write(b"hello")
    5
    >>> Path("note.txt").read_text()
    'hello'
    """
    path = Path(path)
    temporary = _temporary_name(path.parent)
    try:
        remove_abandoned(path.parent)
        stream = _new_file(temporary)
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            temporary.replace(path)  # before closing, which releases the lock
        finally:
            # Closing flushes the buffer, which fails again on a full disk; the first error is the one to report.
            with contextlib.suppress(OSError):
                stream.close()
        _sync_folder(path.parent)
    except BaseException as error:
        with deferred_signals(), contextlib.suppress(OSError):  # also if a signal has interrupted its creation
            temporary.unlink()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """Write a folder completely or not at all.

    Parameters
    ----------
    path
        The folder to create or replace.
    overwrite
        Whether to replace a folder that is there, unless it has files that the new one does not have.

    Yields
    ------
    Path
        A temporary folder to fill, which is renamed at the end of the ``with`` block.

    Raises
    ------
    ModelError
        If the folder cannot be written or may not be replaced.

    Examples
    --------
    >>> with replacing_folder("notes") as folder:
    ...     _ = (folder / "one.txt").write_text("hello")
    >>> Path("notes/one.txt").read_text()
    'hello'
    """
    path = Path(path).absolute()
    try:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{path} is a file, but the output is a folder; choose another output")
        before = {entry.name for entry in path.iterdir()} if path.exists() else set()
        if before and not overwrite:
            raise ModelError(f"{path} is not empty; choose another output, or pass --overwrite (overwrite=True)")
        with temporary_folder(path.parent) as temporary:
            yield temporary
            if others := sorted(before - {entry.name for entry in temporary.iterdir()}):
                raise ModelError(f"{path} has other files in it, for example {others[0]}, so it is not overwritten")
            move_folder(temporary, path)
            _sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Create a folder in ``parent``, which is removed at the end unless it was renamed."""
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent)
    path, lock = _temporary_name(parent), None
    try:
        lock = _new_folder(path)
        yield path
    finally:
        with deferred_signals():
            if lock is not None:
                os.close(lock)
            shutil.rmtree(path, ignore_errors=True)


def move_folder(new: Path, path: Path) -> None:
    """Rename a folder to ``path``; an older folder is removed, or moved to ``new`` if the system can swap names."""
    if not path.exists():
        new.rename(path)
    elif not _swap(new, path):
        # If the process is killed between the two renames, nothing is at ``path``, but the old folder remains under a
        # name that is not temporary.
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
    """Remove temporary files and folders of killed processes from a folder."""
    with contextlib.suppress(OSError):  # leftover files are harmless
        for entry in [entry for entry in folder.iterdir() if TEMPORARY.fullmatch(entry.name)]:
            with contextlib.suppress(OSError), _opened(entry) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if it is in use
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def is_same_file(path: Path, descriptor: int) -> bool:
    """Whether a path still refers to the open file or folder."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


class DigestingWriter(io.BufferedWriter):
    """A new binary file that counts and digests the bytes written to it; both are valid after a flush."""

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
    """Return the digest of all bytes of a file, the same that :class:`DigestingWriter` computes."""
    digest = _new_hash()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def cannot_write(path: Path, error: OSError) -> ModelError:
    """Return the error that reports a failed write, with its remedy."""
    remedy = "make it writable or choose another path"
    # NumPy reports bytes that could not be written by an error without a number.
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None):
        remedy = "free some space or choose another path (the old file is unchanged)"
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


def _new_file(path: Path) -> DigestingWriter:
    """Create and lock a file, again if another process removes it as abandoned before it is locked."""
    while True:
        stream = DigestingWriter(path)
        if _is_ours(path, stream.fileno()):
            return stream
        stream.close()


def _new_folder(path: Path) -> int:
    """Create a folder, again if another process removes it as abandoned; return the descriptor that holds its lock."""
    while True:
        path.mkdir()
        with contextlib.suppress(FileNotFoundError):  # removed as abandoned, see _is_ours
            lock = os.open(path, os.O_RDONLY)
            if _is_ours(path, lock):
                return lock
            os.close(lock)


def _temporary_name(folder: Path) -> Path:
    return folder / f".posvec-{secrets.token_hex(6)}.tmp"


def _is_ours(path: Path, descriptor: int) -> bool:
    """Lock a new file or folder; False if another process removed it as abandoned before it was locked."""
    with contextlib.suppress(OSError):  # some network file systems have no locks, and nothing is removed there
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
    """Exchange two names in one step if the system supports it."""
    import ctypes

    library = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(two)
    if sys.platform == "darwin":
        return hasattr(library, "renamex_np") and library.renamex_np(*names, 2) == 0
    at_fdcwd = -100  # relative names are relative to the current folder
    return hasattr(library, "renameat2") and library.renameat2(at_fdcwd, names[0], at_fdcwd, names[1], 2) == 0


def _new_hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=20)


def _sync_folder(path: Path) -> None:
    """Make a rename survive a loss of power, on systems where folders can be synchronized."""
    with contextlib.suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
