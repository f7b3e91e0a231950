"""Wiki markup → paragraphs of plain text, by processes of their own: it is work for Python, one core at a time.

Links, emphasis, lists, tables, tags and entities are wikitextparser's to understand. What is no prose goes before it
sees the page, which also makes it twice as fast: comments, references, formulas, galleries, templates.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from posvec.errors import CorpusError, PosvecError
from posvec.system.extras import require_extra

# Elements whose content is not read as part of the text.
_ELEMENTS = (
    "ref|references|math|chem|ce|gallery|timeline|syntaxhighlight|source|score|hiero|imagemap|graph|mapframe|maplink|"
    "templatedata|templatestyles|pre|inputbox|includeonly"
)
_GONE = re.compile(rf"<!--.*?-->|<({_ELEMENTS})\b[^<>]*?(?:/>|>.*?</\1\s*>)", re.DOTALL | re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")  # one without another inside
# In place of a template, so that ''{{lang|la|x}}'' stays emphasis and does not become four apostrophes.
_MARK = "\ue000"
_HEADING = re.compile(r"^=+[^\n]*=+[ \t]*$", re.MULTILINE)
_LANGUAGE_LINK = re.compile(r"^\[\[[a-z]{2,3}(?:-[a-z-]+)?:[^\[\]|]*\]\]\s*$", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]{4,}__")  # __NOTOC__
_SPACE = re.compile(r"[\s\u200e\u200f]+")
_EMPTY_BRACKETS = re.compile(r"\(\s*[;,:]?\s*\)|\[\s*\]")
_SECONDS = 30  # of computing for a page; markup can be made that takes for ever
_WORD = re.compile(r"[^\W\d_]")


def plain_paragraphs(text: str, namespaces: Sequence[str] = ("Category", "File", "Image")) -> list[str]:
    """The paragraphs and items of lists of a page, one line each; links into the namespaces are left out."""
    parser = require_extra("wikitextparser", "wiki")
    text = _GONE.sub("", text.replace(_MARK, ""))
    count = 1
    while count:
        text, count = _TEMPLATE.subn(_MARK, text)
    text = _LANGUAGE_LINK.sub("", _HEADING.sub("", text))
    text = _namespace_link(tuple(namespaces)).sub("", text)
    text = parser.parse(text).plain_text(replace_tables=lambda table: "")
    text = _SWITCH.sub("", text.replace(_MARK, ""))
    lines = (_SPACE.sub(" ", _EMPTY_BRACKETS.sub("", line.lstrip("*#:; "))).strip() for line in text.split("\n"))
    return [line for line in lines if _WORD.search(line)]


class Workers:
    """As many processes as threads ask: each thread hands its pages to one of its own.

    Not multiprocessing, which on some systems runs the user's script again, and on others copies locks that are held.
    """

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[subprocess.Popen[str]] = []
        self.unreadable = 0
        """Pages that were left out because the parser failed."""

    def paragraphs(self, pages: Sequence[str], namespaces: Sequence[str]) -> list[str]:
        """The paragraphs of several pages."""
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([pages, namespaces]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            raise CorpusError("a process that strips wiki markup has ended; there may be too little memory")
        found, unreadable = json.loads(answer)
        self.unreadable += unreadable
        return [str(line) for line in found]

    def close(self) -> None:
        for process in self._all:
            process.kill()
            process.communicate()

    def _process(self) -> subprocess.Popen[str]:
        if not hasattr(self._own, "process"):
            self._own.process = subprocess.Popen(
                [sys.executable, "-m", "posvec.datasets.wikitext"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="ascii",
                start_new_session=True,  # Ctrl-C is for the process that the user started, which ends this one
            )
            self._all.append(self._own.process)
        process: subprocess.Popen[str] = self._own.process
        return process


@contextmanager
def working() -> Iterator[Workers]:
    require_extra("wikitextparser", "wiki")  # said here once, not by every process
    workers = Workers()
    try:
        yield workers
    finally:
        workers.close()


def _namespace_link(names: tuple[str, ...]) -> re.Pattern[str]:
    if names not in _PATTERNS:
        either = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in names if name)
        # The caption of an image may hold links, one level deep.
        inside = r"(?:[^\[\]]|\[\[[^\[\]]*\]\]|\[[^\[\]]*\])*"
        _PATTERNS[names] = re.compile(rf"\[\[\s*(?:{either or '(?!)'})\s*:{inside}\]\]", re.IGNORECASE)
    return _PATTERNS[names]


_PATTERNS: dict[tuple[str, ...], re.Pattern[str]] = {}


@contextmanager
def _limited_time() -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _give_up(*_: object) -> None:
    raise TimeoutError


def _serve(lines: Iterable[str]) -> None:
    """One line of JSON in, one line out, until the other side closes."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _give_up)
    for line in lines:
        pages, namespaces = json.loads(line)
        found: list[str] = []
        unreadable = 0
        for page in pages:
            try:
                with _limited_time():
                    found += plain_paragraphs(page, namespaces)
            except PosvecError:
                raise
            except Exception:  # one page that the parser cannot read must not cost all others
                unreadable += 1
        print(json.dumps([found, unreadable]), flush=True)


if __name__ == "__main__":
    _serve(sys.stdin)
