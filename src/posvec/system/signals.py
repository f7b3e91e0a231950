"""Signals that ask a process to stop: Ctrl-C, ``kill``, a closed terminal, a limit of CPU time, a cluster's warning.

Work that can be continued runs in :func:`deferred_signals`: a signal is recorded, and the work stops where it can save
its state. All other work of a command runs in :func:`interrupting_signals`: a signal raises KeyboardInterrupt, so that
temporary files are removed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1)
"""Ctrl-C; ``kill``; the terminal or the connection was closed; the limit of CPU time was reached; the warning that
cluster schedulers such as Slurm (``--signal=USR1@60``) send before they end a job."""

# A closed terminal sends SIGHUP to a process up to twice, and schedulers repeat their signals.
_SECONDS_OF_REPETITION = 1.0


class Interruption:
    """Whether the process was asked to stop."""

    def __init__(self) -> None:
        self.requested = False
        self._protected = 0

    @contextmanager
    def protected(self) -> Iterator[None]:
        """Finish the work of a ``with`` block, for example a save, whatever signals arrive."""
        self._protected += 1
        try:
            yield
        finally:
            self._protected -= 1

    def protect_rest(self) -> None:
        """Finish everything from here to the end of :func:`deferred_signals`, whatever signals arrive."""
        self._protected += 1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # Only people repeat a signal because they do not want to wait; closed terminals and schedulers do so anyway.
        if self.requested and number == signal.SIGINT and not self._protected:
            raise KeyboardInterrupt
        self.requested = True  # nothing else: this runs in a signal handler, between any two instructions


_active: Interruption | None = None  # that of the outermost deferred_signals


@contextmanager
def deferred_signals() -> Iterator[Interruption]:
    """Record signals in place of interrupting the main thread; a second Ctrl-C interrupts it unless it is protected.

    At the end of the outermost ``with`` block, a recorded signal raises KeyboardInterrupt. In threads other than the
    main one, to which Python delivers no signals, nothing is recorded.
    """
    global _active
    if threading.current_thread() is not threading.main_thread():  # only the main thread can install signal handlers
        yield Interruption()
        return
    if _active is not None:
        yield _active
        return
    _active = interruption = Interruption()
    try:
        with _handled_by(interruption._handle, replaces_python_handlers=(signal.SIGINT, signal.SIGTERM)):
            try:
                yield interruption
            finally:
                interruption.protect_rest()  # no second Ctrl-C may raise while handlers are restored
    finally:
        _active = None
    if interruption.requested:
        raise KeyboardInterrupt


@contextmanager
def interrupting_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on signals that would end the process without a word."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last, ended = float("-inf"), False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _SECONDS_OF_REPETITION and not ended:  # otherwise the first one is already being handled
            raise KeyboardInterrupt

    with _handled_by(interrupt):
        try:
            yield
        finally:
            ended = True


@contextmanager
def _handled_by(
    handler: Callable[[int, FrameType | None], None], replaces_python_handlers: tuple[int, ...] = ()
) -> Iterator[None]:
    """Install a handler of all signals that would end the process, and of those named here that a program handles.

    A signal that the process ignores (under nohup, or as a background job) stays ignored. Handlers of other programs
    stay as well, because a program may use SIGUSR1 for something else.
    """
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    replaced = {number: old for number, old in before.items() if _is_replaced(number, old, replaces_python_handlers)}
    for number in replaced:
        signal.signal(number, handler)
        _ours.add(handler)
    try:
        yield
    finally:
        for number, old in replaced.items():
            signal.signal(number, old)
        _ours.discard(handler)


_ours: set[Any] = set()  # the handlers that this module has installed


def _is_replaced(number: int, handler: Any, replaces_python_handlers: tuple[int, ...]) -> bool:
    if number in replaces_python_handlers:
        return handler not in (signal.SIG_IGN, None)
    return handler is signal.SIG_DFL or handler in _ours
