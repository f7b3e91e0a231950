"""Watching the training of a trial: show its progress, and stop it early when it does badly or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from posvec.model import Model
from posvec.storage.records import TrainingProgress
from posvec.training.loop import StopTraining

if TYPE_CHECKING:
    import optuna

TIME_IS_UP = "time is up"

_CHECKS = 4  # parts of training; after each but the last, a bad trial is stopped
_SECONDS_BETWEEN_DEADLINE_CHECKS = 0.2


class TrialMonitor:
    """A callback of training. If it stops the training, ``stopped`` is the reason, or else an empty string."""

    def __init__(
        self,
        show: Callable[[float], None],
        model: Model,
        trial: optuna.Trial,
        early: Callable[[Model, TrainingProgress], float] | None,
        is_late: Callable[[], bool],
    ) -> None:
        self.show, self.model, self.trial, self.early, self.is_late = show, model, trial, early, is_late
        self.checks_done = 0
        self.deadline_checked = time.monotonic()
        self.stopped = ""

    def on_chunk(self, progress: TrainingProgress) -> None:
        """Check the deadline and, after each quarter of training, the objective."""
        self.show(progress.fraction)
        # Not more often: the check reads the storage, which other processes write to.
        if time.monotonic() - self.deadline_checked > _SECONDS_BETWEEN_DEADLINE_CHECKS:
            self.deadline_checked = time.monotonic()
            if self.is_late():
                self._stop(TIME_IS_UP)
        if self.early and self.checks_done < int(progress.fraction * _CHECKS) < _CHECKS:
            self.checks_done = int(progress.fraction * _CHECKS)
            self.trial.report(self.early(_snapshot(self.model), progress), self.checks_done)
            if self.trial.should_prune():
                self._stop(f"worse than most after {self.checks_done / _CHECKS:.0%} of training")

    def on_epoch(self, progress: TrainingProgress) -> None:
        """Do nothing at the end of an epoch."""

    def _stop(self, reason: str) -> None:
        self.stopped = reason
        raise StopTraining


def _snapshot(model: Model) -> Model:
    """Return a new model over the same tables: a model computes its word vectors once, and these are still changing."""
    return Model(
        model.config,
        model.vocabulary,
        model.rows,
        model.input_vectors,
        model.output_vectors,
        model.positional_vectors,
        word_head=model.word_head,
    )
