"""Ctrl-C as a wish that long work heeds where it can stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruption(handle: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls ``handle`` in place of raising KeyboardInterrupt wherever the main thread happens to be."""
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread has a say in signals, and who ignores this one (nohup, a job behind &) goes on doing so.
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: handle())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
