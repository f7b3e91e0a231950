"""The numbers that claims compare: where each is among what was measured with a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posvec.reproduction.claims import Number
from posvec.reproduction.findings import Seed


def value(experiment: str, variant: str, *keys: str) -> Number:
    def number(seed: Seed) -> float:
        found: Any = seed[experiment][variant]
        for key in keys:
            found = found[key]
        return float(found)

    return number


def ratio(one: Number, other: Number) -> Number:
    return lambda seed: one(seed) / other(seed)


def best_accuracy(model: str) -> Number:
    """The highest accuracy over window sizes."""
    return lambda seed: max(
        values["accuracy"] for name, values in seed["windows"].items() if name.startswith(f"{model} ")
    )


def near(model: str, *positions: int) -> Number:
    """The mean importance of some positions."""
    return lambda seed: sum(seed["positions"][model][f"{each:+d}"] for each in positions) / len(positions)


def beyond(model: str, low: float, high: float, left: bool = False) -> Number:
    """The mean importance of positions at some shares of the window from the masked word."""

    def number(seed: Seed) -> float:
        importance = {int(position): each for position, each in seed["positions"][model].items()}
        window = max(importance)
        chosen = [
            value
            for position, value in importance.items()
            if max(2, low * window) < abs(position) <= high * window and not (left and position > 0)
        ]
        return float(sum(chosen) / len(chosen))

    return number


def spread(model: str) -> Number:
    """Of importance beyond +-2: the deviation from its mean."""

    def number(seed: Seed) -> float:
        values = [value for position, value in seed["positions"][model].items() if abs(int(position)) > 2]
        mean = sum(values) / len(values)
        deviation: float = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        return deviation

    return number


def cluster_size(model: str, *names: str) -> Number:
    """How many features there are in some clusters, those numbered of one name together."""
    return lambda seed: sum(
        each["size"] for name, each in seed["clusters"][model]["clusters"].items() if name.partition("-")[0] in names
    )


def in_class(model: str, cluster: str, words: Sequence[str]) -> Number:
    """The share of some words which a cluster maximizes."""

    def number(seed: Seed) -> float:
        classes = seed["context-words"][model]["classes"]
        # all of them, or nothing is said: "in" alone may as well be a word of another language
        found = [classes[word].partition("-")[0] == cluster for word in words]
        return float(sum(found) / len(found))

    return number
