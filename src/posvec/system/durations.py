"""Times as people write them."""

from __future__ import annotations

import math
import re

from posvec.errors import ConfigError

_PARTS = re.compile(r"(?:([\d.]+)d)?(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?")


def parse_duration(value: float | str) -> float:
    """Return the number of seconds of a time, written as 90, 90s, 10m, 1h30m or 2d.

    Raises
    ------
    ConfigError
        If it is not a positive time.

    Examples
    --------
    >>> parse_duration("1h30m"), parse_duration(90)
    (5400.0, 90.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    found = _PARTS.fullmatch(str(value).replace(" ", ""))
    try:
        parts = [float(part or 0) for part in found.groups()] if found else []
    except ValueError:
        parts = []
    seconds = sum(part * size for part, size in zip(parts, (86400, 3600, 60, 1), strict=False))
    if not 0 < seconds < math.inf or isinstance(value, bool):
        raise ConfigError(f"{value!r} is not a valid duration; use for example 90s, 10m or 1h30m")
    return float(seconds)
