"""Run commands in a forked process and send it a signal, by default SIGKILL, at a chosen moment.

Forking avoids the time that Python needs to start, so all moments fall into the command itself. A moment is a CPU time,
because wall-clock time depends on the load of the machine; or it is the moment before a file is opened for writing,
renamed, removed or locked, or a folder is created, which is critical and rarely hit by chance.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 600.0
"""Seconds after which a command is considered to hang."""
_FILE_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "fcntl.flock"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Moment:
    """When to kill a command: after some CPU time, or before its file operation of a number that counts from 1."""

    cpu_seconds: float = float("inf")
    operation: int = -1
    signals: tuple[int, ...] = (signal.SIGKILL,)
    """What is sent to the process group."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """The exit code as in ``subprocess``: -9 if it was killed."""
    cpu_seconds: float
    operations: int
    """The number of file operations; 0 if it was killed."""
    output: str
    mark: str = ""
    """What :func:`mark` had noted last when the signals were sent."""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


NEVER = Moment()
_MARKS = mmap.mmap(-1, 64)
"""Shared with the forked process: what it has noted last, and what it had noted when the signals were sent."""
_MARK_BYTES = 32


def mark(name: str) -> None:
    """Note, in the forked process, what it is doing from now on."""
    _MARKS[:_MARK_BYTES] = name.encode().ljust(_MARK_BYTES)


def _send(pid: int, signals: tuple[int, ...]) -> None:
    _MARKS[_MARK_BYTES:] = _MARKS[:_MARK_BYTES]
    for number in signals:
        os.killpg(pid, number)


def run(command: Callable[[], object], log: Path, moment: Moment = NEVER) -> Ended:
    """Run a function in a fork of this process; kill it at the moment unless it has ended before."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    mark("")
    _MARKS[_MARK_BYTES:] = bytes(_MARK_BYTES)
    pid = os.fork()
    if not pid:
        os.close(reading)
        _run_in_child(command, log, moment, writing)
    os.close(writing)
    used, start, sent = 0.0, time.monotonic(), False
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        with contextlib.suppress(OSError):
            used = time.clock_gettime(~pid << 3 | 2)  # Linux: the CPU clock of another process
        with contextlib.suppress(ProcessLookupError):  # it has not created its process group yet
            if used > moment.cpu_seconds and not sent:
                _send(pid, moment.signals)
                sent = True
            if time.monotonic() - start > TIMEOUT:
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.0003)
    if time.monotonic() - start > TIMEOUT:
        raise TimeoutError(f"the command hangs:\n{log.read_text()}")
    operations = int(os.read(reading, 100) or 0)
    os.close(reading)
    noted = _MARKS[_MARK_BYTES:].rstrip(b"\0 ").decode()
    return Ended(os.waitstatus_to_exitcode(ended[1]), used, operations, log.read_text(), noted)


def _run_in_child(command: Callable[[], object], log: Path, moment: Moment, writing: int) -> None:
    """Run the command in the forked process, which kills itself before the operation of that number."""
    code = 70
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        operations = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal operations
            if event in _FILE_EVENTS or (event == "open" and arguments[2] & _WRITING):
                operations += 1
                if operations == moment.operation:
                    _send(0, moment.signals)

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
        os._exit(code)  # sys.exit would run what the parent process has registered for its own exit
