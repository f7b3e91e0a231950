"""What a search found, as frozen values, and the files that are written of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posvec.config import Config
from posvec.errors import PosvecError
from posvec.evaluation.results import Result, Table
from posvec.system.atomic import replacing
from posvec.tuning.space import configured

BEST, TRIALS, FRONT = "best.json", "trials.csv", "front"

_SHOWN = 10


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried."""

    number: int
    state: str
    """complete, pruned, stopped, running or waiting."""
    settings: dict[str, Any]
    values: dict[str, float]
    """Of each objective; empty unless complete."""
    seconds: float | None
    reason: str | None = None
    """Why it was pruned or stopped."""


@dataclass(frozen=True)
class SearchResult(Result):
    """All trials of a search, and which of them are best."""

    corpus: str
    objectives: dict[str, str]
    """maximize or minimize, by name."""
    space: tuple[str, ...]
    best: tuple[int, ...]
    """The number of the best trial; with several objectives, of each that no other beats in all, the best by the first
    objective before the others."""
    importance: dict[str, float]
    """How much each setting decides whether a trial is among the best quarter by the first objective (PED-ANOVA);
    empty until enough was tried."""
    trials: tuple[Trial, ...]
    base: Config = field(repr=False)
    """What all trials have in common."""

    @property
    def best_trial(self) -> Trial:
        if not self.best:
            raise PosvecError(f"no trial has been completed yet{self.last_reason}; search longer")
        return self.trials[self.best[0]]

    @property
    def best_config(self) -> Config:
        return self.config(self.best_trial)

    @property
    def last_reason(self) -> str:
        """Why the last one of the trials that were given up was."""
        reasons = [trial.reason for trial in self.trials if trial.reason]
        return f" (the last one: {reasons[-1]})" if reasons else ""

    def config(self, trial: Trial) -> Config:
        """The configuration of a trial, with all of the corpus to train on."""
        return configured(self.base, trial.settings)

    def ranked(self) -> list[Trial]:
        """Trials that are complete, by the first objective."""
        name, direction = next(iter(self.objectives.items()))
        complete = [trial for trial in self.trials if trial.values]
        return sorted(complete, key=lambda trial: trial.values[name], reverse=direction == "maximize")

    def tables(self) -> list[Table]:
        ranked = self.ranked()
        title = f"Best of {len(ranked):,} completed trials"
        if len(self.objectives) > 1:
            title = (
                f"{len(self.best):,} of {len(ranked):,} completed trials: no other one beats these in all objectives"
            )
            ranked = [self.trials[number] for number in self.best]
        tables = [Table(title, self._columns()[:-1], [self._row(trial)[:-1] for trial in ranked[:_SHOWN]], ".4g")]
        if self.importance:
            rows = [(name, share) for name, share in self.importance.items()]
            tables.append(Table("Importance of settings", ("setting", "importance"), rows, ".2f"))
        return tables

    def main_table(self) -> Table:
        return Table("Trials", self._columns(), [self._row(trial) for trial in self.trials])

    def _columns(self) -> tuple[str, ...]:
        return ("trial", *self._settings(), *self.objectives, "time (s)", "state")

    def _settings(self) -> list[str]:
        return [text.partition("=")[0] for text in self.space]

    def _row(self, trial: Trial) -> tuple[object, ...]:
        settings = (trial.settings.get(name) for name in self._settings())
        values = (trial.values.get(name) for name in self.objectives)
        return (trial.number, *settings, *values, trial.seconds, trial.state)


def write_files(result: SearchResult, folder: Path) -> None:
    """Everything in the folder that is made of the storage."""
    result.write(folder / TRIALS)
    if not result.best:
        return
    _write_config(folder / BEST, result, result.best_trial)
    if len(result.objectives) > 1:
        (folder / FRONT).mkdir(exist_ok=True)
        names = {number: f"trial-{number}.json" for number in result.best}
        for number, name in names.items():
            _write_config(folder / FRONT / name, result, result.trials[number])
        for file in (folder / FRONT).glob("trial-*.json"):
            if file.name not in names.values():
                file.unlink(missing_ok=True)


def _write_config(path: Path, result: SearchResult, trial: Trial) -> None:
    content = {
        "trial": trial.number,
        "objectives": trial.values,
        "searched": trial.settings,
        "settings": result.config(trial).to_dict(),
    }
    with replacing(path) as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())
