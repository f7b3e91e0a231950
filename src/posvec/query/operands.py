"""What neighbours are asked by: words and vectors, each with a weight, some to add and some to subtract."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from posvec.errors import PosvecError
from posvec.system.arrays import FloatArray

WordOrVector: TypeAlias = str | FloatArray
Item: TypeAlias = WordOrVector | tuple[WordOrVector, float]
"""A word, a vector, or a pair of one of them and its weight."""
Items: TypeAlias = Item | Sequence[Item]

Weighted: TypeAlias = list[tuple[WordOrVector, float]]


def questions(
    positive: Sequence[Items | None] | FloatArray, negative: Sequence[Items | None] | None
) -> list[tuple[Weighted, Weighted]]:
    """What each question adds and what it subtracts."""
    if isinstance(positive, str) or (isinstance(positive, np.ndarray) and positive.ndim != 2):
        raise PosvecError("a batch is a list of words or of lists of words, or a matrix; put a single query in a list")
    minus: Sequence[Items | None] = [None] * len(positive) if negative is None else negative
    same_length(positive, minus)
    # Compat: as in gensim, the weight of a pair among the negative items is taken with the sign that it has.
    return [(_items(plus, 1.0), _items(less, -1.0)) for plus, less in zip(positive, minus, strict=True)]


def _items(given: Items | None, weight: float) -> Weighted:
    if given is None:
        return []
    if isinstance(given, str) or _is_pair(given) or (isinstance(given, np.ndarray) and given.ndim == 1):
        given = [given]  # type: ignore[list-item]
    if not isinstance(given, Sequence | np.ndarray):
        raise PosvecError(f"a query is a word, a vector or a list of them, and {given!r} is none")
    return [item if _is_pair(item) else (item, weight) for item in given]  # type: ignore[misc]


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], str | np.ndarray)
        and isinstance(item[1], Real | np.number)
    )


def same_length(ones: Any, others: Any) -> None:
    if isinstance(ones, str) or isinstance(others, str):
        raise PosvecError("lists are compared here, and this is a single word; put it in a list")
    if len(ones) != len(others):
        raise PosvecError(f"what belongs together differs in number: {len(ones):,} and {len(others):,}; give as many")
