"""Commands that are killed: run in a copy of this process, and ended by SIGKILL somewhere in the midst of it.

A copy, because then no time goes into starting Python and all moments are of the work itself. A moment is either one of
CPU time, which a loaded machine does not stretch as it does that of the clock, or one before a file is opened to be
written, renamed, removed, locked, or a folder is made: where it matters most, and where chance seldom hits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 600.0
"""Seconds after which a command hangs."""
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "fcntl.flock"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Moment:
    """When to kill: after so many CPU seconds, or before the file operation of this number."""

    seconds: float = float("inf")
    operation: int = -1


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """As ``subprocess`` has it: -9 if it was killed."""
    seconds: float
    """Of CPU time."""
    operations: int
    """File operations, if it ended by itself."""
    said: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


NEVER = Moment()


def run(command: Callable[[], object], log: Path, moment: Moment = NEVER) -> Ended:
    """Run a function in a copy of this process, which is killed at the moment if it has not ended by then."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _be_killed(command, log, moment.operation, writing)
    os.close(writing)
    used, waited = 0.0, time.monotonic()
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        with contextlib.suppress(OSError):
            used = time.clock_gettime(~pid << 3 | 2)  # the CPU clock of another process, on Linux
        if used > moment.seconds or time.monotonic() - waited > PATIENCE:
            with contextlib.suppress(ProcessLookupError):  # before it has made its group
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.0003)
    if time.monotonic() - waited > PATIENCE:
        raise TimeoutError(f"it hangs:\n{log.read_text()}")
    operations = int(os.read(reading, 100) or 0)
    os.close(reading)
    return Ended(os.waitstatus_to_exitcode(ended[1]), used, operations, log.read_text())


def _be_killed(command: Callable[[], object], log: Path, operation: int, writing: int) -> None:
    code = 70
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        operations = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal operations
            if event in _CHANGES or (event == "open" and arguments[2] & _WRITING):
                operations += 1
                if operations == operation:
                    os.killpg(0, signal.SIGKILL)

        sys.addaudithook(count)
        try:
            command()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        os.write(writing, str(operations).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # not sys.exit: what the parent would do at its end is not for its copy to do
