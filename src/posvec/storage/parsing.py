"""Records from saved values: dataclasses of numbers and strings, each checked by the type of its field."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def parse_record(kind: type[T], values: Any, made: Mapping[str, Any] = MappingProxyType({})) -> T:
    """Create a record of saved values, because a file can hold anything.

    Parameters
    ----------
    kind
        The dataclass of the record.
    values
        The values, as read from JSON.
    made
        Fields that were created already.

    Raises
    ------
    TypeError
        If a key is missing or unknown, or if a value has another type, is infinite or NaN, or is a negative number of
        items or seconds.

    Examples
    --------
    >>> from posvec.storage.records import EpochReport
    >>> parse_record(EpochReport, {"loss": 2.5, "validation_loss": None, "seconds": 3})
    EpochReport(loss=2.5, validation_loss=None, seconds=3)
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{values!r:.80} does not describe a {kind.__name__}")
    hints = get_type_hints(kind)
    if unknown := values.keys() - hints.keys():
        raise TypeError(f"a {kind.__name__} has no {min(unknown)!r:.80}")
    required = {field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}  # type: ignore[arg-type]
    if missing := required - values.keys() - made.keys():
        raise TypeError(f"{min(missing)} is missing")
    parsed = {name: _parse(name, value, hints[name]) for name, value in values.items() if name not in made}
    return kind(**parsed, **made)


def _parse(name: str, value: Any, hint: Any) -> Any:
    """Return a saved value as the type that its field has."""
    inner = get_args(hint)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):  # both are lists in JSON
        kinds = [inner[0]] * len(value) if inner[-1] is ... else inner
        if len(value) == len(kinds):
            return tuple(_parse(name, *each) for each in zip(value, kinds, strict=True))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return parse_record(hint, value)
    if not _fits(value, hint) or (name.endswith(_SECONDS) and value < 0):
        raise TypeError(f"{name} is {value!r:.80}")
    return value


# How the names of measured times end.
_SECONDS = ("seconds", "seconds_waited", "counting", "encoding", "initializing")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has a type; integers are counts, which are not negative, and numbers are finite."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(_fits(value, each) for each in inner)
    if kind is list:
        return isinstance(value, list) and all(_fits(each, inner[0]) for each in value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT
    if hint is float:
        return (isinstance(value, float) and math.isfinite(value)) or _fits(value, int)
    return isinstance(value, kind or hint)


_MAX_COUNT = 1 << 63
