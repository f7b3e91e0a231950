"""The commands of posvec that crash.py kills, on small inputs: what must hold whenever they are killed."""

from __future__ import annotations

from importlib import import_module

from actions.action import Action, Fault, Inputs
from actions.downloads import Fetch, serving
from actions.experiments import LanguageModel, Reproduce, Search
from actions.models import Convert, Export, Overwrite, Prepare, Save, Train

__all__ = ["ACTIONS", "Action", "Fault", "Inputs", "missing_module", "serving"]

ACTIONS: dict[str, type[Action]] = {
    "train": Train,
    "overwrite": Overwrite,
    "prepare": Prepare,
    "save": Save,
    "convert": Convert,
    "export": Export,
    "fetch": Fetch,
    "search": Search,
    "reproduce": Reproduce,
    "lm": LanguageModel,
}


def missing_module(action: type[Action]) -> str:
    """The first module that an action needs and that is not installed, or an empty string; imports the others."""
    for name in action.needs:
        try:
            import_module(name)
        except ImportError as error:
            return error.name or name
    return ""
