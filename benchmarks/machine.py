"""How many cores two threads have at the moment: a virtual machine may run two CPUs on one core for some seconds.

``python benchmarks/machine.py`` measures it ten times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

# Two CPUs with a core each do twice the arithmetic of one, or less if the clock rate falls; on one core hardly more.
OWN_CORES = 1.5
Result = TypeVar("Result")


def cores(threads: int = 2, seconds: float = 0.06) -> float:
    """How many times the arithmetic of one thread ``threads`` threads do at the moment."""
    with threadpool_limits(1):  # BLAS must not start threads of its own
        alone = _work(seconds)
        with ThreadPoolExecutor(threads) as pool:
            together = sum(pool.map(_work, [seconds] * threads))
    return together / alone


def probed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of some work, and the lower value of ``cores`` before and after it."""
    before = cores()
    result = work()
    return result, min(before, cores())


def _work(seconds: float) -> float:
    """Matrix products per second: pure arithmetic, during which NumPy releases the GIL."""
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
