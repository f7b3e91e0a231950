"""What the machine gives at the moment: a virtual one may put two CPUs on one core for some seconds.

``python benchmarks/machine.py`` asks a few times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

# Two CPUs that have a core each do twice the arithmetic of one (less where the clock falls); on one core, hardly more.
OWN_CORES = 1.5
Result = TypeVar("Result")


def cores(threads: int = 2, seconds: float = 0.06) -> float:
    """How many times the arithmetic of one thread ``threads`` of them do now, arithmetic being all they do."""
    with threadpool_limits(1):  # threads are ours to start
        alone = _work(seconds)
        with ThreadPoolExecutor(threads) as pool:
            together = sum(pool.map(_work, [seconds] * threads))
    return together / alone


def probed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What a piece of work gave, and ``cores`` before or after it, whichever is less."""
    before = cores()
    result = work()
    return result, min(before, cores())


def _work(seconds: float) -> float:
    """Products of matrices per second: arithmetic alone, during which NumPy lets other threads run."""
    square = np.full((256, 256), 1 / 256, np.float32)
    product = np.empty_like(square)
    started, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - started) < seconds:
        np.matmul(square, square, out=product)
        count += 1
    return count / passed


if __name__ == "__main__":
    for _ in range(10):
        print(f"two threads do {cores():.2f} times the arithmetic of one")
        time.sleep(1)
