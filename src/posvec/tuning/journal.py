"""The lock of a study's journal. The system frees it however its holder ends; those of Optuna are files that stay."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from posvec.errors import PosvecError


class JournalLock:
    """Held by the one process that appends to the journal, as Optuna's ``JournalFileBackend`` asks."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._descriptor = -1

    def acquire(self) -> bool:
        self._descriptor = os.open(self._journal, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems
            self.release()
            raise PosvecError(
                f"{self._journal} cannot be locked ({error.strerror}); put the study on another disk, or in a database "
                f"with --storage"
            ) from error
        self._drop_half_a_line()
        return True

    def release(self) -> None:
        os.close(self._descriptor)

    def _drop_half_a_line(self) -> None:
        """Who was killed, or found the disk full, while it wrote the last line: what follows would be glued to it."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.ftruncate(self._descriptor, os.pread(self._descriptor, size, 0).rfind(b"\n") + 1)
