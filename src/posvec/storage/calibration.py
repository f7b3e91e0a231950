"""The calibration of a model: how its scores become probabilities of masked words.

Negative sampling with k negatives from the distribution Pn, on text from which subsampling keeps a token of the word w
with probability keep(w), learns

    s(w, C) = log P(w | C) + log keep(w) - log Pn(w) + const

so that P(w | C) is proportional to exp(s(w, C)) Pn(w) / keep(w), if the scores are right. They are over-confident if
there was little text, and then the prior P(w) = count(w) / sum of counts deserves more weight. With N context words of
at most 2c, and s_h the score of head h,

    log P(w | C) = sum_h (a_h + b_h log(N / 2c)) s_h(w, C) + p log P(w) + q log(Pn(w) / (keep(w) P(w))) - log Z(C)

where Z(C) makes the probabilities sum to 1. All parameters are fitted by maximum likelihood on text that the model was
not trained on (:mod:`posvec.query.calibrating`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from posvec.storage.parsing import parse_record


@dataclass(frozen=True)
class Calibration:
    """The parameters that turn scores into probabilities.

    Attributes
    ----------
    factors
        a, the factor of the score of each head.
    length_factors
        b, for each head, what is added to its factor for each unit of log(N / 2c).
    prior
        p, the factor of log P(w).
    noise
        q, the factor of log(Pn(w) / (keep(w) P(w))).
    masked_words
        The number of masked words on which the parameters were fitted; 0 if they follow from theory alone.

    Examples
    --------
    >>> from posvec.storage.calibration import Calibration
    >>> Calibration.of_theory(heads=1)
    Calibration(factors=(1.0,), length_factors=(0.0,), prior=1.0, noise=1.0, masked_words=0)
    """

    factors: tuple[float, ...]
    length_factors: tuple[float, ...]
    prior: float = 1.0
    noise: float = 1.0
    masked_words: int = 0

    @staticmethod
    def of_theory(heads: int) -> Calibration:
        """Return the parameters of perfect scores. Several heads, which predict the same, count equally."""
        return Calibration((1 / heads,) * heads, (0.0,) * heads)

    def to_dict(self) -> dict[str, Any]:
        """Return the values to save as JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any], heads: int) -> Calibration:
        """Return the calibration of values from :meth:`to_dict`; TypeError if they do not fit a model."""
        calibration = parse_record(Calibration, values)
        if len(calibration.factors) != heads or len(calibration.length_factors) != heads:
            raise TypeError(f"the calibration is that of a model with another number of heads, not of {heads}")
        return calibration
