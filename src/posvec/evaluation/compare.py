"""Several models side by side: every measure with its interval, and the difference to the first.

All models are compared on the questions and pairs that each of them has vectors for, and a bootstrap sample draws the
same ones for all (paired). Models that differ in the seed of their training alone are pooled: the value is the mean
over seeds, and each bootstrap sample draws seeds too, so that the interval has both sources of chance in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError, PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.bootstrap import CONFIDENCE, SAMPLES, SEED, Estimate, Items, Values, estimate, resample
from posvec.evaluation.lines import as_paths
from posvec.evaluation.lookup import Unknown
from posvec.evaluation.results import Result, Table
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class Row:
    """One measure of one model, or of several that are pooled."""

    measure: str
    group: str
    models: int
    items: int
    """Questions or pairs that all models have vectors for."""
    coverage: float
    """The share of questions or pairs that this model has vectors for; of pooled models the lowest."""
    estimate: Estimate
    difference: Estimate | None
    """To the first group, paired; None for that one itself."""


@dataclass(frozen=True)
class Comparison(Result):
    """Rows by measure, then by group."""

    rows: tuple[Row, ...]
    groups: dict[str, list[str]]
    samples: int
    confidence: float
    seed: int

    def tables(self) -> list[Table]:
        interval = f"{self.confidence:.0%} interval"
        main = Table(
            f"Differences to {next(iter(self.groups))}; intervals from {self.samples:,} bootstrap samples",
            ("measure", "model", "value", interval, "difference", interval),
            [
                ("" if before and before.measure == row.measure else row.measure, row.group, *_shown(row.estimate),
                 *_shown(row.difference))
                for before, row in zip((None, *self.rows), self.rows, strict=False)
            ],
        )  # fmt: skip
        sets = Table(
            "Compared on",
            ("measure", "items", *(f"covered by {name}" for name in self.groups)),
            [
                (rows[0].measure, rows[0].items, *(row.coverage for row in rows))
                for rows in (self.rows[i : i + len(self.groups)] for i in range(0, len(self.rows), len(self.groups)))
            ],
        )
        pooled = [(name, ", ".join(models)) for name, models in self.groups.items() if len(models) > 1]
        return [main, sets, *([Table("Pooled", ("model", "mean over"), pooled)] if pooled else [])]

    def main_table(self) -> Table:
        numbers = ("value", "low", "high", "difference", "difference_low", "difference_high")
        return Table(
            "",
            ("measure", "model", "seeds", "items", "coverage", *numbers),
            [
                (row.measure, row.group, row.models, row.items, row.coverage, *_numbers(row.estimate),
                 *_numbers(row.difference))
                for row in self.rows
            ],
        )  # fmt: skip


@dataclass(frozen=True)
class _Measure:
    name: str
    known: NDArray[np.bool_]
    """(models, items) which items each model has vectors for."""
    statistic: Callable[[Items], Values]
    """Items → one value for each model."""


def compare(
    models: Mapping[str, Model | WordVectors],
    questions: str | Path | Iterable[str | Path] = (),
    pairs: str | Path | Iterable[str | Path] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    restrict_vocab: int | None = 200_000,
    oov: Unknown | None = None,
    skip_invalid: bool = False,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Comparison:
    """Compare named models by analogies (accuracy) and similarity (Spearman's rho).

    ``groups`` pools models by name; without it, those whose settings differ in the seed alone are pooled. ``oov``
    applies to both measures; without it each has its own default.
    """
    if len(models) < 2:
        raise ConfigError("a comparison needs at least two models; name another one")
    question_paths, pair_paths = as_paths(questions), as_paths(pairs)
    if not question_paths and not pair_paths:
        raise ConfigError("nothing to compare the models by; give --questions or --pairs (questions=, pairs=)")
    pooled = _complete(groups, models) if groups else seed_groups(models)
    known_oov: dict[str, Any] = {"skip_invalid": skip_invalid} | ({"oov": oov} if oov else {})
    measures: list[_Measure] = []
    for path in question_paths:
        answered = [
            analogy.evaluate(model, path, restrict_vocab=restrict_vocab, **known_oov) for model in models.values()
        ]
        measures += _analogy_measures(path.stem, answered)
    if pair_paths:
        judged = [similarity.evaluate(model, pair_paths, **known_oov) for model in models.values()]
        measures += [
            _similarity_measure(list(files)) for files in zip(*(result.files for result in judged), strict=True)
        ]
    members = [[list(models).index(name) for name in names] for names in pooled.values()]
    rows = [row for measure in measures for row in _rows(measure, list(pooled), members, samples, confidence, seed)]
    return Comparison(tuple(rows), {name: list(names) for name, names in pooled.items()}, samples, confidence, seed)


def seed_groups(models: Mapping[str, Model | WordVectors]) -> dict[str, list[str]]:
    """The names of models, those together that were trained on the same text under settings that differ in seed alone.

    The number of threads and the minutes between checkpoints do not count. Groups are named after their first model.
    """
    groups: dict[str, list[str]] = {}
    found: dict[Any, str] = {}
    for name, model in models.items():
        key = _all_but_seed(model)
        first = found.get(key) if key else None
        # The same seed again is no other draw: a copy, or a model that was trained further.
        if first and _seed(model) not in {_seed(models[other]) for other in groups[first]}:
            groups[first].append(name)
        else:
            groups[name] = [name]
            found.setdefault(key, name)
    return groups


def _all_but_seed(model: Model | WordVectors) -> Any:
    if isinstance(model, WordVectors):
        return None
    settings = model.config.replace(seed=1, threads=0, checkpoint_minutes=0)
    return settings, model.vocabulary.digest, model.vocabulary.counts.tobytes()


def _seed(model: Model | WordVectors) -> int | None:
    return None if isinstance(model, WordVectors) else model.config.training.seed


def _complete(groups: Mapping[str, Sequence[str]], models: Mapping[str, object]) -> dict[str, list[str]]:
    """The groups, then every model that is in none by itself; in the order of their first models."""
    placed: dict[str, str] = {}
    for group, names in groups.items():
        if not names:
            raise ConfigError(f"the group {group} has no models; name some, or leave it out")
        for name in names:
            if name not in models:
                raise ConfigError(f"the group {group} has {name}, which is none of the models: {', '.join(models)}")
            if name in placed:
                raise ConfigError(f"{name} is in the group {placed[name]} and again in {group}; keep one")
            placed[name] = group
    complete: dict[str, list[str]] = {}
    for name in models:
        complete.setdefault(placed.get(name, name), []).append(name)
    return complete


def _analogy_measures(name: str, results: list[analogy.AnalogyResult]) -> list[_Measure]:
    outcomes = np.array([result.outcomes for result in results])
    kinds = results[0].kinds
    scopes = [(name, np.ones(len(kinds), bool))]
    scopes += [(f"{name}, {group.name}", kinds == group.kind) for group in results[0].groups]
    return [_accuracy_measure(scope, outcomes[:, chosen]) for scope, chosen in scopes]


def _accuracy_measure(name: str, outcomes: NDArray[np.int8]) -> _Measure:
    right = outcomes == analogy.RIGHT

    def accuracies(items: Items) -> Values:
        means: Values = right[:, items].mean(1)
        return means

    return _Measure(name, outcomes != analogy.SKIPPED, accuracies)


def _similarity_measure(files: list[similarity.PairFile]) -> _Measure:
    scores = files[0].scores
    cosines = np.array([file.cosines for file in files])

    def correlations(items: Items) -> Values:
        return np.array([similarity.spearman(scores[items], each[items]) for each in cosines])

    return _Measure(files[0].name, ~np.isnan(cosines), correlations)


def _rows(
    measure: _Measure, names: list[str], groups: list[list[int]], samples: int, confidence: float, seed: int
) -> list[Row]:
    common = np.flatnonzero(measure.known.all(0))
    if len(common) < 2:
        raise PosvecError(
            f"there is no question or pair of {measure.name} that all models have vectors for; compare fewer models"
        )
    coverage = measure.known.mean(1)
    values = measure.statistic(common)
    replicates = resample(lambda items: measure.statistic(common[items]), len(common), samples, seed)
    random = np.random.default_rng(seed)
    means = [float(values[members].mean()) for members in groups]
    drawn = [_draw_seeds(replicates[:, members], random) for members in groups]
    return [
        Row(
            measure.name,
            name,
            len(members),
            len(common),
            float(coverage[members].min()),
            estimate(means[i], drawn[i], confidence),
            estimate(means[i] - means[0], drawn[i] - drawn[0], confidence) if i else None,
        )
        for i, (name, members) in enumerate(zip(names, groups, strict=True))
    ]


def _draw_seeds(replicates: Values, random: np.random.Generator) -> Values:
    """(samples, models) → (samples,): the mean of models drawn anew for each sample."""
    samples, models = replicates.shape
    chosen = random.integers(models, size=(samples, models))
    means: Values = np.take_along_axis(replicates, chosen, 1).mean(1)
    return means


def _numbers(found: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (found.value, found.low, found.high) if found else (None, None, None)


def _shown(found: Estimate | None) -> tuple[str, str]:
    return (f"{found.value:.3f}", f"{found.low:.3f} … {found.high:.3f}") if found else ("", "")
