"""Several language models side by side: test perplexities, and validation perplexities by epoch as table and figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.atomic import replacing
from posvec.errors import ConfigError
from posvec.evaluation.language_model.report import LanguageModelReport
from posvec.evaluation.language_model.storage import load_report
from posvec.evaluation.results import Result, Table
from posvec.extras import need


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

    def curves(self) -> Curves:
        groups = self.groups()
        longest = max(len(run.epochs) for run in self.runs)
        rows = tuple(tuple(_mean(_at_epoch(runs, number)) for runs in groups.values()) for number in range(longest))
        return Curves(tuple(groups), rows)

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

    def figure(self, path: str | Path, overwrite: bool = False) -> None:
        """Draw the paper's figure: validation perplexity by epoch, a line per name, a band from best to worst."""
        pyplot = need("matplotlib.pyplot", "plots")
        path = Path(path)
        if path.suffix.lower() not in _FIGURES:
            raise ConfigError(f"{path} should end in {', '.join(_FIGURES)}, so that it is clear what to draw")
        if path.exists() and not overwrite:
            raise ConfigError(f"{path} exists already; choose another name or add --overwrite (overwrite=True)")
        # No date and no random names in it: the same runs give the same bytes.
        with pyplot.rc_context({"svg.hashsalt": "posvec"}):
            figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
            try:
                self._draw(axes)
                metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
                with replacing(path) as file:
                    figure.savefig(file, format=path.suffix[1:].lower(), dpi=150, metadata=metadata)
            finally:
                pyplot.close(figure)

    def _draw(self, axes: Any) -> None:
        for name, runs in self.groups().items():
            longest = max(len(run.epochs) for run in runs)
            by_epoch = [_at_epoch(runs, number) for number in range(longest)]
            epochs = range(1, longest + 1)
            (line,) = axes.plot(epochs, [statistics.fmean(each) for each in by_epoch], label=name)
            if len(runs) > 1:
                band = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
                axes.fill_between(epochs, [min(each) for each in by_epoch], [max(each) for each in by_epoch], **band)
        axes.set_xlabel("epoch")
        axes.set_ylabel("validation perplexity")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend()


def compare(paths: Sequence[str | Path]) -> Comparison:
    """The saved runs at ``paths``, which must be of the same texts."""
    runs = tuple(load_report(path) for path in paths)
    if not runs:
        raise ConfigError("there is nothing to compare; name at least one language model")
    for path, run in zip(paths, runs, strict=True):
        if not run.epochs:
            raise ConfigError(f"{path} has not ended an epoch yet; go on with posvec lm resume {path}")
        if run.digest != runs[0].digest:
            raise ConfigError(f"{path} and {paths[0]} are of different texts, so their perplexities cannot be compared")
    return Comparison(runs)


_FIGURES = (".svg", ".pdf", ".png")


def _tested(runs: Sequence[LanguageModelReport]) -> list[float]:
    return [run.test_perplexity for run in runs if run.test_perplexity is not None]


def _at_epoch(runs: Sequence[LanguageModelReport], number: int) -> list[float]:
    return [run.epochs[number].validation_perplexity for run in runs if number < len(run.epochs)]


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
