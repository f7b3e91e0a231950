"""Mapping in threads: order, and an early end after Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from posvec.system.threads import map_in_order


def interrupted_items() -> Iterator[int]:
    yield 0
    raise KeyboardInterrupt  # Ctrl-C arrives while the calling thread waits inside map_in_order


def test_functions_that_run_learn_that_their_results_are_not_wanted() -> None:
    stopped = threading.Event()
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(lambda _: stopped.wait(30), interrupted_items(), 2, stopped))
    assert stopped.is_set()
    stopped = threading.Event()
    results = map_in_order(lambda item: item and stopped.wait(30), range(9), 2, stopped)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert time.perf_counter() - started < 20
