"""The claims of the paper about initial values and positional vectors, by experiment."""

from __future__ import annotations

from collections.abc import Mapping

from posvec.reproduction.claims import Claim
from posvec.reproduction.paper import CLASSES, SENTENCES
from posvec.reproduction.quantities import (
    class_fraction,
    cluster_size,
    importance_at,
    importance_between,
    importance_deviation,
    ratio,
    value,
)

POSITIONAL_CLAIMS: Mapping[str, tuple[Claim, ...]] = {
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
            "Initializing positional vectors as vanilla subwords makes the variance of the product vanish",
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
            "Positional model: importance decreases sharply from positions ±1 to ±2",
            "a sharp decrease, in the figure",
            importance_at("positional", -1, 1),
            ">",
            importance_at("positional", -2, 2),
        ),
        Claim(
            "Constrained model: importance decreases sharply from positions ±1 to ±2",
            "a sharp decrease, in the figure",
            importance_at("constrained", -1, 1),
            ">",
            importance_at("constrained", -2, 2),
        ),
        Claim(
            "Positional model: beyond ±2 importance increases with distance (the outer third of the window against the "
            "inner third)",
            "it increases, in the figure",
            importance_between("positional", 2 / 3, 1),
            ">",
            importance_between("positional", 0, 1 / 3),
        ),
        Claim(
            "Positional model: far to the left (p < −12 of 15) importance even exceeds that of p = −2",
            "it exceeds, in the figure",
            importance_between("positional", 12 / 15, 1, left_only=True),
            ">",
            importance_at("positional", -2),
        ),
        Claim(
            "Constrained model: beyond ±2 importance is almost constant (standard deviation below 0.1)",
            "almost constant, in the figure",
            importance_deviation("constrained"),
            "<",
            0.1,
        ),
    ),
    "clusters": (
        Claim(
            "Positional model: the informational cluster is larger than the antepositional one",
            "larger; 224 of 300 against a part of 76",
            cluster_size("positional", "informational"),
            ">",
            cluster_size("positional", "antepositional"),
            ".0f",
        ),
        Claim(
            "Positional model: the informational cluster is larger than the postpositional one",
            "larger; 224 of 300 against a part of 76",
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
            "Constrained model: there are both antepositional and postpositional features",
            "two clusters, one for each side",
            lambda seed: min(cluster_size("constrained", name)(seed) for name in ("antepositional", "postpositional")),
            ">",
            0.0,
            ".0f",
        ),
    ),
    "context-words": tuple(
        Claim(
            f"Positional model: more than half of the words that the paper calls {cluster} ({', '.join(words)}) are "
            f"{cluster}",
            "all three",
            class_fraction("positional", cluster, words),
            ">",
            0.5,
            ".0%",
        )
        for cluster, words in CLASSES.items()
    ),
}
