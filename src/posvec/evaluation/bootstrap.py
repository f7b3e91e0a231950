"""Bootstrap confidence intervals: how much a measure would vary with other test items of the same kind.

The bootstrap assumes that items are independent. Analogies that share words are not, so their intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from posvec.errors import ConfigError
from posvec.system.arrays import DoubleArray, IndexArray

SAMPLES, CONFIDENCE, SEED = 1000, 0.95, 1
MAX_SAMPLES = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval.

    Attributes
    ----------
    value
        The value measured on all items.
    low, high
        The ends of the interval.

    Examples
    --------
    >>> from posvec.evaluation.bootstrap import Estimate
    >>> Estimate(0.5, low=0.4, high=0.6)
    Estimate(value=0.5, low=0.4, high=0.6)
    """

    value: float
    low: float
    high: float


def resample(
    statistic: Callable[[IndexArray], DoubleArray], items: int, samples: int = SAMPLES, seed: int = SEED
) -> DoubleArray:
    """Compute a statistic on bootstrap samples of the items, drawn with replacement.

    Parameters
    ----------
    statistic
        Maps the indices of the drawn items to one or several numbers. Several numbers of one call are paired, since
        they are computed from the same items.
    items
        The number of items.
    samples
        The number of bootstrap samples.
    seed
        The seed of the random generator.

    Returns
    -------
    DoubleArray
        The statistic of each sample, of the shape (samples,) or (samples, numbers).

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.evaluation.bootstrap import estimate, resample
    >>> correct = np.arange(1000) < 250
    >>> found = estimate(correct.mean(), resample(lambda items: correct[items].mean(), 1000))
    >>> 0.2 < found.low < found.value < found.high < 0.3
    True
    """
    if not 1 <= samples <= MAX_SAMPLES:
        raise ConfigError(f"samples is {samples}, but must be 1 to {MAX_SAMPLES:,}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}, but must be at least 0")
    random = np.random.default_rng(seed)
    return np.array([statistic(random.integers(items, size=items)) for _ in range(samples)])


def estimate(value: float, replicates: DoubleArray, confidence: float = CONFIDENCE) -> Estimate:
    """Return a value with the percentile interval of its bootstrap replicates.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.evaluation.bootstrap import estimate
    >>> estimate(50, np.arange(101.0), confidence=0.5)
    Estimate(value=50.0, low=25.0, high=75.0)
    """
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence is {confidence}, but must be between 0 and 1, for example 0.95")
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return Estimate(float(value), low, high)
