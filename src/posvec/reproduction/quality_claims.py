"""The claims of the paper about training times, accuracy, perplexity and optimal settings, by experiment."""

from __future__ import annotations

from collections.abc import Mapping

from posvec.reproduction.claims import Claim
from posvec.reproduction.quantities import best_accuracy, ratio, value

QUALITY_CLAIMS: Mapping[str, tuple[Claim, ...]] = {
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
            "On the main corpus, the positional model is more accurate than the subword model",
            "71.8 % and 65.3 % at their best, in the figure of window sizes",
            value("models", "positional", "accuracy"),
            ">",
            value("models", "subword", "accuracy"),
            ".1%",
        ),
        Claim(
            "On the main corpus, the constrained model is more accurate than the positional model",
            "75.0 % and 72.4 %, in the figure of D′",
            value("models", "constrained", "accuracy"),
            ">",
            value("models", "positional", "accuracy"),
            ".1%",
        ),
    ),
    "windows": (
        Claim(
            "The accuracy of the subword model is higher with a window of 5 than of 50",
            "65.3 % at c = 5, 58.2 % at c = 50",
            value("windows", "subword 5", "accuracy"),
            ">",
            value("windows", "subword 50", "accuracy"),
            ".1%",
        ),
        Claim(
            "The accuracy of the positional model is higher with a window of 40 than of 5",
            "70.7 % at c = 5, 71.7 % at c = 40",
            value("windows", "positional 40", "accuracy"),
            ">",
            value("windows", "positional 5", "accuracy"),
            ".1%",
        ),
        Claim(
            "At its best window the positional model is more accurate than the subword model at its best window",
            "71.8 % and 65.3 %",
            best_accuracy("positional"),
            ">",
            best_accuracy("subword"),
            ".1%",
        ),
    ),
    "positional-features": (
        Claim(
            "60 positional features give a higher accuracy than none",
            "75.0 % and 62.0 %",
            value("positional-features", "constrained 60", "accuracy"),
            ">",
            value("positional-features", "constrained 0", "accuracy"),
            ".1%",
        ),
        Claim(
            "60 positional features give a higher accuracy than 300, which are all features",
            "75.0 % and 72.4 %",
            value("positional-features", "constrained 60", "accuracy"),
            ">",
            value("positional-features", "constrained 300", "accuracy"),
            ".1%",
        ),
    ),
    "initializers": (
        Claim(
            "Initializing positional vectors as vanilla subwords is less accurate than the square-root normal "
            "distribution as run",
            "51.0 % and 75.0 %",
            value("initializers", "vanilla", "accuracy"),
            "<",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
        ),
        Claim(
            "The identity initializer is about as accurate as the square-root normal distribution as run",
            "75.0 % and 75.0 %",
            value("initializers", "identity", "accuracy"),
            "≈",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
            0.02,
        ),
        Claim(
            "The uniform distribution is about as accurate as the square-root normal distribution as run",
            "74.3 % and 75.0 %",
            value("initializers", "uniform", "accuracy"),
            "≈",
            value("initializers", "sqrt_normal_as_run", "accuracy"),
            ".1%",
            0.02,
        ),
        Claim(
            "With the identity initializer, training explodes for D > 600 (1: it overflowed, 0: it did not)",
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
            "The best window of the positional model is larger than that of the subword model",
            "c = 15 and c = 5",
            value("search", "positional", "window"),
            ">",
            value("search", "subword", "window"),
            ".0f",
        ),
        Claim(
            "The best window of the constrained model is larger than that of the subword model",
            "c = 15 and c = 5",
            value("search", "constrained", "window"),
            ">",
            value("search", "subword", "window"),
            ".0f",
        ),
    ),
}
