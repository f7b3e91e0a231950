"""Optional dependencies: imported where they are used, with an error that names the extra to install if absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from posvec.errors import PosvecError


def require_extra(module: str, extra: str) -> Any:
    """Import a module of an optional dependency; raise PosvecError that names the extra to install if it is missing.

    Examples
    --------
    >>> require_extra("no_such_module", "example")
    Traceback (most recent call last):
    posvec.errors.PosvecError: this needs no_such_module (...); install it with: pip install "posvec[example]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise PosvecError(
            f'this needs {module.partition(".")[0]} ({error}); install it with: pip install "posvec[{extra}]"'
        ) from error
