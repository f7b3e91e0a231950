"""How well a model predicts masked words of text: accuracy, ranks, perplexity and calibration, beside n-grams.

Perplexity is over the vocabulary of the model: words outside it are no masked words, and nobody predicts them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.encoding import encode
from posvec.corpus.sources import Source
from posvec.errors import ConfigError, CorpusError
from posvec.evaluation.bootstrap import Estimate, estimate, resample
from posvec.evaluation.function_words import function_words_of
from posvec.evaluation.ngrams import Bigrams, unigram_likelihoods
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.masked_tokens import Likelihoods, MaskedTokens, likelihoods, mask_tokens
from posvec.system.arrays import DoubleArray, IndexArray
from posvec.training.calibration import first_lines
from posvec.training.sources import open_source

MASKED_WORDS = 10_000
BINS = 10
_BANDS = (100, 1_000, 10_000)
_FEW = 20  # masked words of a group, with fewer of which it is not shown


@dataclass(frozen=True)
class Accuracy:
    """How well masked words of a group were predicted.

    Attributes
    ----------
    group
        Which masked words: ``all``, a band of frequency ranks as ``101–1,000``, ``function words`` or ``other words``.
    predictor
        ``model``, ``unigram``, ``bigram`` or ``two-sided``.
    masked_words
        Their number.
    top1, top10
        The fraction of masked words that are the most probable one, or among the ten most probable ones.
    median_rank
        The median of the ranks of the masked words.
    reciprocal_rank
        The mean of 1 / rank.
    perplexity
        The exponential of the mean of -log P(w | C).

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked_words
    >>> accuracy = masked_words.evaluate(posvec.load("model"), "corpus.txt", words=100).accuracies[0]
    >>> accuracy.group, accuracy.predictor, accuracy.masked_words
    ('all', 'model', 100)
    """

    group: str
    predictor: str
    masked_words: int
    top1: Estimate
    top10: Estimate
    median_rank: Estimate
    reciprocal_rank: Estimate
    perplexity: Estimate


@dataclass(frozen=True)
class CalibrationBin:
    """Masked words whose most probable word has about the same probability.

    Attributes
    ----------
    masked_words
        Their number.
    confidence
        The mean probability of the most probable word.
    accuracy
        How often it is the masked word.

    Examples
    --------
    >>> from posvec.evaluation.masked_words import CalibrationBin
    >>> CalibrationBin(120, confidence=0.25, accuracy=0.3).masked_words
    120
    """

    masked_words: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class MaskedWordAccuracy(Result):
    """How well a model predicts masked words of text.

    Attributes
    ----------
    text
        The name of the text.
    masked_words
        How many words were masked.
    accuracies
        By group and predictor; the first is of the model on all masked words.
    language
        The language whose list of function words tells them from others.
    calibration_error
        The expected calibration error: the mean difference of confidence and accuracy over the bins, weighted by their
        masked words.
    calibration
        The calibration curve: bins of equal width of the probability of the most probable word.
    words_per_second
        The speed at which the model predicted masked words.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked_words
    >>> result = masked_words.evaluate(posvec.load("model"), "corpus.txt", words=500)
    >>> result.masked_words, result.accuracies[0].predictor, result.accuracies[1].predictor
    (500, 'model', 'unigram')
    >>> result.accuracies[0].perplexity.value < result.accuracies[1].perplexity.value
    True
    """

    text: str
    masked_words: int
    accuracies: tuple[Accuracy, ...]
    language: str
    calibration_error: Estimate
    calibration: tuple[CalibrationBin, ...]
    words_per_second: float

    def tables(self) -> list[Table]:
        """Return a table of the accuracies on all masked words, one of those on each group, and the calibration."""
        overall, groups = [], []
        for each in self.accuracies:
            fractions, rank = (f"{each.top1.value:.1%}", f"{each.top10.value:.1%}"), f"{each.median_rank.value:,.0f}"
            found = each.perplexity
            perplexity, low, high = (_format_perplexity(value) for value in (found.value, found.low, found.high))
            if each.group == "all":
                reciprocal = f"{each.reciprocal_rank.value:.3f}"
                overall.append((each.predictor, *fractions, rank, reciprocal, f"{perplexity} ({low}–{high})"))
            else:
                groups.append((each.group, each.predictor, each.masked_words, *fractions, rank, perplexity))
        name, error = f"{self.masked_words:,} masked words of {self.text}", self.calibration_error
        return [
            Table(name, ("by", "top 1", "top 10", "median rank", "MRR", "perplexity (interval)"), overall),
            Table(
                f"By frequency rank and word class ({self.language})",
                ("words", "by", "n", "top 1", "top 10", "median", "perplexity"),
                groups,
            ),
            Table(
                f"Calibration: expected error {error.value:.1%} ({error.low:.1%}–{error.high:.1%})",
                ("masked words", "confidence", "accuracy"),
                [(each.masked_words, each.confidence, each.accuracy) for each in self.calibration],
            ),
        ]

    def main_table(self) -> Table:
        """Return the accuracies as numbers, with the ends of their intervals."""
        names = ("top1", "top10", "median_rank", "reciprocal_rank", "perplexity")
        columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        rows = []
        for each in self.accuracies:
            estimates: list[Estimate] = [getattr(each, name) for name in names]
            numbers = [number for value in estimates for number in (value.value, value.low, value.high)]
            rows.append((each.group, each.predictor, each.masked_words, *numbers))
        return Table("", ("group", "predictor", "masked_words", *columns), rows)


def evaluate(
    model: Model,
    text: Source,
    words: int = MASKED_WORDS,
    baseline: Source | None = None,
    samples: int = 200,
    confidence: float = 0.95,
    seed: int = 1,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
) -> MaskedWordAccuracy:
    """Mask words of a text one at a time, and measure how well a model predicts them.

    Parameters
    ----------
    model
        A model with output vectors.
    text
        Text that the model was not trained on: files, or an iterable of sentences or lists of words, in which [PAD]
        takes up a position. The first two million words of it are used.
    words
        How many words to mask, drawn at random; 0: all.
    baseline
        A corpus for n-gram models that are compared with the model, best the one that the model was trained on.
    samples
        The number of bootstrap samples for intervals.
    confidence
        The confidence of the intervals.
    seed
        The seed of the draw and of the bootstrap.
    tokenizer
        A function from a line to its words, in place of the tokenizer of the model.

    Returns
    -------
    MaskedWordAccuracy
        The accuracies of all masked words, by the frequency of the words, and of function words and others.

    Raises
    ------
    CorpusError
        If the text has no words to mask.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked_words
    >>> result = masked_words.evaluate(posvec.load("model"), "corpus.txt", words=200, baseline="corpus.txt")
    >>> [each.predictor for each in result.accuracies[:4]]
    ['model', 'unigram', 'bigram', 'two-sided']
    """
    if words < 0:
        raise ConfigError(f"words is {words}, but must be at least 0, which masks all words")
    model.require_outputs()
    with open_source(text, model.config, tokenizer) as opened:
        name, lines = opened.name, list(first_lines(opened))
    tokens = mask_tokens(model, lines, words or None, seed)
    if not len(tokens):
        raise CorpusError(f"{name} has no word to mask: a word of the vocabulary next to another one; give other text")
    started = time.perf_counter()
    found = {"model": likelihoods(model, model.calibrated, tokens)}
    seconds = time.perf_counter() - started
    found["unigram"] = unigram_likelihoods(model.vocabulary, tokens.ids)
    if baseline is not None:
        with open_source(baseline, model.config, tokenizer) as opened:
            bigrams = Bigrams(encode(opened, model.vocabulary), len(model.vocabulary))
        left, right = _neighbors(model, lines, tokens)
        found["bigram"] = bigrams.likelihoods(tokens.ids, left)
        found["two-sided"] = bigrams.likelihoods(tokens.ids, left, right)
    language, function_words = function_words_of(word for line in lines[:10_000] for word in line)
    measured = {name: _measures(each) for name, each in found.items()}
    accuracies = [
        accuracy
        for group, rows in _groups(model, tokens, function_words)
        for accuracy in _accuracies(group, measured, rows, samples, confidence, seed)
    ]
    of_model = found["model"]
    correct = (of_model.ranks == 1).astype(np.float64)
    errors = resample(
        lambda rows: np.array(_calibration_error(of_model.confidences[rows], correct[rows])), len(tokens), samples, seed
    )
    return MaskedWordAccuracy(
        name,
        len(tokens),
        tuple(accuracies),
        language,
        estimate(_calibration_error(of_model.confidences, correct), errors, confidence),
        tuple(_bins(of_model.confidences, correct)),
        len(tokens) / seconds,
    )


def _neighbors(model: Model, lines: Sequence[Sequence[str]], tokens: MaskedTokens) -> tuple[IndexArray, IndexArray]:
    """Return the ids of the words before and after masked words, as :class:`Bigrams` numbers them."""
    unknown = len(model.vocabulary)

    def symbol(line: Sequence[str], offset: int) -> int:
        return model.vocabulary.index.get(line[offset], unknown) if 0 <= offset < len(line) else unknown + 1

    where = [(lines[line], offset) for line, offset in zip(tokens.lines.tolist(), tokens.offsets.tolist(), strict=True)]
    left = np.array([symbol(line, offset - 1) for line, offset in where], np.intp)
    right = np.array([symbol(line, offset + 1) for line, offset in where], np.intp)
    return left, right


def _groups(
    model: Model, tokens: MaskedTokens, function_words: frozenset[str]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield groups of masked words that are not too small, by their names."""
    is_function = np.array([model.vocabulary.words[i] in function_words for i in tokens.ids.tolist()])
    yield "all", np.ones(len(tokens), np.bool_)
    for low, high in zip((0, *_BANDS), (*_BANDS, math.inf), strict=True):
        name = f"{low + 1:,}–{high:,}" if high < math.inf else f"above {low:,}"
        rows = (tokens.ids >= low) & (tokens.ids < high)
        if rows.sum() >= _FEW:
            yield name, rows
    for name, rows in (("function words", is_function), ("other words", ~is_function)):
        if rows.sum() >= _FEW:
            yield name, rows


def _measures(found: Likelihoods) -> DoubleArray:
    """Return for each masked word (n, 5) whether it is first, or among the first ten, 1 / rank, -log P and the rank."""
    ranks = found.ranks.astype(np.float64)
    return np.stack([ranks == 1, ranks <= 10, 1 / ranks, -found.log_probabilities, ranks], axis=1)


def _accuracies(
    group: str,
    measured: dict[str, DoubleArray],
    rows: NDArray[np.bool_],
    samples: int,
    confidence: float,
    seed: int,
) -> Iterator[Accuracy]:
    """Yield the accuracies of a group; all predictors have the same bootstrap samples."""
    everything = np.stack([each[rows] for each in measured.values()], axis=1)  # (masked words, predictors, measures)

    def statistic(items: IndexArray | slice) -> DoubleArray:
        values = everything[items]
        means = values[:, :, :4].mean(0)
        means[:, 3] = np.exp(means[:, 3])
        return np.concatenate([means, np.median(values[:, :, 4], axis=0)[:, np.newaxis]], axis=1)

    values, replicates = statistic(slice(None)), resample(statistic, len(everything), samples, seed)
    for number, name in enumerate(measured):
        top1, top10, reciprocal, perplexity, median = (
            estimate(values[number, i], replicates[:, number, i], confidence) for i in range(5)
        )
        yield Accuracy(group, name, len(everything), top1, top10, median, reciprocal, perplexity)


def _format_perplexity(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _bins(confidences: DoubleArray, correct: DoubleArray) -> Iterator[CalibrationBin]:
    bins = _bin_numbers(confidences)
    for number in np.unique(bins):
        rows = bins == number
        yield CalibrationBin(int(rows.sum()), float(confidences[rows].mean()), float(correct[rows].mean()))


def _calibration_error(confidences: DoubleArray, correct: DoubleArray) -> float:
    differences = np.bincount(_bin_numbers(confidences), confidences - correct, BINS)
    return float(np.abs(differences).sum() / len(confidences))


def _bin_numbers(confidences: DoubleArray) -> IndexArray:
    return np.minimum((confidences * BINS).astype(np.intp), BINS - 1)
