"""The paper's sentences, words and numbers."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES = ("unlike dogs cats [MASK]", "unlike cats dogs [MASK]", "fruit flies like [MASK]", "[MASK] flies like fruit")
"""The sentences of the table of masked words."""
MASKED_WORDS = ("mew", "bark", "moisture", "vegetable")
"""The words whose probabilities are in that table."""
CLASSES = {
    "antepositional": ("in", "for", "coca"),
    "postpositional": ("ago", "else", "cola"),
    "informational": ("finance", "sports", "politics"),
}
"""The context words that the text of the paper names for each cluster."""
SHAPES: dict[str, tuple[int, int | None]] = {"subword": (5, None), "positional": (15, 300), "constrained": (15, 60)}
"""The best c and D' of each model, from Table 1."""

PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "models": {"subword": 71.0, "positional": 252.0, "constrained": 125.0},
    "windows": {
        "subword 5": 65.3, "subword 10": 63.3, "subword 20": 60.7,
        "subword 30": 58.6, "subword 40": 58.0, "subword 50": 58.2,
        "positional 5": 70.7, "positional 10": 71.8, "positional 20": 71.7,
        "positional 30": 71.7, "positional 40": 71.7, "positional 50": 70.5,
    },
    "positional-features": {
        "constrained 0": 62.0, "constrained 50": 74.7, "constrained 60": 75.0, "constrained 100": 74.2,
        "constrained 150": 74.2, "constrained 200": 74.0, "constrained 250": 72.9, "constrained 300": 72.4,
    },
    "initializers": {"vanilla": 51.0, "identity": 75.0, "uniform": 74.3, "sqrt_normal_as_run": 75.0},
    "language-model": {"subword": 360.91, "positional": 347.52, "constrained": 343.13},
}  # fmt: skip
"""The results of each experiment by variant: minutes, percent or perplexities."""
