"""Libraries that only some users need: imported where they are used, and named by their extra where they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from posvec.errors import PosvecError


def require_extra(module: str, extra: str) -> Any:
    """The module, or a PosvecError that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise PosvecError(
            f'this needs {module.partition(".")[0]} ({error}); install it with: pip install "posvec[{extra}]"'
        ) from error
