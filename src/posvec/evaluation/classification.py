"""Text classification by word vectors, on files of lines ``label<TAB>text``.

The methods are ``linear``, logistic regression on the mean of the unit vectors of a text, and ``scm`` and ``wmd``, the
majority label of the k nearest training texts by Soft Cosine Measure or Word Mover's Distance.
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
from posvec.evaluation.lines import parse_lines, skipped_note
from posvec.evaluation.results import Result, Table
from posvec.system.arrays import IndexArray
from posvec.system.console import plural
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

ClassificationMethod = Literal["linear", "scm", "wmd"]
Labels = NDArray[np.str_]


@dataclass(frozen=True)
class LabelScore:
    """The scores of a classifier for one label.

    Attributes
    ----------
    label
        The label.
    precision
        The fraction of texts predicted to have this label that have it; None if it was never predicted.
    recall
        The fraction of texts with this label for which it was predicted.
    f1
        The harmonic mean of precision and recall.
    texts
        The number of test texts with this label.

    Examples
    --------
    >>> from posvec.evaluation.classification import LabelScore
    >>> LabelScore("animal", precision=1.0, recall=0.5, f1=2 / 3, texts=4).recall
    0.5
    """

    label: str
    precision: float | None
    recall: float
    f1: float
    texts: int


@dataclass(frozen=True)
class MethodScore:
    """The scores of one classifier.

    Attributes
    ----------
    method
        "linear", "scm" or "wmd".
    accuracy
        The fraction of test texts that are classified correctly, with its bootstrap interval over texts.
    macro_f1
        The mean of F1 over labels.
    labels
        The scores for each label.
    predictions
        The predicted label of each test text; not written to files.

    Examples
    --------
    >>> from pathlib import Path
    >>> import posvec
    >>> from posvec.evaluation import classification
    >>> _ = Path("labelled.tsv").write_text("animal\\tthe cat sees the dog\\nplace\\tnear the river\\n" * 6)
    >>> (linear,) = classification.evaluate(posvec.load("model"), "labelled.tsv", folds=2).methods
    >>> linear.method, [score.label for score in linear.labels], len(linear.predictions)
    ('linear', ['animal', 'place'], 12)
    """

    method: str
    accuracy: Estimate
    macro_f1: float
    labels: tuple[LabelScore, ...]
    predictions: Labels = field(repr=False, compare=False)


@dataclass(frozen=True)
class ClassificationResult(Result):
    """The scores of classifiers on the vectors of a model.

    Attributes
    ----------
    methods
        The scores of each method.
    chance
        The accuracy of predicting the most frequent label of the training texts for every text.
    texts
        The number of test texts; with cross-validation, of all texts.
    unknown_texts
        The number of test texts without a word that has a vector.
    coverage
        The fraction of words in all texts that have a vector.
    validation
        How texts were split into training and test texts.
    neighbors
        The argument of :func:`evaluate`.
    invalid_lines
        The number of malformed lines that were skipped.

    Examples
    --------
    >>> from pathlib import Path
    >>> import posvec
    >>> from posvec.evaluation import classification
    >>> _ = Path("labelled.tsv").write_text("animal\\tthe cat sees the dog\\nplace\\tnear the river\\n" * 6)
    >>> result = classification.evaluate(posvec.load("model"), "labelled.tsv", folds=2)
    >>> result.coverage, result.unknown_texts, result.invalid_lines
    (1.0, 0, 0)
    """

    methods: tuple[MethodScore, ...]
    chance: float
    texts: int
    unknown_texts: int
    coverage: float
    validation: str
    neighbors: int
    invalid_lines: int

    def tables(self) -> list[Table]:
        """Return the accuracy of all methods, then the scores of each method by label."""
        unknown = f", {self.unknown_texts:,} of them without known words" if self.unknown_texts else ""
        details = f"{self.validation}; {self.coverage:.1%} of words known{skipped_note(self.invalid_lines)}"
        accuracies = [
            (each.method, each.accuracy.value, each.accuracy.low, each.accuracy.high, each.macro_f1)
            for each in self.methods
        ]
        main = Table(
            f"Classification of {plural(self.texts, 'text')}{unknown} ({details})",
            ("method", "accuracy", "low", "high", "macro F1"),
            [*accuracies, ("chance", self.chance, None, None, None)],
            ".1%",
        )
        by_label = [
            Table(
                method.method,
                ("label", "precision", "recall", "F1", "texts"),
                [(each.label, each.precision, each.recall, each.f1, each.texts) for each in method.labels],
                ".1%",
            )
            for method in self.methods
        ]
        return [main, *by_label]


def evaluate(
    model: Model | WordVectors,
    train: str | Path,
    test: str | Path | None = None,
    methods: ClassificationMethod | Iterable[ClassificationMethod] = "linear",
    folds: int = 5,
    neighbors: int = 9,
    skip_invalid: bool = False,
    seed: int = SEED,
) -> ClassificationResult:
    """Measure the accuracy of text classifiers that use the vectors of a model.

    Parameters
    ----------
    model
        A model or word vectors.
    train
        A file of lines with a label, a tab and a text.
    test
        A file in the same format to test on. Without it, the classifiers are cross-validated on ``train``.
    methods
        One or several of "linear", "scm" and "wmd".
    folds
        The number of folds in cross-validation.
    neighbors
        The number of nearest training texts that vote in "scm" and "wmd".
    skip_invalid
        Skip malformed lines instead of raising an error.
    seed
        The seed of the folds and of the bootstrap intervals.

    Returns
    -------
    ClassificationResult
        The scores of each method.

    Examples
    --------
    >>> from pathlib import Path
    >>> import posvec
    >>> from posvec.evaluation import classification
    >>> _ = Path("labelled.tsv").write_text("animal\\tthe cat sees the dog\\nplace\\tnear the river\\n" * 6)
    >>> result = classification.evaluate(posvec.load("model"), "labelled.tsv", folds=2)
    >>> result.texts, result.chance, result.validation
    (12, 0.5, '2-fold cross-validation')
    """
    chosen = [methods] if isinstance(methods, str) else list(methods)
    for method in chosen:
        if method not in METHODS:
            raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if not 0 <= seed < 2**32:
        raise ConfigError(f"seed is {seed}, but scikit-learn takes 0 to {2**32 - 1:,}; choose another one")
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
        raise PosvecError(f"no word of {train} has a vector in this model; use texts in the language of the model")
    everything = np.arange(len(labels))
    splits = [(everything[:trained], everything[trained:])] if test is not None else _folds(labels, folds, seed, train)
    order = np.concatenate([tested for _, tested in splits])
    gold = labels[order]
    constant = np.concatenate([_most_frequent(labels[fitted], len(tested)) for fitted, tested in splits])
    scores = []
    for method in chosen:
        predictions = np.concatenate([METHODS[method](task, *split) for split in splits])
        scores.append(_score(method, gold, predictions, seed))
    return ClassificationResult(
        tuple(scores),
        float((constant == gold).mean()),
        len(gold),
        int((~task.documents.known[order]).sum()),
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

    def linear(self, train: IndexArray, test: IndexArray) -> Labels:
        classifier = require_extra("sklearn.pipeline", EXTRA).make_pipeline(
            require_extra("sklearn.preprocessing", EXTRA).StandardScaler(),
            require_extra("sklearn.linear_model", EXTRA).LogisticRegression(max_iter=1000),
        )
        means = self.documents.means()
        predictions: Labels = classifier.fit(means[train], self.labels[train]).predict(means[test])
        return predictions

    def soft_cosine(self, train: IndexArray, test: IndexArray) -> Labels:
        return self._vote(
            train, soft_cosine_neighbors(self.documents, self.term_similarity, train, test, self.neighbors)
        )

    def word_mover(self, train: IndexArray, test: IndexArray) -> Labels:
        return self._vote(train, word_mover_neighbors(self.documents, train, test, self.neighbors))

    def _vote(self, train: IndexArray, nearest: list[IndexArray]) -> Labels:
        """The most frequent label among the neighbours; of equally frequent labels that of the nearest neighbour."""
        labels = self.labels[train]
        fallback = _most_frequent(labels, 1)[0]
        # Counter keeps the order of first occurrence, and max returns the first of equal maxima.
        votes = [Counter(labels[near].tolist()) for near in nearest]
        return np.array([max(vote, key=vote.__getitem__) if vote else fallback for vote in votes])


METHODS: dict[str, Callable[[_Task, IndexArray, IndexArray], Labels]] = {
    "linear": _Task.linear,
    "scm": _Task.soft_cosine,
    "wmd": _Task.word_mover,
}


def _read(path: str | Path, skip_invalid: bool) -> tuple[list[tuple[str, str]], int]:
    def parse(line: str) -> tuple[str, str]:
        label, tab, text = line.partition("\t")
        if not tab or not label.strip() or not text.strip():
            raise ValueError("the line should be a label, a tab and a text")
        return label.strip(), text

    labelled, invalid = parse_lines(path, parse, skip_invalid)
    if not labelled:
        raise CorpusError(f"there is no text in {path}; write lines of a label, a tab and a text")
    return labelled, invalid


def _folds(labels: Labels, folds: int, seed: int, path: str | Path) -> list[tuple[IndexArray, IndexArray]]:
    rarest, texts = min(Counter(labels.tolist()).items(), key=lambda item: item[1])
    if texts < 2:
        raise ConfigError(
            f"{path} has one text with the label {rarest}, too few for cross-validation; add another one, or give a "
            "test file with --test (test=)"
        )
    if not 2 <= folds <= texts:
        raise ConfigError(
            f"folds is {folds}, but must be at least 2 and at most {texts}, the number of texts with the label "
            f"{rarest} in {path}; change folds, or give a test file with --test (test=)"
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


def _label_score(label: str, gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> LabelScore:
    true_positives, of_gold, of_predicted = int((gold & predicted).sum()), int(gold.sum()), int(predicted.sum())
    precision = true_positives / of_predicted if of_predicted else None
    f1 = 2 * true_positives / (of_gold + of_predicted)
    return LabelScore(label, precision, true_positives / of_gold, f1, of_gold)
