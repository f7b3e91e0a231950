"""The quantities that claims compare; each is a function of what was measured with one seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posvec.reproduction.claims import Quantity
from posvec.reproduction.findings import SeedValues


def value(experiment: str, variant: str, *keys: str) -> Quantity:
    """Return a number as it was measured."""

    def number(seed: SeedValues) -> float:
        found: Any = seed[experiment][variant]
        for key in keys:
            found = found[key]
        return float(found)

    return number


def ratio(numerator: Quantity, denominator: Quantity) -> Quantity:
    """Return the ratio of two quantities."""
    return lambda seed: numerator(seed) / denominator(seed)


def best_accuracy(model: str) -> Quantity:
    """Return the highest accuracy over window sizes."""
    return lambda seed: max(
        values["accuracy"] for name, values in seed["windows"].items() if name.startswith(f"{model} ")
    )


def importance_at(model: str, *positions: int) -> Quantity:
    """Return the mean importance of some positions."""
    return lambda seed: sum(seed["positions"][model][f"{each:+d}"] for each in positions) / len(positions)


def importance_between(model: str, low: float, high: float, left_only: bool = False) -> Quantity:
    """Return the mean importance of positions beyond ±2 whose distance is between two fractions of the window size."""

    def number(seed: SeedValues) -> float:
        importance = {int(position): each for position, each in seed["positions"][model].items()}
        window = max(importance)
        chosen = [
            each
            for position, each in importance.items()
            if max(2, low * window) < abs(position) <= high * window and not (left_only and position > 0)
        ]
        return float(sum(chosen) / len(chosen))

    return number


def importance_deviation(model: str) -> Quantity:
    """Return the standard deviation of importance over positions beyond ±2."""

    def number(seed: SeedValues) -> float:
        values = [value for position, value in seed["positions"][model].items() if abs(int(position)) > 2]
        mean = sum(values) / len(values)
        deviation: float = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
        return deviation

    return number


def cluster_size(model: str, *names: str) -> Quantity:
    """Return the number of features in some clusters; numbered clusters of the same name are added up."""
    return lambda seed: sum(
        each["size"] for name, each in seed["clusters"][model]["clusters"].items() if name.partition("-")[0] in names
    )


def class_fraction(model: str, cluster: str, words: Sequence[str]) -> Quantity:
    """Return the fraction of some words that belong to the class of a cluster."""

    def number(seed: SeedValues) -> float:
        classes = seed["context-words"][model]["classes"]
        # If any word is missing, the KeyError means "not measured": the corpus is probably in another language.
        found = [classes[word].partition("-")[0] == cluster for word in words]
        return float(sum(found) / len(found))

    return number
