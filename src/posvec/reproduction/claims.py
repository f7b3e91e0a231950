"""What the paper says, put as comparisons of numbers, and whether the numbers measured here say the same.

The rule is RULE, which every report states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from posvec.reproduction.findings import Findings, Mean, Seed

RULE = (
    "A claim compares two numbers, seed by seed. It agrees with the paper if the mean of their differences has the "
    "sign that the paper says, or is within the tolerance given where the paper says “about”. Where the 95 % interval "
    "of the mean difference (Student's t over seeds) also allows the opposite, it is called uncertain; of one seed "
    "there is no interval."
)

Number = Callable[[Seed], float]


@dataclass(frozen=True)
class Claim:
    """``one`` is more than, less than or about ``other``."""

    text: str
    paper: str
    """What it has to show for it."""
    one: Number
    relation: Literal[">", "<", "≈"]
    other: Number | float
    number_format: str = ".2f"
    tolerance: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """A claim, the numbers measured here, and whether they agree with it; None if they were not measured."""

    claim: Claim
    one: Mean | None = None
    other: Mean | None = None
    agrees: bool | None = None
    is_certain: bool = True

    @property
    def here(self) -> str:
        if self.one is None or self.other is None:
            return "not measured"
        one, other = (each.shown(self.claim.number_format) for each in (self.one, self.other))
        about = f" (tolerance {self.claim.tolerance:{self.claim.number_format}})" if self.claim.tolerance else ""
        return f"{one} against {other}{about}"

    @property
    def word(self) -> str:
        if self.agrees is None:
            return ""
        word = "agrees" if self.agrees else "disagrees"
        if self.one is not None and self.one.seeds == 1:
            return f"{word} (one seed)"
        return word if self.is_certain else f"{word} (uncertain)"

    def sentence(self) -> str:
        return f"{self.claim.text}. The paper: {self.claim.paper}. Here: {self.here}; this {self.word}."


def judge(claim: Claim, findings: Findings) -> Verdict:
    """Over the seeds that have both numbers."""
    pairs = []
    for number in findings.seeds():
        seed = findings.seed(number)
        try:
            pairs.append((claim.one(seed), claim.other(seed) if callable(claim.other) else claim.other))
        except (LookupError, TypeError, ValueError, ZeroDivisionError):  # not measured, or nothing to compute it from
            continue
    if not pairs:
        return Verdict(claim)
    difference = Mean.of([one - other for one, other in pairs])
    half = difference.half or 0.0
    low, high = difference.value - half, difference.value + half
    if claim.relation == "≈":
        agrees = abs(difference.value) <= claim.tolerance
        certain = max(-low, high) <= claim.tolerance if agrees else low > claim.tolerance or high < -claim.tolerance
    else:
        sign = 1 if claim.relation == ">" else -1
        agrees = sign * difference.value > 0
        certain = low > 0 or high < 0
    one, other = map(Mean.of, zip(*pairs, strict=True))
    return Verdict(claim, one, other, agrees, certain)
