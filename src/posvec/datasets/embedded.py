"""Corpora that need no download. So far one, which every machine with Python has: the documentation inside of it."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from posvec.datasets.prose import sentences
from posvec.errors import CorpusError


def python_docs() -> Iterator[str]:
    """Sentences of the docstrings of the standard library and of NumPy, and of Python's reference (``help("for")``).

    The same installation gives the same sentences in the same order, each of them once. Source files are parsed, not
    imported: importing all of the standard library would print a poem and open a web browser.
    """
    seen: set[str] = set()
    for text in _python_texts():
        for sentence in sentences(text):
            if sentence not in seen:
                seen.add(sentence)
                yield sentence
    if not seen:
        raise CorpusError(
            "the dataset python-docs is empty here: this Python has neither its sources nor docstrings; "
            "use a corpus of your own"
        )


# Folders without prose: tests, other people's packages, tables of characters.
_SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "turtledemo", "encodings"}

# Parts of NumPy whose documentation is compiled, not in its sources.
_COMPILED = ("Generator", "RandomState", "SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _python_texts() -> Iterator[str]:
    library = Path(sysconfig.get_path("stdlib"))
    for file in _sources(library):
        yield from _topics(file) if file == library / "pydoc_data" / "topics.py" else _docstrings(file)
    # Shells put names of their own among the built-in ones; those are neither classes nor compiled.
    built_in = (value for name, value in sorted(vars(builtins).items()) if not name.startswith("_"))
    yield from _compiled_docstrings(value for value in built_in if inspect.isclass(value) or inspect.isbuiltin(value))
    for file in _sources(Path(np.__file__).parent):
        yield from _docstrings(file)
    yield from _compiled_docstrings(value for _, value in sorted(vars(np).items()) if isinstance(value, np.ufunc))
    yield from _compiled_docstrings(getattr(np.random, name) for name in _COMPILED if hasattr(np.random, name))


def _sources(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _SKIPPED)
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(".py"))


def _topics(file: Path) -> Iterator[str]:
    """The texts of ``pydoc_data.topics``: one dictionary of strings."""
    tree = _parsed(file)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


def _docstrings(file: Path) -> Iterator[str]:
    """The docstrings of a source file in the order of the text, and the texts that NumPy hands to ``add_newdoc``."""
    tree = _parsed(file)
    nodes: list[ast.AST] = [tree] if tree else []
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node, clean=False) or ""
        elif isinstance(node, ast.Expr):
            yield from _new_docs(node.value)
        # Only statements hold docstrings: to look into expressions as well would take as long again.
        inner = [child for part in _BODIES for child in getattr(node, part, ())]
        nodes.extend(reversed(inner))


_BODIES = ("body", "handlers", "orelse", "finalbody")


def _new_docs(call: ast.expr) -> Iterator[str]:
    """The text in ``add_newdoc("module", "name", "text")`` or ``add_newdoc("module", "name", ("member", "text"))``."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith("add_newdoc"):
        for argument in call.args:
            for node in ast.walk(argument):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _parsed(file: Path) -> ast.Module | None:
    """A source file as a tree; None if this Python cannot read it, as some files for other versions or systems."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in other people's strings
            return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _compiled_docstrings(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        members = [member for _, member in sorted(vars(value).items())] if inspect.isclass(value) else []
        for item in (value, *members):
            text = getattr(item, "__doc__", None)
            if isinstance(text, str):
                yield text
