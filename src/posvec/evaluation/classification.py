"""Text classification: word vectors judged by a task of the user's own, on files of lines ``label<TAB>text``.

``linear``: logistic regression on the mean of the unit vectors of a text. ``scm`` and ``wmd``: the label of most of the
k nearest training texts by Soft Cosine Measure or Word Mover's Distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError, CorpusError, PosvecError
from posvec.evaluation.bootstrap import SEED, Estimate, estimate, resample
from posvec.evaluation.documents import (
    EXTRA,
    Documents,
    make_documents,
    soft_cosine_neighbors,
    term_similarity,
    word_mover_neighbors,
)
from posvec.evaluation.lines import parse_lines, told
from posvec.evaluation.lookup import Rows
from posvec.evaluation.results import Result, Table
from posvec.system.console import plural
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

Method = Literal["linear", "scm", "wmd"]
Labels = NDArray[np.str_]


@dataclass(frozen=True)
class LabelScore:
    """How well the texts of one label were found; precision is None if no text was given this label."""

    label: str
    precision: float | None
    recall: float
    f1: float
    texts: int


@dataclass(frozen=True)
class MethodScore:
    """One classifier: the share of test texts that it labels right, with its interval over texts."""

    method: str
    accuracy: Estimate
    macro_f1: float
    labels: tuple[LabelScore, ...]
    predictions: Labels = field(repr=False, compare=False)


@dataclass(frozen=True)
class ClassificationResult(Result):
    """One :class:`MethodScore` for each method, and what they are to be measured by."""

    methods: tuple[MethodScore, ...]
    chance: float
    """The accuracy of giving every text the most frequent label of the training texts."""
    texts: int
    """Test texts; under cross-validation all."""
    unknown_texts: int
    """Texts without a word that has a vector."""
    coverage: float
    """The share of words that have a vector."""
    validation: str
    neighbors: int
    invalid_lines: int

    def tables(self) -> list[Table]:
        unknown = f", {self.unknown_texts:,} of them without known words" if self.unknown_texts else ""
        details = f"{self.validation}; {self.coverage:.1%} of words known{told(self.invalid_lines)}"
        return [
            Table(
                f"Classification of {plural(self.texts, 'text')}{unknown} ({details})",
                ("method", "accuracy", "low", "high", "macro F1"),
                [
                    *((each.method, each.accuracy.value, each.accuracy.low, each.accuracy.high, each.macro_f1)
                      for each in self.methods),
                    ("chance", self.chance, None, None, None),
                ],
                ".1%",
            ),
            *(
                Table(
                    method.method,
                    ("label", "precision", "recall", "F1", "texts"),
                    [(each.label, each.precision, each.recall, each.f1, each.texts) for each in method.labels],
                    ".1%",
                )
                for method in self.methods
            ),
        ]  # fmt: skip


def evaluate(
    model: Model | WordVectors,
    train: str | Path,
    test: str | Path | None = None,
    methods: Method | Iterable[Method] = "linear",
    folds: int = 5,
    neighbors: int = 9,
    skip_invalid: bool = False,
    seed: int = SEED,
) -> ClassificationResult:
    """Train classifiers on one file and test them on another, or cross-validate on the one in so many folds."""
    chosen = [methods] if isinstance(methods, str) else list(methods)
    for method in chosen:
        if method not in METHODS:
            raise ConfigError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    if not chosen or neighbors < 1:
        raise ConfigError("classification needs at least one method and one neighbor; give more")
    labelled, invalid = _read(train, skip_invalid)
    trained = len(labelled)
    if test is not None:
        tested, invalid_too = _read(test, skip_invalid)
        labelled, invalid = labelled + tested, invalid + invalid_too
    labels = np.array([label for label, _ in labelled])
    if len(set(labels[:trained].tolist())) < 2:
        raise CorpusError(f"all texts of {train} have the label {labels[0]}; classification needs two labels or more")
    task = _Task(make_documents(model, [text for _, text in labelled]), labels, neighbors)
    if not task.documents.known.any():
        raise PosvecError(f"no word of {train} has a vector in this model; give texts in the language of the model")
    everything = np.arange(len(labels))
    splits = [(everything[:trained], everything[trained:])] if test is not None else _folds(labels, folds, seed, train)
    places = np.concatenate([tested for _, tested in splits])
    gold = labels[places]
    constant = np.concatenate([_most_frequent(labels[fitted], len(tested)) for fitted, tested in splits])
    scores = []
    for method in chosen:
        predictions = np.concatenate([METHODS[method](task, *split) for split in splits])
        scores.append(_score(method, gold, predictions, seed))
    return ClassificationResult(
        tuple(scores),
        float((constant == gold).mean()),
        len(gold),
        int((~task.documents.known[places]).sum()),
        task.documents.coverage,
        "train and test file" if test is not None else f"{folds}-fold cross-validation",
        neighbors,
        invalid,
    )


@dataclass(frozen=True)
class _Task:
    documents: Documents
    labels: Labels
    neighbors: int

    @cached_property
    def term_similarity(self) -> object:
        return term_similarity(self.documents.vectors)

    def linear(self, train: Rows, test: Rows) -> Labels:
        classifier = require_extra("sklearn.pipeline", EXTRA).make_pipeline(
            require_extra("sklearn.preprocessing", EXTRA).StandardScaler(),
            require_extra("sklearn.linear_model", EXTRA).LogisticRegression(max_iter=1000),
        )
        means = self.documents.means()
        predictions: Labels = classifier.fit(means[train], self.labels[train]).predict(means[test])
        return predictions

    def soft_cosine(self, train: Rows, test: Rows) -> Labels:
        return self._vote(
            train, soft_cosine_neighbors(self.documents, self.term_similarity, train, test, self.neighbors)
        )

    def word_mover(self, train: Rows, test: Rows) -> Labels:
        return self._vote(train, word_mover_neighbors(self.documents, train, test, self.neighbors))

    def _vote(self, train: Rows, nearest: list[Rows]) -> Labels:
        """The most frequent label among neighbours; of equally frequent ones that of the nearest."""
        labels = self.labels[train]
        fallback = _most_frequent(labels, 1)[0]
        # Counter keeps the order in which labels came first, and so does max.
        votes = [Counter(labels[near].tolist()) for near in nearest]
        return np.array([max(vote, key=vote.__getitem__) if vote else fallback for vote in votes])


METHODS: dict[str, Callable[[_Task, Rows, Rows], Labels]] = {
    "linear": _Task.linear,
    "scm": _Task.soft_cosine,
    "wmd": _Task.word_mover,
}


def _read(path: str | Path, skip_invalid: bool) -> tuple[list[tuple[str, str]], int]:
    def parse(line: str) -> tuple[str, str]:
        label, tab, text = line.partition("\t")
        if not tab or not label.strip() or not text.strip():
            raise ValueError("it should be a label, a tab and a text")
        return label.strip(), text

    labelled, invalid = parse_lines(path, parse, skip_invalid)
    if not labelled:
        raise CorpusError(f"there is no text in {path}; give lines of a label, a tab and a text")
    return labelled, invalid


def _folds(labels: Labels, folds: int, seed: int, path: str | Path) -> list[tuple[Rows, Rows]]:
    rarest, texts = min(Counter(labels.tolist()).items(), key=lambda item: item[1])
    if not 2 <= folds <= texts:
        raise ConfigError(
            f"folds is {folds}, but must be at least 2 and at most {texts}: {path} has no more texts with the label "
            f"{rarest}; change folds, or give another file with --test (test=)"
            if texts > 1
            else f"{path} has one text with the label {rarest}, too few for cross-validation; add some"
        )
    split = require_extra("sklearn.model_selection", EXTRA).StratifiedKFold(folds, shuffle=True, random_state=seed)
    return list(split.split(labels, labels))


def _most_frequent(labels: Labels, texts: int) -> Labels:
    values, counts = np.unique(labels, return_counts=True)
    return np.repeat(values[counts.argmax()], texts)


def _score(method: str, gold: Labels, predictions: Labels, seed: int) -> MethodScore:
    right = predictions == gold
    replicates = resample(lambda items: right[items].mean(), len(right), seed=seed)
    labels = tuple(_label_score(label, gold == label, predictions == label) for label in np.unique(gold).tolist())
    macro = float(np.mean([each.f1 for each in labels]))
    return MethodScore(method, estimate(right.mean(), replicates), macro, labels, predictions)


def _label_score(label: str, gold: NDArray[np.bool_], given: NDArray[np.bool_]) -> LabelScore:
    both, of_gold, of_given = int((gold & given).sum()), int(gold.sum()), int(given.sum())
    precision = both / of_given if of_given else None
    return LabelScore(label, precision, both / of_gold, 2 * both / (of_gold + of_given), of_gold)
