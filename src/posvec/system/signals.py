"""Deferred handling of Ctrl-C and ``kill``: a callback records the signal, and long work stops where it can."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deferred_signals(handle: Callable[[], None]) -> Iterator[None]:
    """Call ``handle`` on Ctrl-C (SIGINT) and ``kill`` (SIGTERM), in place of interrupting the main thread at once."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can install signal handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # A signal that the process ignores (under nohup, or as a background job) stays ignored.
    replaced = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in replaced:
        signal.signal(number, lambda *_: handle())
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
