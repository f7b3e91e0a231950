"""How the two heads of a model are weighted in a word vector: meaning against spelling.

A word vector is

    [x / |x|, s y / |y|] / sqrt(1 + s^2)

with x the features of the word head, y the mean of the rows of the word's n-grams in the spelling head, and s the
weight of spelling. The word's own row in the spelling head is left out of y: in training it learns what the n-grams of
the word cannot tell, so that they need not, and that is noise beside the word head (benchmarks/JOURNAL.md). So y is
computed alike for words in and out of the vocabulary; for the latter x = 0.

Every vector of a word of the vocabulary has length 1. The cosine similarity of two words is the mean of the
similarities of their heads, weighted by 1 and s^2. Unweighted vectors are [x, z], with z the mean of all rows of the
word in the spelling head, as in training.
"""

from __future__ import annotations

import numpy as np

from posvec.errors import ConfigError
from posvec.query.parsing import parse_number
from posvec.system.arrays import FloatArray, unit_rows

DEFAULT_SPELLING = 0.9
"""s by default."""


def check_spelling(weight: float | None) -> float | None:
    """Return the weight of spelling, None for unweighted vectors; raise ConfigError unless it is a number from 0."""
    if weight is None:
        return None
    number = parse_number("spelling", weight)
    if number < 0:
        raise ConfigError(f"spelling is {number:g}, but must be at least 0; 1 weights meaning and spelling alike")
    return number


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
