"""Corpora that need no download. There is one so far: the documentation that is installed with Python and NumPy."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from posvec.datasets.prose import sentences
from posvec.errors import CorpusError


def embedded_corpus(name: str) -> Iterator[str]:
    """Return the lines of an embedded corpus, one sentence each.

    Parameters
    ----------
    name
        A name in :data:`EMBEDDED_CORPORA`; so far only ``python-docs``.

    Returns
    -------
    iterator of str
        The sentences.

    Raises
    ------
    CorpusError
        If there is no embedded corpus of that name.

    Examples
    --------
    >>> from posvec.datasets import embedded_corpus
    >>> sentence = next(embedded_corpus("python-docs"))
    >>> len(sentence.split()) >= 4
    True
    """
    if name not in EMBEDDED_CORPORA:
        raise CorpusError(f"there is no dataset {name!r}; choose from {', '.join(sorted(EMBEDDED_CORPORA))}")
    return EMBEDDED_CORPORA[name]()


def python_docs() -> Iterator[str]:
    """Yield the sentences of the docstrings of the standard library and NumPy, and of Python's language reference.

    The same installation gives the same sentences in the same order, without duplicates. Source files are parsed, not
    imported: importing the whole standard library would print a poem and open a web browser.
    """
    seen: set[str] = set()
    for text in _python_texts():
        for sentence in sentences(text):
            if sentence not in seen:
                seen.add(sentence)
                yield sentence
    if not seen:
        raise CorpusError(
            "the dataset python-docs is empty, because this Python has neither sources nor docstrings; use your own "
            "corpus"
        )


EMBEDDED_CORPORA: dict[str, Callable[[], Iterator[str]]] = {"python-docs": python_docs}
"""The corpora that need no download, by name."""


# Folders without prose, or of other packages: tests, installed packages, character tables.
_SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "turtledemo", "encodings"}

# Classes of numpy.random whose documentation is compiled and not in Python sources.
_COMPILED = ("Generator", "RandomState", "SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _python_texts() -> Iterator[str]:
    library = Path(sysconfig.get_path("stdlib"))
    for file in _sources(library):
        yield from _topics(file) if file == library / "pydoc_data" / "topics.py" else _docstrings(file)
    # Interactive shells add names to the builtins; those are neither classes nor compiled functions.
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
    """The texts of ``pydoc_data.topics``, which is one dictionary of strings."""
    tree = _parse(file)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


def _docstrings(file: Path) -> Iterator[str]:
    """The docstrings of a source file in their order, and the texts that NumPy passes to ``add_newdoc``."""
    tree = _parse(file)
    nodes: list[ast.AST] = [tree] if tree else []
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node, clean=False) or ""
        elif isinstance(node, ast.Expr):
            yield from _new_docs(node.value)
        # Only statements have docstrings; walking through expressions, too, would double the time.
        children = [child for field in _BODIES for child in getattr(node, field, ())]
        nodes.extend(reversed(children))


_BODIES = ("body", "handlers", "orelse", "finalbody")


def _new_docs(call: ast.expr) -> Iterator[str]:
    """The text in ``add_newdoc("module", "name", "text")`` or ``add_newdoc("module", "name", ("member", "text"))``."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith("add_newdoc"):
        for argument in call.args:
            for node in ast.walk(argument):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _parse(file: Path) -> ast.Module | None:
    """The syntax tree of a source file, or None if this Python cannot parse it, as with files for other versions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in string literals
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
