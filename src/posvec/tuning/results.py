"""The results of a search as immutable values, and the files that are written from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posvec.config import Config
from posvec.errors import PosvecError
from posvec.evaluation.results import Result, Table
from posvec.system.atomic import replacing
from posvec.system.utf8 import encode_json
from posvec.tuning.space import trial_config

BEST_FILE, TRIALS_FILE, FRONT_FOLDER = "best.json", "trials.csv", "front"

_ROWS_SHOWN = 10


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried.

    Examples
    --------
    >>> from posvec.tuning import Trial
    >>> trial = Trial(0, "complete", {"window": 3}, {"validation_loss": 0.5}, seconds=1.5)
    >>> trial.settings["window"], trial.values["validation_loss"]
    (3, 0.5)
    """

    number: int
    state: str
    """complete, pruned, stopped, running or waiting."""
    settings: dict[str, Any]
    values: dict[str, float]
    """The value of each objective; empty unless the trial is complete."""
    seconds: float | None
    reason: str | None = None
    """Why the trial was pruned or stopped."""


@dataclass(frozen=True)
class SearchResult(Result):
    """All trials of a search, and which of them are best.

    Examples
    --------
    >>> from posvec import tuning
    >>> result = tuning.search(
    ...     "corpus.txt", output="result-study", space=["window=1..3"], objectives=["validation_loss"], trials=2,
    ...     dim=32, epochs=1, threads=1,
    ... )
    >>> len(result.ranked()), result.best_config.model.window in (1, 2, 3)
    (2, True)
    """

    corpus: str
    objectives: dict[str, str]
    """maximize or minimize, by the name of the objective."""
    space: tuple[str, ...]
    best: tuple[int, ...]
    """The number of the best trial. With several objectives, the numbers of all trials on the Pareto front, ordered by
    the first objective."""
    importance: dict[str, float]
    """How much each setting decides whether a trial is among the best quarter by the first objective (PED-ANOVA);
    empty while there are too few trials."""
    trials: tuple[Trial, ...]
    base: Config = field(repr=False)
    """The configuration that all trials start from."""

    @property
    def best_trial(self) -> Trial:
        """The best trial by the first objective."""
        if not self.best:
            raise PosvecError(f"no trial has been completed yet{self.last_reason}; search longer")
        return self.trials[self.best[0]]

    @property
    def best_config(self) -> Config:
        """The configuration of the best trial."""
        return self.config(self.best_trial)

    @property
    def last_reason(self) -> str:
        """The reason of the last trial that was pruned or stopped, in parentheses."""
        reasons = [trial.reason for trial in self.trials if trial.reason]
        return f" (the last one: {reasons[-1]})" if reasons else ""

    def config(self, trial: Trial) -> Config:
        """Return the configuration of a trial, without the validation lines that the search may have held out."""
        return trial_config(self.base, trial.settings)

    def ranked(self) -> list[Trial]:
        """Return the complete trials, best first by the first objective."""
        name, direction = next(iter(self.objectives.items()))
        complete = [trial for trial in self.trials if trial.values]
        return sorted(complete, key=lambda trial: trial.values[name], reverse=direction == "maximize")

    def tables(self) -> list[Table]:
        """Return tables of the best trials and of the importance of each setting."""
        ranked = self.ranked()
        title = f"Best of {len(ranked):,} completed trials"
        if len(self.objectives) > 1:
            title = f"Pareto front: {len(self.best):,} of {len(ranked):,} completed trials"
            ranked = [self.trials[number] for number in self.best]
        rows = [self._row(trial)[:-1] for trial in ranked[:_ROWS_SHOWN]]
        tables = [Table(title, self._columns()[:-1], rows, ".4g")]
        if self.importance:
            rows = list(self.importance.items())
            tables.append(Table("Importance of settings", ("setting", "importance"), rows, ".2f"))
        return tables

    def main_table(self) -> Table:
        """Return a table of all trials."""
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
    """Write the table of trials, the best configuration and, with several objectives, those on the Pareto front."""
    result.write(folder / TRIALS_FILE)
    if not result.best:
        return
    _write_config(folder / BEST_FILE, result, result.best_trial)
    if len(result.objectives) > 1:
        (folder / FRONT_FOLDER).mkdir(exist_ok=True)
        names = {number: f"trial-{number}.json" for number in result.best}
        for number, name in names.items():
            _write_config(folder / FRONT_FOLDER / name, result, result.trials[number])
        for file in (folder / FRONT_FOLDER).glob("trial-*.json"):
            if file.name not in names.values():
                file.unlink(missing_ok=True)


def format_settings(settings: dict[str, Any]) -> str:
    """Return the settings of a trial as one line."""
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )


def format_values(values: dict[str, float]) -> str:
    """Return the values of a trial's objectives as one line."""
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _write_config(path: Path, result: SearchResult, trial: Trial) -> None:
    content = {
        "trial": trial.number,
        "objectives": trial.values,
        "searched": trial.settings,
        "settings": result.config(trial).to_dict(),
    }
    with replacing(path) as file:
        file.write(encode_json(content, indent=2) + b"\n")
