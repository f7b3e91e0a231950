"""The lock on a study's journal.

The lock is an ``flock``, which the system releases when its process ends, even if it is killed. Optuna's own locks are
files, which would stay behind.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from posvec.errors import PosvecError


class JournalLock:
    """An exclusive lock with the interface that Optuna's ``JournalFileBackend`` expects."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._descriptor = -1

    def acquire(self) -> bool:
        """Wait for the lock, then repair the journal if its last line is incomplete."""
        self.release()  # what a signal has left locked; otherwise this process would wait for itself
        try:
            self._descriptor = os.open(self._journal, os.O_RDWR | os.O_CREAT, 0o666)
            self._lock()
            self._drop_incomplete_line()
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems do not support locks
            raise PosvecError(
                f"{self._journal} cannot be locked ({error.strerror}); put the study on another disk, or in a database "
                f"with --storage"
            ) from error

    def _drop_incomplete_line(self) -> None:
        """Remove a last line that was cut off by a kill or a full disk: the next entry would be appended to it."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.ftruncate(self._descriptor, os.pread(self._descriptor, size, 0).rfind(b"\n") + 1)
