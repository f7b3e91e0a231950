"""Compat: language models live in :mod:`posvec.language_model`; this is their earlier import path."""

from __future__ import annotations

from posvec.language_model import __all__ as __all__
from posvec.language_model import __getattr__ as __getattr__
