"""Comparison of language models: test perplexities, and validation perplexities by epoch."""

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
class PerplexityCurves(Result):
    """The mean validation perplexity of the runs of each name, by epoch.

    Attributes
    ----------
    names
        The names of the runs.
    perplexities
        For each epoch, the mean perplexity of each name; None after the last epoch of its runs.
    """

    names: tuple[str, ...]
    perplexities: tuple[tuple[float | None, ...], ...]

    def tables(self) -> list[Table]:
        """Return one table with a row for each epoch."""
        rows = [(number, *row) for number, row in enumerate(self.perplexities, 1)]
        return [Table("validation perplexity", ("epoch", *self.names), rows, ".2f")]


@dataclass(frozen=True)
class PerplexityComparison(Result):
    """Training runs on the same texts; runs of one name differ only in their seeds and are averaged.

    Attributes
    ----------
    runs
        The reports of all runs.

    Examples
    --------
    >>> from posvec.language_model import LanguageModelConfig, LanguageModelReport, PerplexityComparison
    >>> from posvec.language_model.lookup import Coverage
    >>> from posvec.language_model.report import Epoch
    >>> report = LanguageModelReport(
    ...     "animals", "model", "texts", "en", None, 12, (900, 50, 50), "", Coverage(12, 0, 0), LanguageModelConfig(),
    ...     (Epoch(loss=1.5, validation_loss=2.0, lr=20.0, seconds=1.0),), test_loss=0.0,
    ... )
    >>> result = PerplexityComparison((report, report.replace(name="other")))
    >>> list(result.groups())
    ['animals', 'other']
    """

    runs: tuple[LanguageModelReport, ...]

    def groups(self) -> dict[str, list[LanguageModelReport]]:
        """Return the runs by name, the lowest mean test perplexity first and unfinished runs last."""
        groups: dict[str, list[LanguageModelReport]] = {}
        for run in self.runs:
            groups.setdefault(run.name, []).append(run)
        return dict(sorted(groups.items(), key=lambda item: (_mean(_tested(item[1])) or float("inf"), item[0])))

    def validation(self) -> dict[str, list[list[float]]]:
        """Return the validation perplexities of each name: for each epoch, those of all runs that reached it."""
        return {name: _by_epoch(runs) for name, runs in self.groups().items()}

    def curves(self) -> PerplexityCurves:
        """Return the mean validation perplexities by epoch."""
        columns = [map(statistics.fmean, by_epoch) for by_epoch in self.validation().values()]
        return PerplexityCurves(tuple(self.groups()), tuple(itertools.zip_longest(*columns)))

    def tables(self) -> list[Table]:
        """Return the mean perplexities of each name and their standard deviation, then the curves."""
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


Comparison = PerplexityComparison  # Compat: the earlier name


def compare(paths: Sequence[str | Path]) -> PerplexityComparison:
    """Compare saved language models by their perplexities.

    Parameters
    ----------
    paths
        The folders of language models that were trained on the same texts. Runs of one name may differ only in their
        seeds.

    Returns
    -------
    PerplexityComparison
        The perplexities, averaged over the runs of each name.

    Raises
    ------
    ConfigError
        If the runs cannot be compared.

    Examples
    --------
    >>> from posvec import language_model
    >>> result = language_model.compare(["run", "other-run"])  # doctest: +SKIP
    >>> result.write("perplexities.csv")  # doctest: +SKIP
    """
    runs = tuple(load_report(path) for path in paths)
    if not runs:
        raise ConfigError("there is nothing to compare; name at least one language model")
    for path, run in zip(paths, runs, strict=True):
        if not run.epochs:
            raise ConfigError(f"{path} has no complete epoch yet; continue its training with posvec lm resume {path}")
        if run.digest != runs[0].digest:
            raise ConfigError(
                f"{path} and {paths[0]} were trained on different texts, so their perplexities cannot be compared; "
                "compare runs on the same texts"
            )
    for number, (path, run) in enumerate(zip(paths, runs, strict=True)):
        for earlier, other in zip(paths[:number], runs[:number], strict=True):
            _check_seeds(path, run, earlier, other)
    return PerplexityComparison(runs)


def _check_seeds(path: str | Path, run: LanguageModelReport, earlier: str | Path, other: LanguageModelReport) -> None:
    """Raise if two runs of one name differ in more than their seeds, because their mean would be meaningless."""
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
    longest = max(len(run.epochs) for run in runs)
    return [[run.epochs[n].validation_perplexity for run in runs if n < len(run.epochs)] for n in range(longest)]


def _tested(runs: Sequence[LanguageModelReport]) -> list[float]:
    return [run.test_perplexity for run in runs if run.test_perplexity is not None]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
