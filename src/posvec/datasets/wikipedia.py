"""Extraction of paragraphs from Wikipedia in bounded memory: from XML dumps and from gensim-data's JSON lines."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from posvec.corpus.lines import whole_lines
from posvec.corpus.sources import ProgressCallback
from posvec.datasets.markup_pool import markup_stripper_pool
from posvec.errors import CorpusError
from posvec.system.console import plural
from posvec.system.decompression import expand_gzip
from posvec.system.files import read_blocks, reading
from posvec.system.threads import map_in_order
from posvec.system.utf8 import decode_json

_BATCH = 1 << 20  # characters of the pages that are processed together
_BLOCK = 1 << 20
# The most bytes of one page, or between two, which are held in memory. MediaWiki's limit is 2 MB before escaping.
_LONGEST_PAGE = 16 << 20
_CATEGORY, _FILE = "14", "6"


def dump_paragraphs(
    paths: Sequence[Path],
    progress: ProgressCallback = lambda fraction: None,
    note: Callable[[str], None] = lambda text: None,
    threads: int = 0,
) -> Iterator[str]:
    """Yield the paragraphs of the articles in ``pages-articles`` dumps, without redirects and other namespaces.

    Parameters
    ----------
    paths
        The files of the dump, in the order of their pages.
    progress
        Called with the fraction of the files that was read.
    note
        Called with a message if pages could not be parsed.
    threads
        Processes that strip markup; 0 for one per core.
    """
    with markup_stripper_pool() as pool:
        stripped = map_in_order(lambda batch: pool.paragraphs(*batch), _batches(paths, progress), threads)
        for paragraphs in stripped:
            yield from paragraphs
        if pool.unreadable:
            note(f"{plural(pool.unreadable, 'page')} could not be parsed and were left out.")


def section_paragraphs(paths: Sequence[Path], progress: ProgressCallback = lambda fraction: None) -> Iterator[str]:
    """Yield the paragraphs of gensim-data's Wikipedia: a gz file in parts with an article in each line.

    The titles of articles and sections are left out, because they are not sentences.

    Parameters
    ----------
    paths
        The parts of the file.
    progress
        Called with the fraction of the files that was read.
    """
    for number, line in enumerate(_gz_lines(paths, progress), 1):
        try:
            texts = decode_json(line)["section_texts"]
            paragraphs = [paragraph for text in texts for paragraph in text.split("\n")]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorpusError(
                f"{paths[0]}, line {number:,} is not an article in JSON with section_texts; fetch the file again"
            ) from error
        for paragraph in paragraphs:
            # The file still has markup at the beginnings of lines, and emphasis.
            cleaned = " ".join(paragraph.replace("'''", "").replace("''", "").lstrip("*#:; ").split())
            if cleaned and not cleaned.startswith("=="):
                yield cleaned


def _batches(paths: Sequence[Path], progress: ProgressCallback) -> Iterator[tuple[list[str], list[str]]]:
    """Batches of about a megabyte of articles, and the names of the namespaces whose links are not text."""
    total = sum(path.stat().st_size for path in paths) or 1
    done = 0
    for path in paths:
        batch: list[str] = []
        size = 0
        namespaces: list[str] = []

        def report(read: int, before: int = done) -> None:
            progress((before + read) / total)

        for kind, text in dump_events(path, report):
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


def dump_events(path: Path, report: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """Yield ("namespace", name) for names of the category and file namespaces, and ("article", text) for articles."""
    parser: XMLPullParser[Any] = XMLPullParser(["start", "end"])
    root: Element | None = None
    buffered = 0
    try:
        for block in read_blocks(path, report):
            # The parser keeps what it was fed, so blocks of megabytes are fed in smaller pieces.
            for begin in range(0, len(block), _BLOCK):
                piece = block[begin : begin + _BLOCK]
                parser.feed(piece)
                buffered += len(piece)
                for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                    if root is None:
                        root = element
                        if _local(root) != "mediawiki":
                            raise CorpusError(
                                f"{path} is not a Wikipedia dump, because it begins with <{_local(root)}>; give "
                                f"another file"
                            )
                    if event == "end":
                        yield from _element_events(element)
                        if _local(element) == "page":
                            root.clear()  # free the pages that were read
                            buffered = 0
                if buffered > _LONGEST_PAGE:
                    raise CorpusError(
                        f"{path} is not a Wikipedia dump: no page ends within {buffered:,} bytes; check its origin"
                    )
        parser.close()
    except ParseError as error:
        raise CorpusError(f"{path} is damaged or not a Wikipedia dump ({error}); fetch it again") from error


def _element_events(element: Element) -> Iterator[tuple[str, str]]:
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


_REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)  # old dumps do not mark redirects by an element


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _gz_lines(paths: Sequence[Path], progress: ProgressCallback) -> Iterator[bytes]:
    """The lines of a gz file in parts; a line that is too long for an article is cut and thereby becomes invalid."""
    for chunk in whole_lines(_gz_blocks(paths, progress), _LONGEST_PAGE):
        yield from (line for line in chunk.split(b"\n") if line.strip())


def _gz_blocks(paths: Sequence[Path], progress: ProgressCallback) -> Iterator[bytes]:
    total = sum(path.stat().st_size for path in paths) or 1
    done = 0
    stream = zlib.decompressobj(wbits=31)
    for path in paths:
        with reading(path), path.open("rb") as raw:
            while block := raw.read(_BLOCK):
                done += len(block)
                while block:
                    if stream.eof:  # concatenated gz files are one gz file
                        stream = zlib.decompressobj(wbits=31)
                    block = yield from expand_gzip(stream, block)
                progress(done / total)
    if not stream.eof:
        raise CorpusError(f"{paths[-1]} is damaged: it ends too early; fetch it again")
