"""Processing a stream of items by several threads, in bounded memory and in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from posvec.errors import ThreadStartError

In = TypeVar("In")
Out = TypeVar("Out")


def thread_count(threads: int) -> int:
    """Return the number of threads that a setting stands for; 0 is one per core that this process may use.

    Examples
    --------
    >>> thread_count(3)
    3
    """
    if threads > 0:
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cannot_start_thread(started: int, threads: int, error: RuntimeError) -> ThreadStartError:
    """Return the error that reports that the system starts no more threads."""
    return ThreadStartError(
        f"only {started} of {threads} threads can be started ({error}); lower threads, or raise the limit of processes "
        f"or of memory"
    )


def map_in_order(
    function: Callable[[In], Out], items: Iterable[In], threads: int = 0, stopped: threading.Event | None = None
) -> Iterator[Out]:
    """Apply a function to items in several threads and yield the results in the order of the items.

    Parameters
    ----------
    function
        Called in the threads.
    items
        Drawn in the calling thread, so that reading and decompressing overlap with the function.
    threads
        How many threads; 0 is one per core.
    stopped
        Set when no more results are wanted, for example after Ctrl-C. The threads are waited for, so a slow function
        should look at it and return early.

    Yields
    ------
    object
        The results. Threads run only a few items ahead of the consumer, and the first exception ends the iteration.

    Examples
    --------
    >>> list(map_in_order(str.upper, ["a", "b"], threads=2))
    ['A', 'B']
    """
    threads = thread_count(threads)

    def submit(item: In) -> Future[Out]:
        try:
            return pool.submit(function, item)
        except RuntimeError as error:
            raise cannot_start_thread(len(waiting), threads, error) from error

    waiting: deque[Future[Out]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="posvec") as pool:
        try:
            for item in items:
                waiting.append(submit(item))
                if len(waiting) > threads + 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            if stopped:
                stopped.set()
            for future in waiting:
                future.cancel()
