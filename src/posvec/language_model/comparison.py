"""Several language models side by side: test perplexities, and validation perplexities by epoch."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.errors import ConfigError
from posvec.evaluation.results import Result, Table
from posvec.language_model.report import LanguageModelReport
from posvec.language_model.storage import load_report


@dataclass(frozen=True)
class Curves(Result):
    """Mean validation perplexity by epoch, of each name."""

    names: tuple[str, ...]
    perplexities: tuple[tuple[float | None, ...], ...]
    """By epoch, then name."""

    def tables(self) -> list[Table]:
        rows = [(number, *row) for number, row in enumerate(self.perplexities, 1)]
        return [Table("validation perplexity", ("epoch", *self.names), rows, ".2f")]


@dataclass(frozen=True)
class Comparison(Result):
    """Runs of the same texts; those of one name, which differ in their seeds, are summed up by mean and deviation."""

    runs: tuple[LanguageModelReport, ...]

    def groups(self) -> dict[str, list[LanguageModelReport]]:
        """Runs by name, the lowest test perplexity first; names whose training is not over come last."""
        groups: dict[str, list[LanguageModelReport]] = {}
        for run in self.runs:
            groups.setdefault(run.name, []).append(run)
        return dict(sorted(groups.items(), key=lambda item: (_mean(_tested(item[1])) or float("inf"), item[0])))

    def validation(self) -> dict[str, list[list[float]]]:
        """Validation perplexities of each name, by epoch and then by run."""
        return {name: _by_epoch(runs) for name, runs in self.groups().items()}

    def curves(self) -> Curves:
        columns = [map(statistics.fmean, by_epoch) for by_epoch in self.validation().values()]
        return Curves(tuple(self.groups()), tuple(itertools.zip_longest(*columns)))

    def tables(self) -> list[Table]:
        rows = [
            (
                name,
                len(runs),
                _mean([run.validation_perplexity for run in runs if run.validation_perplexity is not None]),
                _mean(_tested(runs)),
                statistics.stdev(_tested(runs)) if len(_tested(runs)) > 1 else None,
            )
            for name, runs in self.groups().items()
        ]
        columns = ("vectors", "runs", "validation perplexity", "test perplexity", "deviation")
        return [Table("", columns, rows, ".2f"), *self.curves().tables()]


def compare(paths: Sequence[str | Path]) -> Comparison:
    """The saved runs at ``paths``, which must be of the same texts, and those of one name alike but for their seeds."""
    runs = tuple(load_report(path) for path in paths)
    if not runs:
        raise ConfigError("there is nothing to compare; name at least one language model")
    for path, run in zip(paths, runs, strict=True):
        if not run.epochs:
            raise ConfigError(f"{path} has not ended an epoch yet; go on with posvec lm resume {path}")
        if run.digest != runs[0].digest:
            raise ConfigError(f"{path} and {paths[0]} are of different texts, so their perplexities cannot be compared")
    for number, (path, run) in enumerate(zip(paths, runs, strict=True)):
        for earlier, other in zip(paths[:number], runs[:number], strict=True):
            _check_seeds(path, run, earlier, other)
    return Comparison(runs)


def _check_seeds(path: str | Path, run: LanguageModelReport, earlier: str | Path, other: LanguageModelReport) -> None:
    """Raises if runs of one name are not seeds of one another, and their mean would mean nothing."""
    if run.name != other.name:
        return
    if Path(path).resolve() == Path(earlier).resolve():
        raise ConfigError(f"{path} is named twice; name each language model once")
    settings, others = run.config.to_dict(), other.config.to_dict()
    differing = [name for name in settings if name != "seed" and settings[name] != others[name]]
    differing += ["transformer"] if run.transformer != other.transformer else []
    if differing:
        raise ConfigError(
            f"{path} and {earlier} are both named {run.name}, but differ in {', '.join(differing)}; train one of them "
            f"under another name (--name)"
        )


def _by_epoch(runs: Sequence[LanguageModelReport]) -> list[list[float]]:
    """Of those runs that got so far."""
    longest = max(len(run.epochs) for run in runs)
    return [[run.epochs[n].validation_perplexity for run in runs if n < len(run.epochs)] for n in range(longest)]


def _tested(runs: Sequence[LanguageModelReport]) -> list[float]:
    return [run.test_perplexity for run in runs if run.test_perplexity is not None]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
