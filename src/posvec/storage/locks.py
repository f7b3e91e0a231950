"""Locks on folders, so that two processes never work in the same one."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from posvec.errors import ModelError
from posvec.system.atomic import cannot_write, is_same_file
from posvec.system.remote import is_remote


@contextlib.contextmanager
def locked_folder(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Create a folder if needed and lock it, so that a second process that tries to lock it gets a ModelError.

    Two saves at once would remove each other's files, and two trainings would overwrite each other's results after
    hours. The lock is reentrant: training holds it while it saves checkpoints. If the folder was removed or moved in
    the meantime, entering again creates and locks it again. If an error leaves the folder empty, the folders that were
    created are removed again. Remote folders and None are not locked.

    Examples
    --------
    >>> with locked_folder("results"):
    ...     pass
    """
    if path is None or is_remote(path):
        yield
        return
    path = Path(path)
    if held := _LOCKED.get().get(path.resolve()):
        held.renew()
        yield
        return
    created = [folder for folder in (path, *path.parents) if not folder.exists()]
    held = _FolderLock(path)
    token = _LOCKED.set({**_LOCKED.get(), path.resolve(): held})
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # the folder is not empty
            for folder in created:
                folder.rmdir()
        raise
    finally:
        _LOCKED.reset(token)
        held.release()


class _FolderLock:
    """A lock of this process on a folder."""

    def __init__(self, path: Path) -> None:
        self._descriptor = _lock(path)
        self._path = path.resolve()

    def renew(self) -> None:
        """Create and lock the folder again if it was removed or moved."""
        if not is_same_file(self._path, self._descriptor):
            descriptor = _lock(self._path)
            self.release()
            self._descriptor = descriptor

    def release(self) -> None:
        os.close(self._descriptor)


_LOCKED: ContextVar[Mapping[Path, _FolderLock]] = ContextVar("locked", default=MappingProxyType({}))


def _lock(path: Path) -> int:
    """Return a descriptor that holds the lock; the system releases it however the process ends."""
    try:
        while True:
            path.mkdir(parents=True, exist_ok=True)
            folder = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(folder)
                raise ModelError(
                    f"another process is working in {path}; wait for it or choose another output"
                ) from error
            except OSError:
                pass  # some network file systems have no locks for folders
            if is_same_file(path, folder):
                return folder
            os.close(folder)  # another process removed the folder before it was locked: create it again
    except OSError as error:
        raise cannot_write(path, error) from error
