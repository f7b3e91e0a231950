"""Work on a stream of chunks by several threads, in bounded memory and in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


def thread_count(threads: int) -> int:
    """How many threads a setting asks for: 0 is one for each core that this process may use."""
    if threads > 0:
        return threads
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(function: Callable[[In], Out], items: Iterable[In], threads: int = 0) -> Iterator[Out]:
    """``map``, by threads that run ahead of the consumer by a few items at most.

    The items are drawn by the calling thread, so that reading and decompressing happen beside the work on what was
    read before. The first exception of any of them ends it all.
    """
    threads = thread_count(threads)
    waiting: deque[Future[Out]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="posvec") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads + 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
