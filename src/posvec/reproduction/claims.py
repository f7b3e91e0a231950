"""Claims of the paper as comparisons of two numbers, and whether the numbers measured here agree with them.

The rule of the comparison is RULE, which every report states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from posvec.reproduction.findings import Findings, Mean, SeedValues

RULE = (
    "A claim compares two numbers, seed by seed. It agrees with the paper if the mean difference has the sign that the "
    "paper claims or, where the paper claims “about”, is within the given tolerance. It is called uncertain if the "
    "95 % interval of the mean difference (Student's t over seeds) includes the opposite outcome; one seed has no "
    "interval."
)

Quantity = Callable[[SeedValues], float]
"""Finds or computes a number in what was measured with one seed."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: ``left`` is greater than, less than or about ``right``."""

    text: str
    paper: str
    """The evidence in the paper."""
    left: Quantity
    relation: Literal[">", "<", "≈"]
    right: Quantity | float
    number_format: str = ".2f"
    tolerance: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """Whether the numbers measured here agree with a claim."""

    claim: Claim
    left: Mean | None = None
    right: Mean | None = None
    agrees: bool | None = None
    """None if the numbers were not measured."""
    is_certain: bool = True

    @property
    def measured(self) -> str:
        """The numbers measured here as text."""
        if self.left is None or self.right is None:
            return "not measured"
        left, right = (each.format(self.claim.number_format) for each in (self.left, self.right))
        about = f" (tolerance {self.claim.tolerance:{self.claim.number_format}})" if self.claim.tolerance else ""
        return f"{left} against {right}{about}"

    @property
    def label(self) -> str:
        """The verdict as text: agrees or disagrees, perhaps uncertain; empty if nothing was measured."""
        if self.agrees is None:
            return ""
        label = "agrees" if self.agrees else "disagrees"
        if self.left is not None and self.left.seeds == 1:
            return f"{label} (one seed)"
        return label if self.is_certain else f"{label} (uncertain)"

    def sentence(self) -> str:
        """Return the claim, the numbers and the verdict."""
        return f"{self.claim.text}. The paper: {self.claim.paper}. Here: {self.measured}; this {self.label}."


def judge(claim: Claim, findings: Findings) -> Verdict:
    """Compare a claim with the findings, over the seeds that have both numbers."""
    pairs = []
    for number in findings.seeds():
        seed = findings.seed(number)
        try:
            pairs.append((claim.left(seed), claim.right(seed) if callable(claim.right) else claim.right))
        except (LookupError, TypeError, ValueError, ZeroDivisionError):  # not measured, or not computable
            continue
    if not pairs:
        return Verdict(claim)
    difference = Mean.of([left - right for left, right in pairs])
    half_width = difference.half_width or 0.0
    low, high = difference.value - half_width, difference.value + half_width
    if claim.relation == "≈":
        agrees = abs(difference.value) <= claim.tolerance
        certain = max(-low, high) <= claim.tolerance if agrees else low > claim.tolerance or high < -claim.tolerance
    else:
        sign = 1 if claim.relation == ">" else -1
        agrees = sign * difference.value > 0
        certain = low > 0 or high < 0
    left, right = map(Mean.of, zip(*pairs, strict=True))
    return Verdict(claim, left, right, agrees, certain)
