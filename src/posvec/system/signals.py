"""Ctrl-C and ``kill`` as a wish that long work heeds where it can stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deferred_signals(handle: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C (SIGINT) and ``kill`` (SIGTERM) call ``handle`` in place of ending what the main thread happens to do."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread has a say in signals
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # Who ignores a signal (nohup, a job behind &) goes on doing so.
    heeded = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in heeded:
        signal.signal(number, lambda *_: handle())
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)
