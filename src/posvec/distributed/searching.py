"""A hyperparameter search on a cluster: each worker takes the next trial and trains it."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from posvec.distributed.failures import failure
from posvec.system.extras import require_extra
from posvec.training.pipeline import Silent
from posvec.tuning.results import SearchResult, format_settings, format_values
from posvec.tuning.summary import summarize
from posvec.tuning.trials import DEFAULT_TRIALS, TrialRunner

_POLL_SECONDS = 1.0


def run_together(
    search: TrialRunner, trials: int | None, seconds: float | None, keep_best: bool, *, workers: int, threads: int
) -> SearchResult:
    """Run the search in every worker; they share the storage of the study."""
    ray = require_extra("ray", "distributed")
    if trials is None and seconds is None:
        trials = DEFAULT_TRIALS
    remote = copy.copy(search)
    remote.display, remote.base = Silent(), search.base.replace(threads=threads)
    running = ray.remote(num_cpus=threads)(TrialRunner.run)
    started = time.monotonic()
    with search.display.stage(f"searching with {workers} workers") as show:
        tasks = [running.remote(remote, trials, seconds, keep_best) for _ in range(workers)]
        seen = {trial.number for trial in summarize(search.study, importance=False).trials if trial.seconds}
        with _cancelling(ray, tasks):
            left = tasks
            while left:
                _, left = ray.wait(left, num_returns=len(left), timeout=_POLL_SECONDS)
                _note(search, seen)
                done = search.finished() / trials if trials else (time.monotonic() - started) / (seconds or 1)
                show(min(1.0, done))
            try:
                ray.get(tasks)
            except ray.exceptions.RayError as error:
                raise failure(error) from error
    return search.conclude()


def _note(search: TrialRunner, seen: set[int]) -> None:
    """Report the trials that have ended since the last call."""
    for trial in summarize(search.study, importance=False).trials:
        if trial.seconds and trial.number not in seen:
            seen.add(trial.number)
            ended = format_values(trial.values) or f"given up: {trial.reason}"
            search.display.note(f"  {format_settings(trial.settings)}: {ended}")


@contextmanager
def _cancelling(ray: Any, tasks: list[Any]) -> Iterator[None]:
    """Pass Ctrl-C on to the workers, which put their present trials back."""
    try:
        yield
    except KeyboardInterrupt:
        for task in tasks:
            ray.cancel(task)
        ray.wait(tasks, num_returns=len(tasks), timeout=30)
        raise
