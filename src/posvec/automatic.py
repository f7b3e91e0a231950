"""Settings that follow the size of the corpus: what the default preset leaves open until the words are counted.

The more text there is, the fewer epochs are needed, and the more of the frequent words can be left out; the less text
there is, the rarer the words that must be kept. The values are those of measurements on parts of Wikipedia
(benchmarks/JOURNAL.md). Those of epochs and sample are interpolated between sizes, by logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from posvec.config import Config

# Words of the corpus, and the best value that was found for a corpus of this size.
_EPOCHS = ((300_000, 30), (1_000_000, 20), (7_000_000, 10), (66_000_000, 5), (343_000_000, 3))
_SAMPLE = ((7_000_000, 1e-4), (66_000_000, 1e-5))

LEAST_MIN_COUNT = 3
"""The smallest ``min_count`` that is chosen, with which words are counted before one is chosen."""

AUTOMATIC = ("epochs", "sample", "min_count")
"""The settings that follow the corpus, unless they are given."""

_FEW_WORDS = 10_000_000  # words, below which those that occur three or four times are kept


def automatic_settings(words: int) -> dict[str, Any]:
    """Return the settings that suit a corpus of so many words.

    Examples
    --------
    >>> automatic_settings(66_000_000)
    {'epochs': 5, 'sample': 1e-05, 'min_count': 5}
    >>> automatic_settings(1_000_000)
    {'epochs': 20, 'sample': 0.0001, 'min_count': 3}
    """
    return {
        "epochs": round(_interpolated(_EPOCHS, words)),
        "sample": float(f"{_interpolated(_SAMPLE, words):.1g}"),
        "min_count": LEAST_MIN_COUNT if words < _FEW_WORDS else 5,
    }


def describe_settings(words: int, config: Config, is_estimate: bool = False) -> str:
    """Return in one line what was chosen for a corpus, for people who train a model.

    With ``is_estimate``, the number of epochs is one that may still change.

    Examples
    --------
    >>> import posvec
    >>> print(describe_settings(6_512_345, posvec.make_config(epochs=10)))
    6.5M words: 10 epochs, sample = 1e-05, min_count = 5, D = 304 (W = 144), D' = 304, window 15, rate 0.05 to 0
    """
    shape, training, vocabulary = config.model, config.training, config.vocabulary
    size = f"{words / 1e6:,.1f}M words" if words >= 100_000 else f"{words:,} words"
    number = training.total_epochs
    epochs = "1 epoch" if number == 1 else f"{number:.3g} epochs"
    heads = f" (W = {shape.word_dim})" if shape.word_dim else ""
    rate = training.initial_lr
    return (
        f"{size}: {'about ' if is_estimate else ''}{epochs}, sample = {vocabulary.sample:g}, min_count = "
        f"{vocabulary.min_count}, D = {shape.dim}{heads}, D' = {shape.positional_dim}, window {shape.window}, rate "
        f"{rate:g} to {rate * training.final_lr_ratio:g}"
    )


def _interpolated(points: Sequence[tuple[int, float]], words: int) -> float:
    """The value for so many words, on a straight line of logarithms between the points next to it."""
    if words <= points[0][0]:
        return points[0][1]
    for (before, low), (after, high) in pairwise(points):
        if words <= after:
            fraction = math.log(words / before) / math.log(after / before)
            return float(low * (high / low) ** fraction)
    return points[-1][1]
