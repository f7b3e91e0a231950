"""Extraction of English sentences from documentation, without code, tables, headings and markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring in their order, each on one line; text that is not prose is dropped."""
    for paragraph in _paragraphs(inspect.cleandoc(text)):
        for sentence in _SENTENCE_END.split(_without_markup(paragraph)):
            if _is_prose(sentence):
                yield sentence


# The space between sentences: after . ! or ? and perhaps a closing quote, before a capital letter, not after e.g. etc.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)\s+(?=[\"'(\[]?[A-Z])"
)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, each joined to one line; literal blocks, doctests, rules and parameter tables are left out."""
    lines: list[str] = []
    indent: int | None = None  # of the paragraph; None if its next line determines it
    literal: int | None = None  # lines with a larger indent than this are code
    skipping = False  # until an empty line
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        line_indent = len(line) - len(line.lstrip())
        if stripped and literal is not None:
            if line_indent > literal:
                continue
            literal = None
        kind = _kind(stripped)
        if kind == "rule":
            lines = lines[:-1]  # the line above it is a heading
        if kind != "text" or (indent is not None and line_indent != indent and not _continues(lines, stripped)):
            if lines:
                yield " ".join(lines)
            lines, indent = [], None
        if kind == "empty":
            skipping = False
        elif kind == "prompt":
            skipping = True
        elif kind == "directive":
            literal = None if _PROSE_DIRECTIVE.match(stripped) else line_indent
        elif kind in ("bullet", "text") and not skipping:
            bullet = _BULLET.match(stripped) if kind == "bullet" else None
            lines.append(stripped[bullet.end() :] if bullet else stripped)
            indent = None if bullet else line_indent
            if stripped.endswith("::"):
                literal = line_indent


def _continues(lines: list[str], line: str) -> bool:
    """Whether a line with another indent continues a sentence, because the line before it was full."""
    return len(lines) > 0 and len(lines[-1]) > 50 and lines[-1][-1] not in ".:;!?" and line[0].islower()


def _kind(line: str) -> str:
    if not line:
        return "empty"
    if line[0].isalpha() and " : " not in line and "::=" not in line and line[1:2] not in ".) ":
        return "text"  # a quick decision for nearly all lines
    return next((kind for kind, pattern in _KINDS.items() if pattern.match(line)), "text")


_PROSE_DIRECTIVE = re.compile(r"\.\. (note|warning|seealso|tip|important|versionadded|versionchanged|deprecated)::")
_BULLET = re.compile(r"([-*+•o]|\(?(\d+|[a-zA-Z])[.)])\s+(?=\S)|[:@](param|type|return|rtype|raise|arg)s?\b[^:]*:\s*")
_KINDS = {
    "prompt": re.compile(r">>>|\.\.\.( |$)|In \[\d+\]:|\$ "),
    "directive": re.compile(r"\.\. "),
    "rule": re.compile(r"[^\w\s]{3,}(\s+[^\w\s]{3,})*$"),  # the underline of a heading, or the border of a table
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
    """Whether a sentence is prose: mostly lower-case words, few symbols; even fewer if it has no final punctuation."""
    words, lower = len(_WORD.findall(sentence)), len(_LOWER.findall(sentence))
    most_symbols = 0.4 if sentence[-1:] in ".!?;" else 0.12
    return words >= 4 and lower >= 0.5 * words and len(_SYMBOL.findall(sentence)) <= most_symbols * words


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LOWER = re.compile(r"\b[a-z]{2,}\b")
_SYMBOL = re.compile(r"[=_{}\[\]<>|\\/@#$%^&*~+\d]|\w\(|\.\w|->")
