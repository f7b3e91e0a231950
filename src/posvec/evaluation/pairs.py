"""Minimal pairs: does the order of the context words decide which word a model expects?

Each pair has two sentences, C1 and C2, that differ in the order of their words alone, and a word that fits each, w1 and
w2 (:mod:`.pair_rules`). The pair is right if its interaction is positive:

    log P(w1 | C1) - log P(w2 | C1) - log P(w1 | C2) + log P(w2 | C2)

How frequent the words are, and what they have to do with the context words in any order, cancels. For models without
positional features the interaction is exactly zero, which counts as half right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from posvec.errors import ConfigError, UnknownWordError
from posvec.evaluation.bootstrap import Estimate, estimate, resample
from posvec.evaluation.pair_rules import MinimalPair, minimal_pairs
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.contexts import MASK
from posvec.query.masked_tokens import factors_of_heads
from posvec.system.arrays import DoubleArray

LANGUAGES = ("english", "czech", "german")


@dataclass(frozen=True)
class PairAccuracy:
    """How many minimal pairs of a category are right.

    Attributes
    ----------
    category
        The category, or ``all``.
    pairs
        The number of pairs whose words the model knows.
    accuracy
        The fraction that is right; 0.5 is chance.
    interaction
        The mean interaction.

    Examples
    --------
    >>> from posvec.evaluation.bootstrap import Estimate
    >>> PairAccuracy("article and noun", 36, Estimate(0.9, 0.8, 1.0), interaction=2.5).pairs
    36
    """

    category: str
    pairs: int
    accuracy: Estimate
    interaction: float


@dataclass(frozen=True)
class PairAccuracies(Result):
    """How many minimal pairs of a language are right.

    Attributes
    ----------
    language
        The language of the pairs.
    skipped
        The number of pairs with words that the model does not know.
    categories
        All pairs first, then the categories.
    p_value
        How probable at least as many right pairs are by chance (an exact sign test; pairs with an interaction of zero
        are left out).

    Examples
    --------
    >>> from posvec.evaluation.bootstrap import Estimate
    >>> found = PairAccuracies("english", 2, (PairAccuracy("all", 10, Estimate(0.8, 0.5, 1.0), 1.5),), 0.05)
    >>> found.tables()[0].rows
    [('all', 10, '80.0% (50.0–100.0)', 1.5)]
    """

    language: str
    skipped: int
    categories: tuple[PairAccuracy, ...]
    p_value: float

    def tables(self) -> list[Table]:
        """Return one table with a row for each category."""
        rows = [
            (
                each.category,
                each.pairs,
                f"{each.accuracy.value:.1%} ({100 * each.accuracy.low:.1f}–{100 * each.accuracy.high:.1f})",
                each.interaction,
            )
            for each in self.categories
        ]
        title = f"Minimal pairs, {self.language} ({self.skipped:,} skipped, p = {self.p_value:.2g})"
        return [Table(title, ("category", "pairs", "right", "interaction"), rows)]


def evaluate(
    model: Model,
    language: str | None = None,
    pairs: Iterable[MinimalPair] | None = None,
    samples: int = 1000,
    confidence: float = 0.95,
    seed: int = 1,
) -> PairAccuracies:
    """Measure how often a model prefers the word that fits the order of its context.

    Parameters
    ----------
    model
        A model with output vectors.
    language
        ``english``, ``czech`` or ``german``; by default the one of whose pairs the model knows the largest part.
    pairs
        Other pairs, in place of those of :func:`posvec.evaluation.pair_rules.minimal_pairs`.
    samples, confidence, seed
        The number of bootstrap samples, the confidence of the intervals, and the seed. The bootstrap draws pairs,
        which share words, so intervals are somewhat too narrow.

    Returns
    -------
    PairAccuracies
        The accuracy by category.

    Raises
    ------
    UnknownWordError
        If the model knows the words of no pair.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.pair_rules import MinimalPair
    >>> pair = MinimalPair("english", "noun", ("the cat [MASK] dog", "the dog [MASK] cat"), ("sees", "hears"))
    >>> evaluate(posvec.load("model"), pairs=[pair]).categories[0].pairs
    1
    """
    if language is not None and language not in LANGUAGES:
        raise ConfigError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    everything = list(minimal_pairs() if pairs is None else pairs)
    known = [pair for pair in everything if _is_known(model, pair)]
    if language is None and pairs is None:
        language = max(LANGUAGES, key=lambda name: _fraction(name, known, everything))
    chosen = [pair for pair in known if language in (None, pair.language)]
    if not chosen:
        raise UnknownWordError(f"the model knows the words of no pair of {language or 'these'}; try another language")
    total = sum(language in (None, pair.language) for pair in everything)
    interactions = np.array([interaction(model, pair) for pair in chosen])
    categories = ["all", *dict.fromkeys(pair.category for pair in chosen)]
    found = []
    for category in categories:
        rows = np.array([category in ("all", pair.category) for pair in chosen])
        right = (np.sign(interactions[rows]) + 1) / 2
        replicates = resample(lambda items, right=right: right[items].mean(), len(right), samples, seed)  # type: ignore[misc]
        accuracy = estimate(right.mean(), replicates, confidence)
        found.append(PairAccuracy(category, len(right), accuracy, float(interactions[rows].mean())))
    p_value = sign_test(int((interactions > 0).sum()), int((interactions != 0).sum()))
    return PairAccuracies(language or chosen[0].language, total - len(chosen), tuple(found), p_value)


def interaction(model: Model, pair: MinimalPair) -> float:
    """Return the interaction of a minimal pair under a model.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.pair_rules import MinimalPair
    >>> pair = MinimalPair("english", "noun", ("the cat [MASK] dog", "the dog [MASK] cat"), ("sees", "hears"))
    >>> isinstance(interaction(posvec.load("model"), pair), float)
    True
    """
    first, second = (model.context_vector(sentence).astype(np.float64) for sentence in pair.sentences)
    length = len(model.context(pair.sentences[0]))
    factors = factors_of_heads(model.config, model.calibrated, np.array([length]))[0]
    one, other = (model.output_vectors[model.masked_id(word)].astype(np.float64) for word in pair.words)
    weighted: DoubleArray = (first - second) * model.of_features(factors)
    return float(weighted @ (one - other))


def sign_test(right: int, total: int) -> float:
    """Return how probable at least ``right`` of ``total`` fair coins are heads.

    Examples
    --------
    >>> sign_test(9, 10)
    0.0107421875
    """
    return sum(math.comb(total, k) for k in range(right, total + 1)) / (1 << total)


def _is_known(model: Model, pair: MinimalPair) -> bool:
    words = [word for word in model.split(pair.sentences[0]) if word != MASK]
    return all(map(model.has_vector, words)) and all(word in model.vocabulary for word in pair.words)


def _fraction(language: str, known: Sequence[MinimalPair], everything: Sequence[MinimalPair]) -> float:
    known_of, all_of = (sum(pair.language == language for pair in pairs) for pairs in (known, everything))
    return known_of / max(1, all_of)
