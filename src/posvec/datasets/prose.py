"""Sentences of English out of documentation: without code, tables, headings and markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator


def sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring, in order, each on one line; whatever does not look like prose is dropped."""
    for paragraph in _paragraphs(inspect.cleandoc(text)):
        for sentence in _SENTENCE_END.split(_without_markup(paragraph)):
            if _is_prose(sentence):
                yield sentence


# A full stop or the like, with a closing quote, before a word with a capital letter; not the stop of an abbreviation.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)\s+(?=[\"'(\[]?[A-Z])"
)


def _paragraphs(text: str) -> Iterator[str]:
    """Runs of lines that belong together, joined; literal blocks, doctests, rules and parameter tables left out."""
    lines: list[str] = []
    indent: int | None = None  # of the paragraph; None: its next line tells
    literal: int | None = None  # lines further to the right than this are code
    skipping = False  # until an empty line
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        here = len(line) - len(line.lstrip())
        if stripped and literal is not None:
            if here > literal:
                continue
            literal = None
        kind = _kind(stripped)
        if kind == "rule":
            lines = lines[:-1]  # the line above it is a heading
        if kind != "text" or (indent is not None and here != indent and not _goes_on(lines, stripped)):
            if lines:
                yield " ".join(lines)
            lines, indent = [], None
        if kind == "empty":
            skipping = False
        elif kind == "prompt":
            skipping = True
        elif kind == "directive":
            literal = None if _PROSE_DIRECTIVE.match(stripped) else here
        elif kind in ("bullet", "text") and not skipping:
            bullet = _BULLET.match(stripped) if kind == "bullet" else None
            lines.append(stripped[bullet.end() :] if bullet else stripped)
            indent = None if bullet else here
            if stripped.endswith("::"):
                literal = here


def _goes_on(lines: list[str], line: str) -> bool:
    """Whether a line that is indented differently continues a sentence: the line before it was full."""
    return len(lines) > 0 and len(lines[-1]) > 50 and lines[-1][-1] not in ".:;!?" and line[0].islower()


def _kind(line: str) -> str:
    if not line:
        return "empty"
    if line[0].isalpha() and " : " not in line and "::=" not in line and line[1:2] not in ".) ":
        return "text"  # what nearly all lines are, decided quickly
    return next((kind for kind, pattern in _KINDS.items() if pattern.match(line)), "text")


_PROSE_DIRECTIVE = re.compile(r"\.\. (note|warning|seealso|tip|important|versionadded|versionchanged|deprecated)::")
_BULLET = re.compile(r"([-*+•o]|\(?(\d+|[a-zA-Z])[.)])\s+(?=\S)|[:@](param|type|return|rtype|raise|arg)s?\b[^:]*:\s*")
_KINDS = {
    "prompt": re.compile(r">>>|\.\.\.( |$)|In \[\d+\]:|\$ "),
    "directive": re.compile(r"\.\. "),
    "rule": re.compile(r"[^\w\s]{3,}(\s+[^\w\s]{3,})*$"),  # under a heading, or in a table
    "bullet": _BULLET,
    "parameter": re.compile(r"[*`]*\w[\w*`., ]{0,60} : \S"),
    "grammar": re.compile(r".*::=|\|"),
}


def _without_markup(paragraph: str) -> str:
    if not _MARKUP_CHARACTERS.isdisjoint(paragraph):
        for pattern, replacement in _MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
    return " ".join(paragraph.rstrip(":").split())


_MARKUP_CHARACTERS = frozenset("`*|[")
_MARKUP = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r":[\w:]+:`[~!]?([^`<]+?)(?: ?<[^`]*>)?`", r"\1"),  # :class:`name`
        (r"`([^`<]+?)(?: ?<[^`]*>)?`__?", r"\1"),  # `text <link>`_
        (r"`+~?([^`']*)[`']+", r"\1"),  # ``code``, and TeX's `quotes'
        (r"\s*\[\w+\]_", ""),  # [1]_
        (r"(?<!\w)(\*\*?|\|)(\w[^*|]*?)\1(?!\w)", r"\2"),  # *emphasis*
    )
]


def _is_prose(sentence: str) -> bool:
    """Prose has words, mostly in lower case; code and tables have symbols, and seldom end as sentences do."""
    words, lower = len(_WORD.findall(sentence)), len(_LOWER.findall(sentence))
    share = 0.4 if sentence[-1:] in ".!?;" else 0.12
    return words >= 4 and lower >= 0.5 * words and len(_SYMBOL.findall(sentence)) <= share * words


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LOWER = re.compile(r"\b[a-z]{2,}\b")
_SYMBOL = re.compile(r"[=_{}\[\]<>|\\/@#$%^&*~+\d]|\w\(|\.\w|->")
