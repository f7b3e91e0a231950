"""What the paper says: its numbers, and its claims as comparisons of numbers that are measured here too."""

from __future__ import annotations

from collections.abc import Mapping

from posvec.reproduction.claims import Claim
from posvec.reproduction.numbers import (
    best_accuracy,
    beyond,
    cluster_size,
    in_class,
    near,
    ratio,
    spread,
    value,
)

SENTENCES = ("unlike dogs cats [MASK]", "unlike cats dogs [MASK]", "fruit flies like [MASK]", "[MASK] flies like fruit")
"""Of its table of masked words."""
MASKED_WORDS = ("mew", "bark", "moisture", "vegetable")
"""Whose probabilities that table has."""
CLASSES = {
    "antepositional": ("in", "for", "coca"),
    "postpositional": ("ago", "else", "cola"),
    "informational": ("finance", "sports", "politics"),
}
"""The context words that it names for each cluster."""
SHAPES: dict[str, tuple[int, int | None]] = {"subword": (5, None), "positional": (15, 300), "constrained": (15, 60)}
"""The best c and D' of each model, of Table 1."""

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
"""Of each experiment, by the name of the variant: minutes, percent, perplexities."""

CLAIMS: Mapping[str, tuple[Claim, ...]] = {
    "initial-values": (
        Claim(
            "The square-root normal distribution keeps the variance of the subword model",
            "a ratio of variances in (0.95, 1] with k = 9",
            value("initial-values", "sqrt_normal", "variance_ratio"),
            "≈",
            1.0,
            ".3f",
            0.06,
        ),
        Claim(
            "Positions same as vanilla subwords make the variance of the product vanish",
            "1/9D⁴ ≪ 1/3D²",
            value("initial-values", "vanilla", "variance_ratio"),
            "<",
            0.01,
            ".2g",
        ),
    ),
    "variances": (
        Claim(
            "With k = 9 the variance is more than 0.95 of what it is in the limit",
            "in (0.95, 1]",
            lambda seed: seed["variances"]["sqrt_normal"]["variances"][9],
            ">",
            0.95,
            ".3f",
        ),
    ),
    "masked-words": (
        Claim(
            "Positional model: after “unlike dogs cats”, mew is more probable than bark",
            "mew 100 %, bark 99.7 %",
            value("masked-words", "positional", SENTENCES[0], "mew", "probability"),
            ">",
            value("masked-words", "positional", SENTENCES[0], "bark", "probability"),
            ".1%",
        ),
        Claim(
            "Positional model: after “unlike cats dogs”, mew is less probable than bark",
            "mew 99.8 %, bark 99.9 %",
            value("masked-words", "positional", SENTENCES[1], "mew", "probability"),
            "<",
            value("masked-words", "positional", SENTENCES[1], "bark", "probability"),
            ".1%",
        ),
        Claim(
            "Constrained model: moisture is more probable in “fruit flies like …” than in “… flies like fruit”",
            "69.6 % and 42.8 %",
            value("masked-words", "constrained", SENTENCES[2], "moisture", "probability"),
            ">",
            value("masked-words", "constrained", SENTENCES[3], "moisture", "probability"),
            ".1%",
        ),
        Claim(
            "Constrained model: vegetable is about as probable in both of these",
            "99.9 % and 99.9 %",
            value("masked-words", "constrained", SENTENCES[2], "vegetable", "probability"),
            "≈",
            value("masked-words", "constrained", SENTENCES[3], "vegetable", "probability"),
            ".1%",
            0.05,
        ),
    ),
    "positions": (
        Claim(
            "Positional model: importance falls sharply from positions ±1 to ±2",
            "a sharp fall, in the figure",
            near("positional", -1, 1),
            ">",
            near("positional", -2, 2),
        ),
        Claim(
            "Constrained model: importance falls sharply from positions ±1 to ±2",
            "a sharp fall, in the figure",
            near("constrained", -1, 1),
            ">",
            near("constrained", -2, 2),
        ),
        Claim(
            "Positional model: beyond ±2 importance rises with distance (the outer third of the window against the "
            "inner third)",
            "it increases, in the figure",
            beyond("positional", 2 / 3, 1),
            ">",
            beyond("positional", 0, 1 / 3),
        ),
        Claim(
            "Positional model: far to the left (p < −12 of 15) it even exceeds that of p = −2",
            "it exceeds, in the figure",
            beyond("positional", 12 / 15, 1, left=True),
            ">",
            near("positional", -2),
        ),
        Claim(
            "Constrained model: beyond ±2 importance is almost constant (its deviation is less than 0.1)",
            "almost constant, in the figure",
            spread("constrained"),
            "<",
            0.1,
        ),
    ),
    "clusters": (
        Claim(
            "Positional model: the informational cluster is bigger than the antepositional one",
            "bigger; 224 of 300 against some of 76",
            cluster_size("positional", "informational"),
            ">",
            cluster_size("positional", "antepositional"),
            ".0f",
        ),
        Claim(
            "Positional model: the informational cluster is bigger than the postpositional one",
            "bigger; 224 of 300 against some of 76",
            cluster_size("positional", "informational"),
            ">",
            cluster_size("positional", "postpositional"),
            ".0f",
        ),
        Claim(
            "Positional model: about a quarter of the features are ante- or postpositional",
            "76 of 300 (25.3 %)",
            ratio(
                cluster_size("positional", "antepositional", "postpositional"),
                cluster_size("positional", "antepositional", "postpositional", "informational"),
            ),
            "≈",
            76 / 300,
            ".1%",
            0.1,
        ),
        Claim(
            "Constrained model: there are antepositional and postpositional features alone, and of both",
            "two clusters, one for each side",
            lambda seed: min(cluster_size("constrained", name)(seed) for name in ("antepositional", "postpositional")),
            ">",
            0.0,
            ".0f",
        ),
    ),
    "context-words": tuple(
        Claim(
            f"Positional model: the words that the paper names for it are {cluster} ({', '.join(words)}): "
            "at least half of them",
            "all three",
            in_class("positional", cluster, words),
            ">",
            0.5,
            ".0%",
        )
        for cluster, words in CLASSES.items()
    ),
    "models": (
        Claim(
            "The constrained model trains faster than the positional model (CPU seconds)",
            "2h05 and 4h12",
            value("models", "constrained", "cpu_seconds"),
            "<",
            value("models", "positional", "cpu_seconds"),
            ".0f",
        ),
        Claim(
            "The constrained model trains twice as fast as the positional model (CPU seconds)",
            "a ratio of 2.0",
            ratio(value("models", "positional", "cpu_seconds"), value("models", "constrained", "cpu_seconds")),
            "≈",
            2.0,
            ".2f",
            0.5,
        ),
        Claim(
            "The subword model trains faster than the constrained model (CPU seconds)",
            "1h11 and 2h05",
            value("models", "subword", "cpu_seconds"),
            "<",
            value("models", "constrained", "cpu_seconds"),
            ".0f",
        ),
        Claim(
            "On all of the text, the positional model is more accurate than the subword model",
            "71.8 % and 65.3 % at their best, in the figure of window sizes",
            value("models", "positional", "accuracy"),
            ">",
            value("models", "subword", "accuracy"),
            ".1%",
        ),
        Claim(
            "On all of the text, the constrained model is more accurate than the positional model",
            "75.0 % and 72.4 %, in the figure of D′",
            value("models", "constrained", "accuracy"),
            ">",
            value("models", "positional", "accuracy"),
            ".1%",
        ),
    ),
    "windows": (
        Claim(
            "The accuracy of the subword model declines as the window grows from 5 to 50",
            "65.3 % at c = 5, 58.2 % at c = 50",
            value("windows", "subword 5", "accuracy"),
            ">",
            value("windows", "subword 50", "accuracy"),
            ".1%",
        ),
        Claim(
            "The positional model copes with windows up to 40: it is at least as accurate there as with 5",
            "70.7 % at c = 5, 71.7 % at c = 40",
            value("windows", "positional 40", "accuracy"),
            ">",
            value("windows", "positional 5", "accuracy"),
            ".1%",
        ),
        Claim(
            "At its best window the positional model is more accurate than the subword model at its own",
            "71.8 % and 65.3 %",
            best_accuracy("positional"),
            ">",
            best_accuracy("subword"),
            ".1%",
        ),
    ),
    "positional-features": (
        Claim(
            "Some positional features (D′ = 60) are better than none",
            "75.0 % and 62.0 %",
            value("positional-features", "constrained 60", "accuracy"),
            ">",
            value("positional-features", "constrained 0", "accuracy"),
            ".1%",
        ),
        Claim(
            "Some positional features (D′ = 60) are better than all features being positional",
            "75.0 % and 72.4 %",
            value("positional-features", "constrained 60", "accuracy"),
            ">",
            value("positional-features", "constrained 300", "accuracy"),
            ".1%",
        ),
    ),
    "initializers": (
        Claim(
            "Positions same as vanilla subwords train worst: worse than the square-root normal distribution as run",
            "51.0 % and 75.0 %",
            value("initializers", "vanilla", "accuracy"),
            "<",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
        ),
        Claim(
            "Identity positions are about as good as the square-root normal distribution as run",
            "75.0 % and 75.0 %",
            value("initializers", "identity", "accuracy"),
            "≈",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
            0.02,
        ),
        Claim(
            "The uniform distribution is about as good as the square-root normal distribution as run",
            "74.3 % and 75.0 %",
            value("initializers", "uniform", "accuracy"),
            "≈",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
            0.02,
        ),
        Claim(
            "Identity positions explode for D > 600 (1: training overflowed, 0: it did not)",
            "NaN as the training continues",
            lambda seed: float("overflowed" in seed["initializers"]["identity, large D"]),
            ">",
            0.0,
            ".0f",
        ),
    ),
    "language-model": (
        Claim(
            "The positional model gives a lower test perplexity than the subword model",
            "347.52 and 360.91",
            value("language-model", "positional", "test"),
            "<",
            value("language-model", "subword", "test"),
            ".1f",
        ),
        Claim(
            "The constrained model gives a lower test perplexity than the subword model",
            "343.13 and 360.91",
            value("language-model", "constrained", "test"),
            "<",
            value("language-model", "subword", "test"),
            ".1f",
        ),
        Claim(
            "The constrained model gives a lower test perplexity than the positional model",
            "343.13 and 347.52",
            value("language-model", "constrained", "test"),
            "<",
            value("language-model", "positional", "test"),
            ".1f",
        ),
    ),
    "search": (
        Claim(
            "The positional model wants a larger window than the subword model",
            "c = 15 and c = 5",
            value("search", "positional", "window"),
            ">",
            value("search", "subword", "window"),
            ".0f",
        ),
        Claim(
            "The constrained model wants a larger window than the subword model",
            "c = 15 and c = 5",
            value("search", "constrained", "window"),
            ">",
            value("search", "subword", "window"),
            ".0f",
        ),
    ),
}
