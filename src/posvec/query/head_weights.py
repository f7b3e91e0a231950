"""How the two heads of a model are weighted in a word vector: meaning against spelling.

A word vector is

    [x / |x|, s y / |y|] / sqrt(1 + s^2)

with x the features of meaning, y those of spelling, and s the weight of spelling.

    x = u / |u| + a v / |v|, with u the input vector and v the output vector of the word in the word head. Both hold
        what the word means, from different examples: u learns when the word is in a context, v when it is masked.
    y = the mean of the rows of the word's n-grams in the spelling head. The word's own row there is left out: in
        training it learns what the n-grams of the word cannot tell, so that they need not, and that is noise beside
        the word head. So y is computed alike for words in and out of the vocabulary; for the latter x = 0.

The values of s and a, and what each of these choices gains, are in benchmarks/JOURNAL.md.

Every vector of a word of the vocabulary has length 1. The cosine similarity of two words is the mean of the
similarities of their heads, weighted by 1 and s^2. Unweighted vectors are [x, z], with z the mean of all rows of the
word in the spelling head, as in training.
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
    scale = 1 / np.hypot(1, weight)
    joined = np.concatenate([unit_rows(word) * np.float32(scale), unit_rows(spelling) * np.float32(weight * scale)], 1)
    vectors: FloatArray = joined.astype(np.float32, copy=False)
    return vectors
