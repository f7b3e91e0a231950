"""Parsing of query arguments: words and vectors, each with a weight, to add or to subtract; integers and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from posvec.errors import ConfigError, PosvecError
from posvec.system.arrays import FloatArray

WordOrVector: TypeAlias = str | FloatArray
QueryItem: TypeAlias = WordOrVector | tuple[WordOrVector, float]
"""A word, a vector, or a pair of one of them and its weight."""
QueryItems: TypeAlias = QueryItem | Sequence[QueryItem]

WeightedItems: TypeAlias = list[tuple[WordOrVector, float]]


def parse_integer(name: str, value: object, least: int | None = None, remedy: str = "") -> int:
    """Return an argument as an int; raise ConfigError if it is not an integer, or is less than the least one.

    Examples
    --------
    >>> parse_integer("topn", 3)
    3
    >>> parse_integer("topn", float("nan"))
    Traceback (most recent call last):
    posvec.errors.ConfigError: topn must be an integer, not nan
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ConfigError(f"{name} must be an integer, not {_shown(value)}{remedy}")
    number = int(value)
    if least is not None and number < least:
        raise ConfigError(f"{name} is {_shown(number)}, but must be at least {least}{remedy}")
    return number


def parse_number(name: str, value: object) -> float:
    """Return an argument as a float; raise ConfigError if it is not a finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, str | bytes):
        raise ConfigError(f"{name} must be a finite number, not {_shown(value)}")
    return number


def parse_queries(
    positive: Sequence[QueryItems | None] | FloatArray, negative: Sequence[QueryItems | None] | None
) -> list[tuple[WeightedItems, WeightedItems]]:
    """Return the items that each query adds and those that it subtracts."""
    if isinstance(positive, str) or (isinstance(positive, np.ndarray) and positive.ndim != 2):
        raise PosvecError(
            "a batch must be a list of queries or a matrix with a query in each row; put a single query in a list"
        )
    if not isinstance(positive, Sequence | np.ndarray):
        raise PosvecError(f"a batch must be a list of queries or a matrix, not {_shown(positive)}")
    minus: Sequence[QueryItems | None] = [None] * len(positive) if negative is None else negative
    check_same_length(positive, minus)
    # Compat: as in gensim, an explicit weight of a negative item keeps its sign.
    return [(_weighted(plus, 1.0), _weighted(less, -1.0)) for plus, less in zip(positive, minus, strict=True)]


def check_same_length(first: Any, second: Any) -> None:
    """Raise unless both arguments are lists of the same length."""
    if isinstance(first, str) or isinstance(second, str):
        raise PosvecError("expected a list of words, not a single word; put it in a list")
    for each in (first, second):
        if not isinstance(each, Sized) or (isinstance(each, np.ndarray) and not each.ndim):
            raise PosvecError(f"expected a list, not {_shown(each)}")
    if len(first) != len(second):
        raise PosvecError(f"both lists must have the same length, not {len(first):,} and {len(second):,}")


def _weighted(given: QueryItems | None, weight: float) -> WeightedItems:
    if given is None:
        return []
    if isinstance(given, str) or _is_pair(given) or (isinstance(given, np.ndarray) and given.ndim == 1):
        given = [given]  # type: ignore[list-item]
    if (
        not isinstance(given, Sequence | np.ndarray)
        or isinstance(given, bytes)
        or (isinstance(given, np.ndarray) and not given.ndim)
    ):
        raise PosvecError(f"a query must be a word, a vector or a list of them, not {_shown(given)}")
    return [
        (item[0], parse_number("a weight", item[1])) if _is_pair(item) else (item, weight)  # type: ignore[misc,index]
        for item in given
    ]


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], str | np.ndarray)
        and isinstance(item[1], Real | np.number)
    )


def _shown(value: object) -> str:
    """Return the beginning of the representation of a value, for messages."""
    try:
        text = repr(value)
    except ValueError:  # Python does not convert integers of more than 4,300 digits
        text = f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}…"
