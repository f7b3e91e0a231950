"""Conversion of wiki markup to paragraphs of plain text.

wikitextparser handles links, emphasis, lists, tables, tags and entities. Comments, references, formulas, galleries and
templates are removed before, because they are not prose; this also makes parsing twice as fast.

Run as a program, this module serves :mod:`posvec.datasets.markup_pool`.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from posvec.errors import PosvecError
from posvec.system.extras import require_extra

# Elements whose content is not part of the text.
_ELEMENTS = (
    "ref|references|math|chem|ce|gallery|timeline|syntaxhighlight|source|score|hiero|imagemap|graph|mapframe|maplink|"
    "templatedata|templatestyles|pre|inputbox|includeonly"
)
_REMOVED = re.compile(rf"<!--.*?-->|<({_ELEMENTS})\b[^<>]*?(?:/>|>.*?</\1\s*>)", re.DOTALL | re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")  # an innermost template
# Takes the place of a template, so that ''{{lang|la|x}}'' stays emphasis and does not become four apostrophes.
_PLACEHOLDER = "\ue000"
_HEADING = re.compile(r"^=+[^\n]*=+[ \t]*$", re.MULTILINE)
_LANGUAGE_LINK = re.compile(r"^\[\[[a-z]{2,3}(?:-[a-z-]+)?:[^\[\]|]*\]\]\s*$", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]{4,}__")  # __NOTOC__
_SPACE = re.compile(r"[\s\u200e\u200f]+")
_EMPTY_BRACKETS = re.compile(r"\(\s*[;,:]?\s*\)|\[\s*\]")
_CPU_SECONDS = 30  # for one page, because malicious markup can take unlimited time
_WORD = re.compile(r"[^\W\d_]")


def plain_paragraphs(text: str, namespaces: Sequence[str] = ("Category", "File", "Image")) -> list[str]:
    """Return the paragraphs and list items of a page as plain text.

    Parameters
    ----------
    text
        The wiki markup of the page.
    namespaces
        Names of namespaces; links to their pages, for example to categories, are left out.

    Returns
    -------
    list of str
        A line for each paragraph or list item that has a letter.

    Examples
    --------
    >>> from posvec.datasets.wikitext import plain_paragraphs
    >>> plain_paragraphs("The '''cat''' is a [[pet|domestic animal]].")
    ['The cat is a domestic animal.']
    """
    parser = require_extra("wikitextparser", "wiki")
    text = _REMOVED.sub("", text.replace(_PLACEHOLDER, ""))
    count = 1
    while count:
        text, count = _TEMPLATE.subn(_PLACEHOLDER, text)
    text = _LANGUAGE_LINK.sub("", _HEADING.sub("", text))
    text = _namespace_link(tuple(namespaces)).sub("", text)
    text = parser.parse(text).plain_text(replace_tables=lambda table: "")
    text = _SWITCH.sub("", text.replace(_PLACEHOLDER, ""))
    lines = (_SPACE.sub(" ", _EMPTY_BRACKETS.sub("", line.lstrip("*#:; "))).strip() for line in text.split("\n"))
    return [line for line in lines if _WORD.search(line)]


def _namespace_link(names: tuple[str, ...]) -> re.Pattern[str]:
    if names not in _PATTERNS:
        either = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in names if name)
        # The caption of an image may contain links, one level deep.
        caption = r"(?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*"
        _PATTERNS[names] = re.compile(rf"\[\[\s*(?:{either or '(?!)'})\s*:{caption}\]\]", re.IGNORECASE)
    return _PATTERNS[names]


_PATTERNS: dict[tuple[str, ...], re.Pattern[str]] = {}


@contextmanager
def _limited_time() -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


def serve(lines: Iterable[str]) -> None:
    """Answer each line of JSON, [pages, namespaces], by a line, [paragraphs, number of unreadable pages]."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _raise_timeout)
    for line in lines:
        pages, namespaces = json.loads(line)
        paragraphs: list[str] = []
        unreadable = 0
        for page in pages:
            try:
                with _limited_time():
                    paragraphs += plain_paragraphs(page, namespaces)
            except PosvecError:
                raise
            except Exception:  # one page that the parser fails on must not stop the others
                unreadable += 1
        print(json.dumps([paragraphs, unreadable]), flush=True)


if __name__ == "__main__":
    serve(sys.stdin)
