"""Wikipedia as published → paragraphs, one per line, in bounded memory: dumps in XML, and gensim-data's JSON lines."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from posvec.corpus.sources import whole_lines
from posvec.datasets.wikitext import working
from posvec.errors import CorpusError
from posvec.system.console import plural
from posvec.system.files import gzip_pieces, read_blocks, reading
from posvec.system.threads import map_in_order

Report = Callable[[float], None]

_BATCH = 1 << 20  # characters of pages that are handed over at a time
_BLOCK = 1 << 20
# Bytes of one page, or between two, at most: it is held in memory. MediaWiki's own limit is 2 MB before escaping.
_LONGEST_PAGE = 16 << 20
_CATEGORY, _FILE = "14", "6"


def dump_paragraphs(
    paths: Sequence[Path],
    progress: Report = lambda share: None,
    note: Callable[[str], None] = lambda text: None,
    threads: int = 0,
) -> Iterator[str]:
    """The paragraphs of the articles in ``pages-articles`` dumps, without redirects and other namespaces.

    ``note`` is told if pages had to be left out.
    """
    with working() as workers:
        stripped = map_in_order(lambda batch: workers.paragraphs(*batch), _batches(paths, progress), threads)
        for paragraphs in stripped:
            yield from paragraphs
        if workers.unreadable:
            note(f"{plural(workers.unreadable, 'page')} could not be parsed and were left out.")


def section_paragraphs(paths: Sequence[Path], progress: Report = lambda share: None) -> Iterator[str]:
    """The paragraphs of gensim-data's Wikipedia: a gz file in parts; a line is an article, with texts of sections.

    Titles are left out, of articles and of sections: they are no sentences.
    """
    for number, line in enumerate(_gz_lines(paths, progress), 1):
        try:
            texts = json.loads(line)["section_texts"]
            paragraphs = [paragraph for text in texts for paragraph in text.split("\n")]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(
                f"{paths[0]}, line {number:,} is no article in JSON with section_texts; fetch the file again"
            ) from error
        for paragraph in paragraphs:
            # Markup that was left at the beginnings of lines, and emphasis.
            cleaned = " ".join(paragraph.replace("'''", "").replace("''", "").lstrip("*#:; ").split())
            if cleaned and not cleaned.startswith("=="):
                yield cleaned


def _batches(paths: Sequence[Path], progress: Report) -> Iterator[tuple[list[str], list[str]]]:
    """Articles, about a megabyte at a time, and the names of the namespaces whose links are no text."""
    total = sum(path.stat().st_size for path in paths) or 1
    done = 0
    for path in paths:
        batch: list[str] = []
        size = 0
        namespaces: list[str] = []

        def report(read: int, before: int = done) -> None:
            progress((before + read) / total)

        for kind, text in _events(path, report):
            if kind == "namespace":
                namespaces.append(text)
                continue
            batch.append(text)
            size += len(text)
            if size >= _BATCH:
                yield batch, namespaces
                batch, size = [], 0
        if batch:
            yield batch, namespaces
        done += path.stat().st_size


def _events(path: Path, report: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """("namespace", name) for what the head of a dump calls categories and files, then ("article", text) for each."""
    parser: XMLPullParser[Any] = XMLPullParser(["start", "end"])
    root: Element | None = None
    held = 0
    try:
        for block in read_blocks(path, report):
            # read_blocks gives megabytes at a time, and a parser holds what it was fed: hand it on in pieces.
            for begin in range(0, len(block), _BLOCK):
                piece = block[begin : begin + _BLOCK]
                parser.feed(piece)
                held += len(piece)
                for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                    if root is None:
                        root = element
                        if _local(root) != "mediawiki":
                            raise CorpusError(f"{path} is no Wikipedia dump: it begins with <{_local(root)}>; name one")
                    if event == "end":
                        yield from _of_element(element)
                        if _local(element) == "page":
                            root.clear()  # what was read is not kept
                            held = 0
                if held > _LONGEST_PAGE:
                    raise CorpusError(
                        f"{path} is no Wikipedia dump: no page ends for {held:,} bytes; check where it comes from"
                    )
        parser.close()
    except ParseError as error:
        raise CorpusError(f"{path} is damaged or no Wikipedia dump ({error}); fetch it again") from error


def _of_element(element: Element) -> Iterator[tuple[str, str]]:
    kind = _local(element)
    if kind == "namespace" and element.get("key") in (_CATEGORY, _FILE):
        canonical = "Category" if element.get("key") == _CATEGORY else "File"
        yield from (("namespace", name) for name in (canonical, element.text or "") if name)
    elif kind == "page":
        parts = {_local(part): part for part in element.iter()}
        is_article = "redirect" not in parts and (parts["ns"].text if "ns" in parts else "0") == "0"
        text = parts["text"].text if "text" in parts else None
        if is_article and text and not _REDIRECT.match(text):
            yield "article", text


_REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)  # old dumps have no element for it


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _gz_lines(paths: Sequence[Path], progress: Report) -> Iterator[bytes]:
    """The lines of a gz file that was cut into parts; one that is too long to be an article is cut, and so none."""
    for chunk in whole_lines(_gz_blocks(paths, progress), _LONGEST_PAGE):
        yield from (line for line in chunk.split(b"\n") if line.strip())


def _gz_blocks(paths: Sequence[Path], progress: Report) -> Iterator[bytes]:
    total = sum(path.stat().st_size for path in paths) or 1
    done = 0
    stream = zlib.decompressobj(wbits=31)
    for path in paths:
        with reading(path), path.open("rb") as raw:
            while block := raw.read(_BLOCK):
                done += len(block)
                while block:
                    if stream.eof:  # gz files one behind another are one
                        stream = zlib.decompressobj(wbits=31)
                    block = yield from gzip_pieces(stream, block)
                progress(done / total)
    if not stream.eof:
        raise CorpusError(f"{paths[-1]} is damaged: it ends too early; fetch it again")
