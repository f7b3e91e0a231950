"""Comparison of models: every measure with a confidence interval, and its difference to the first model.

All models are compared on the questions and pairs for which each of them has vectors, and each bootstrap sample draws
the same items for all models (a paired bootstrap). Models that differ only in the training seed are pooled: their value
is the mean over seeds, and each bootstrap sample also draws seeds, so that the interval includes both the variance
between items and the variance between seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError, PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.bootstrap import CONFIDENCE, SAMPLES, SEED, Estimate, estimate, resample
from posvec.evaluation.lines import as_paths
from posvec.evaluation.lookup import UnknownWordPolicy
from posvec.evaluation.results import Result, Table
from posvec.system.arrays import DoubleArray, IndexArray
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class ComparisonRow:
    """One measure of one model or of several pooled models.

    Attributes
    ----------
    measure
        The name of the measure.
    group
        The name of the model or of the pooled models.
    models
        The number of pooled models.
    items
        The number of questions or pairs for which all compared models have vectors.
    coverage
        The fraction of questions or pairs for which this model has vectors; for pooled models the lowest fraction.
    estimate
        The value with its interval.
    difference
        The paired difference to the first group with its interval; None for the first group.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.compare import compare
    >>> model = posvec.load("model")
    >>> first, second = compare({"one": model, "same": model.vectors}, pairs="pairs.tsv", samples=10).rows
    >>> first.coverage, first.difference, second.difference.value
    (1.0, None, 0.0)
    """

    measure: str
    group: str
    models: int
    items: int
    coverage: float
    estimate: Estimate
    difference: Estimate | None


@dataclass(frozen=True)
class Comparison(Result):
    """The measures of several models and their differences.

    Attributes
    ----------
    rows
        The measures, ordered by measure and then by group.
    groups
        The names of the models in each group.
    samples, confidence, seed
        The arguments of :func:`compare`.
    sampled
        For files with too many questions, the numbers of questions that were drawn at random and that there are.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.compare import compare
    >>> model = posvec.load("model")
    >>> result = compare({"one": model, "same": model.vectors}, pairs="pairs.tsv", samples=10)
    >>> result.groups, result.samples
    ({'one': ['one'], 'same': ['same']}, 10)
    """

    rows: tuple[ComparisonRow, ...]
    groups: dict[str, list[str]]
    samples: int
    confidence: float
    seed: int
    sampled: dict[str, tuple[int, int]] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """Return the differences, the coverage of each test set and, if there are any, the pooled models."""
        interval = f"{self.confidence:.0%} interval"
        main = Table(
            f"Differences to {next(iter(self.groups))}; intervals from {self.samples:,} bootstrap samples",
            ("measure", "model", "value", interval, "difference", interval),
            [
                (
                    "" if before and before.measure == row.measure else row.measure,
                    row.group,
                    *_formatted(row.estimate),
                    *_formatted(row.difference),
                )
                for before, row in zip((None, *self.rows), self.rows, strict=False)
            ],
        )
        notes = (
            f"; of {name}, a random sample of {size:,} of {total:,} questions"
            for name, (size, total) in self.sampled.items()
        )
        sets = Table(
            "Test sets" + "".join(notes),
            ("measure", "items", *(f"coverage of {name}" for name in self.groups)),
            [
                (rows[0].measure, rows[0].items, *(row.coverage for row in rows))
                for rows in (self.rows[i : i + len(self.groups)] for i in range(0, len(self.rows), len(self.groups)))
            ],
        )
        pooled = [(name, ", ".join(models)) for name, models in self.groups.items() if len(models) > 1]
        return [main, sets, *([Table("Pooled models", ("model", "mean over"), pooled)] if pooled else [])]

    def main_table(self) -> Table:
        """Return all numbers in one table."""
        numbers = ("value", "low", "high", "difference", "difference_low", "difference_high")
        return Table(
            "",
            ("measure", "model", "seeds", "items", "coverage", *numbers),
            [
                (
                    row.measure,
                    row.group,
                    row.models,
                    row.items,
                    row.coverage,
                    *_numbers(row.estimate),
                    *_numbers(row.difference),
                )
                for row in self.rows
            ],
        )


@dataclass(frozen=True)
class _Measure:
    name: str
    known: NDArray[np.bool_]
    """(models, items): for which items each model has vectors."""
    statistic: Callable[[IndexArray], DoubleArray]
    """Maps items to one value for each model."""


def compare(
    models: Mapping[str, Model | WordVectors],
    questions: str | Path | Iterable[str | Path] = (),
    pairs: str | Path | Iterable[str | Path] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    restrict_vocab: int | None = 200_000,
    oov: UnknownWordPolicy | None = None,
    skip_invalid: bool = False,
    samples: int = SAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Comparison:
    """Compare models by the accuracy on analogies and the rank correlation with similarity scores.

    Parameters
    ----------
    models
        Two or more models by name. Differences are to the first one.
    questions
        Files of analogy questions; each file is a measure, and so are its semantic and syntactic questions.
    pairs
        Files of pairs with similarity scores; each file is a measure.
    groups
        Names of models to pool, by the name of the group. By default, models are pooled whose settings differ only in
        the seed, see :func:`seed_groups`.
    restrict_vocab
        Analogy questions and answers are limited to this many most frequent words; None means all words.
    oov
        "skip" or "subwords" for both measures; by default, each measure has its own default.
    skip_invalid
        Skip malformed lines instead of raising an error.
    samples, confidence, seed
        The number of bootstrap samples, the confidence of intervals, and the seed of the bootstrap.

    Returns
    -------
    Comparison
        The values, differences and intervals.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.compare import compare
    >>> model = posvec.load("model")
    >>> result = compare({"one": model, "same": model.vectors}, pairs="pairs.tsv", samples=10)
    >>> [(row.measure, row.group, row.items) for row in result.rows]
    [('pairs', 'one', 4), ('pairs', 'same', 4)]
    >>> result.rows[1].difference
    Estimate(value=0.0, low=0.0, high=0.0)
    """
    if len(models) < 2:
        raise ConfigError("a comparison needs at least two models; name another one")
    question_paths, pair_paths = as_paths(questions), as_paths(pairs)
    if not question_paths and not pair_paths:
        raise ConfigError("nothing to compare the models by; give --questions or --pairs (questions=, pairs=)")
    pooled = _complete(groups, models) if groups else seed_groups(models)
    settings: dict[str, Any] = {"skip_invalid": skip_invalid} | ({"oov": oov} if oov else {})
    measures: list[_Measure] = []
    sampled: dict[str, tuple[int, int]] = {}
    for path in question_paths:
        answered = [
            analogy.evaluate(model, path, restrict_vocab=restrict_vocab, **settings) for model in models.values()
        ]
        measures += _analogy_measures(path.stem, answered)
        if left_out := answered[0].left_out:
            size = answered[0].total + answered[0].skipped
            sampled[path.stem] = size, size + left_out
    if pair_paths:
        correlated = [similarity.evaluate(model, pair_paths, **settings) for model in models.values()]
        measures += [
            _similarity_measure(list(files)) for files in zip(*(result.files for result in correlated), strict=True)
        ]
    members = [[list(models).index(name) for name in names] for names in pooled.values()]
    rows = [row for measure in measures for row in _rows(measure, list(pooled), members, samples, confidence, seed)]
    names = {name: list(names) for name, names in pooled.items()}
    return Comparison(tuple(rows), names, samples, confidence, seed, sampled)


def seed_groups(models: Mapping[str, Model | WordVectors]) -> dict[str, list[str]]:
    """Group models that were trained on the same text with settings that differ only in the seed.

    The number of threads and the minutes between checkpoints may also differ. Word vectors without a model have no
    settings, so they are never grouped.

    Parameters
    ----------
    models
        Models by name.

    Returns
    -------
    dict[str, list[str]]
        The names of the models in each group. A group has the name of its first model.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.compare import seed_groups
    >>> models = {f"seed {n}": posvec.train("corpus.txt", dim=32, epochs=1, seed=n) for n in (1, 2)}
    >>> seed_groups(models)
    {'seed 1': ['seed 1', 'seed 2']}
    """
    groups: dict[str, list[str]] = {}
    found: dict[Any, str] = {}
    for name, model in models.items():
        key = _settings_without_seed(model)
        first = found.get(key) if key else None
        # A model with the same seed is not an independent run: it is a copy, or was trained further.
        if first and _seed(model) not in {_seed(models[other]) for other in groups[first]}:
            groups[first].append(name)
        else:
            groups[name] = [name]
            found.setdefault(key, name)
    return groups


def _settings_without_seed(model: Model | WordVectors) -> Any:
    if isinstance(model, WordVectors):
        return None
    settings = model.config.replace(seed=1, threads=0, checkpoint_minutes=0)
    return settings, model.vocabulary.digest, model.vocabulary.counts.tobytes()


def _seed(model: Model | WordVectors) -> int | None:
    return None if isinstance(model, WordVectors) else model.config.training.seed


def _complete(groups: Mapping[str, Sequence[str]], models: Mapping[str, object]) -> dict[str, list[str]]:
    """Add a group of its own for each model that is in no group; groups are in the order of their first models."""
    group_of: dict[str, str] = {}
    for group, names in groups.items():
        if not names:
            raise ConfigError(f"the group {group} has no models; name some, or leave it out")
        for name in names:
            if name not in models:
                raise ConfigError(
                    f"the group {group} contains {name}, which is not among the models: {', '.join(models)}"
                )
            if name in group_of:
                raise ConfigError(f"{name} is in the group {group_of[name]} and again in {group}; keep one")
            group_of[name] = group
    complete: dict[str, list[str]] = {}
    for name in models:
        complete.setdefault(group_of.get(name, name), []).append(name)
    return complete


def _analogy_measures(name: str, results: list[analogy.AnalogyResult]) -> list[_Measure]:
    outcomes = np.array([result.outcomes for result in results])
    kinds = results[0].kinds
    scopes = [(name, np.ones(len(kinds), bool))]
    scopes += [(f"{name}, {group.name}", kinds == group.kind) for group in results[0].groups]
    return [_accuracy_measure(scope, outcomes[:, chosen]) for scope, chosen in scopes]


def _accuracy_measure(name: str, outcomes: NDArray[np.int8]) -> _Measure:
    right = outcomes == analogy.RIGHT

    def accuracies(items: IndexArray) -> DoubleArray:
        means: DoubleArray = right[:, items].mean(1)
        return means

    return _Measure(name, outcomes != analogy.SKIPPED, accuracies)


def _similarity_measure(files: list[similarity.PairFile]) -> _Measure:
    scores = files[0].scores
    cosines = np.array([file.cosines for file in files])

    def correlations(items: IndexArray) -> DoubleArray:
        return np.array([similarity.spearman(scores[items], each[items]) for each in cosines])

    return _Measure(files[0].name, ~np.isnan(cosines), correlations)


def _rows(
    measure: _Measure, names: list[str], groups: list[list[int]], samples: int, confidence: float, seed: int
) -> list[ComparisonRow]:
    common = np.flatnonzero(measure.known.all(0))
    if len(common) < 2:
        raise PosvecError(
            f"fewer than two questions or pairs of {measure.name} have vectors in all models; compare fewer models"
        )
    coverage = measure.known.mean(1)
    values = measure.statistic(common)
    replicates = resample(lambda items: measure.statistic(common[items]), len(common), samples, seed)
    random = np.random.default_rng(seed)
    means = [float(values[members].mean()) for members in groups]
    drawn = [_draw_seeds(replicates[:, members], random) for members in groups]
    return [
        ComparisonRow(
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


def _draw_seeds(replicates: DoubleArray, random: np.random.Generator) -> DoubleArray:
    """For each bootstrap sample, (samples, models), the mean over models drawn with replacement, (samples,)."""
    samples, models = replicates.shape
    chosen = random.integers(models, size=(samples, models))
    means: DoubleArray = np.take_along_axis(replicates, chosen, 1).mean(1)
    return means


def _numbers(found: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (found.value, found.low, found.high) if found else (None, None, None)


def _formatted(found: Estimate | None) -> tuple[str, str]:
    return (f"{found.value:.3f}", f"{found.low:.3f} … {found.high:.3f}") if found else ("", "")
