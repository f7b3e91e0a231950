"""How the two heads of a model are weighted in a word vector: meaning against spelling.

A word vector is

    [x / |x|, s y / |y|] / sqrt(1 + s^2)

with x the features of meaning, y those of spelling, and s the weight of spelling.

    x = u / |u| + a v / |v|, with u the input vector and v the output vector of the word in the word head. Both hold
        what the word means, from different examples: u learns when the word is in a context, v when it is masked.
    y = the mean of the rows of the word's n-grams in the spelling head. The word's own row there is left out: in
        training it learns what the n-grams of the word cannot tell, so that they need not, and that is noise beside
        the word head. So y is computed alike for words in and out of the vocabulary.

A word out of vocabulary has no row in the word head. Its x / |x| is predicted from its y / |y| by the linear map B that
predicts those of the words of the vocabulary best (ridge regression). The more its meaning follows from spelling, the
longer the prediction. With no prediction, 0, its similarity to all words would be too low by a factor of sqrt(1 + s^2).

The values of s and a, and what each of these choices gains, are in benchmarks/JOURNAL.md.

Every vector of a word of the vocabulary has length 1. The cosine similarity of two words is the mean of the
similarities of their heads, weighted by 1 and s^2. Unweighted vectors are [x, z], with z the mean of all rows of the
word in the spelling head, as in training; there x = 0 for words out of vocabulary.
"""

from __future__ import annotations

import numpy as np

from posvec.errors import ConfigError
from posvec.query.parsing import parse_number
from posvec.system.arrays import FloatArray, unit_rows

DEFAULT_SPELLING = 1.0
"""s by default."""

OUTPUT_WEIGHT = 0.6
"""a"""

_RIDGE = 0.005  # the penalty of the regression for each word


def check_spelling(weight: float | None) -> float | None:
    """Return the weight of spelling, None for unweighted vectors; raise ConfigError unless it is a number from 0."""
    if weight is None:
        return None
    number = parse_number("spelling", weight)
    if number < 0:
        raise ConfigError(f"spelling is {number:g}, but must be at least 0; 1 weights meaning and spelling alike")
    return number


def meaning_features(inputs: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return x of words, (n, W), from their input and output vectors in the word head.

    Examples
    --------
    >>> print(meaning_features(np.array([[3, 4]], np.float32), np.array([[0, 2]], np.float32)).round(2))
    [[0.6 1.4]]
    """
    features: FloatArray = unit_rows(inputs) + np.float32(OUTPUT_WEIGHT) * unit_rows(outputs)
    return features


def fit_meaning(meaning: FloatArray, spelling: FloatArray) -> FloatArray:
    """Return B, (D - W, W), that predicts x / |x| of words from y / |y|: y / |y| @ B, by ridge regression.

    Examples
    --------
    >>> spelling = np.array([[1, 0], [0, 1]] * 500, np.float32)
    >>> meaning = np.array([[0, 1, 0], [0, 0, 1]] * 500, np.float32)
    >>> print(fit_meaning(meaning, spelling).round(1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    finite = np.isfinite(meaning).all(1) & np.isfinite(spelling).all(1)
    x, y = (unit_rows(part[finite]).astype(np.float64) for part in (meaning, spelling))
    penalty = _RIDGE * max(1, len(y)) * np.eye(spelling.shape[1])
    weights: FloatArray = np.linalg.solve(y.T @ y + penalty, y.T @ x).astype(np.float32)
    return weights


def join_heads(word: FloatArray, spelling: FloatArray, weight: float | None) -> FloatArray:
    """Return word vectors, (n, D), from the features of the word head, (n, W), and of the spelling head, (n, D - W).

    With a weight of None, they are not weighted.

    Examples
    --------
    >>> print(join_heads(np.array([[3, 4]], np.float32), np.array([[0, 2]], np.float32), weight=1).round(2))
    [[0.42 0.57 0.   0.71]]
    """
    if weight is None:
        return np.concatenate([word, spelling], 1)
    return _weighted(unit_rows(word), unit_rows(spelling), weight)


def join_predicted(weights: FloatArray, spelling: FloatArray, weight: float) -> FloatArray:
    """Return vectors of words out of vocabulary, (n, D), whose features in the word head B predicts.

    Examples
    --------
    >>> print(join_predicted(np.array([[0.3], [0.8]], np.float32), np.array([[0, 2]], np.float32), weight=1).round(2))
    [[0.57 0.   0.71]]
    """
    units = unit_rows(spelling)
    return _weighted(units @ weights, units, weight)


def _weighted(meaning: FloatArray, spelling: FloatArray, weight: float) -> FloatArray:
    scale = 1 / np.hypot(1, weight)
    joined = np.concatenate([meaning * np.float32(scale), spelling * np.float32(weight * scale)], 1)
    vectors: FloatArray = joined.astype(np.float32, copy=False)
    return vectors
