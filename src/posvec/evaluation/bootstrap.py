"""Bootstrap confidence intervals: how a measure would vary had the questions been drawn again.

Questions are taken as drawn one by one. Those of a test set that share words vary together, so that intervals over
analogies are rather too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError

Values = NDArray[np.float64]
Items = NDArray[np.intp]

SAMPLES, CONFIDENCE, SEED = 1000, 0.95, 1


@dataclass(frozen=True)
class Estimate:
    """A value and the interval that holds it with the confidence asked for."""

    value: float
    low: float
    high: float


def resample(statistic: Callable[[Items], Values], items: int, samples: int = SAMPLES, seed: int = SEED) -> Values:
    """The statistic (one number or several) of so many samples of the items, each drawn with replacement.

    (samples, numbers). What the statistic computes side by side is paired: it sees the same items.
    """
    if samples < 1:
        raise ConfigError(f"samples is {samples}, but must be at least 1")
    random = np.random.default_rng(seed)
    return np.array([statistic(random.integers(items, size=items)) for _ in range(samples)])


def estimate(value: float, replicates: Values, confidence: float = CONFIDENCE) -> Estimate:
    """The value with the quantiles of its replicates."""
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence is {confidence}, but must be between 0 and 1, such as 0.95")
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return Estimate(float(value), low, high)
