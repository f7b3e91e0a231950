"""Parsing of query arguments: words and vectors, each with a weight, to add or to subtract."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from posvec.errors import PosvecError
from posvec.system.arrays import FloatArray

WordOrVector: TypeAlias = str | FloatArray
QueryItem: TypeAlias = WordOrVector | tuple[WordOrVector, float]
"""A word, a vector, or a pair of one of them and its weight."""
QueryItems: TypeAlias = QueryItem | Sequence[QueryItem]

WeightedItems: TypeAlias = list[tuple[WordOrVector, float]]


def parse_queries(
    positive: Sequence[QueryItems | None] | FloatArray, negative: Sequence[QueryItems | None] | None
) -> list[tuple[WeightedItems, WeightedItems]]:
    """Return the items that each query adds and those that it subtracts."""
    if isinstance(positive, str) or (isinstance(positive, np.ndarray) and positive.ndim != 2):
        raise PosvecError(
            "a batch must be a list of queries or a matrix with a query in each row; put a single query in a list"
        )
    minus: Sequence[QueryItems | None] = [None] * len(positive) if negative is None else negative
    check_same_length(positive, minus)
    # Compat: as in gensim, an explicit weight of a negative item keeps its sign.
    return [(_weighted(plus, 1.0), _weighted(less, -1.0)) for plus, less in zip(positive, minus, strict=True)]


def check_same_length(first: Any, second: Any) -> None:
    """Raise unless both arguments are lists of the same length."""
    if isinstance(first, str) or isinstance(second, str):
        raise PosvecError("expected a list of words, not a single word; put it in a list")
    if len(first) != len(second):
        raise PosvecError(f"both lists must have the same length, not {len(first):,} and {len(second):,}")


def _weighted(given: QueryItems | None, weight: float) -> WeightedItems:
    if given is None:
        return []
    if isinstance(given, str) or _is_pair(given) or (isinstance(given, np.ndarray) and given.ndim == 1):
        given = [given]  # type: ignore[list-item]
    if not isinstance(given, Sequence | np.ndarray):
        raise PosvecError(f"a query must be a word, a vector or a list of them, not {given!r}")
    return [item if _is_pair(item) else (item, weight) for item in given]  # type: ignore[misc]


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], str | np.ndarray)
        and isinstance(item[1], Real | np.number)
    )
