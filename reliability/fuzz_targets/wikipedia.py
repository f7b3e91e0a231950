"""Fuzz targets: Wikipedia dumps, wiki markup, and the JSON of gensim's Wikipedia corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from fuzz_targets.target import TEXT
from posvec.datasets import wikipedia, wikitext


def check_wiki_xml(data: bytes, folder: Path) -> None:
    (folder / "dump.xml").write_bytes(data)
    for _, text in wikipedia.dump_events(folder / "dump.xml", lambda read: None):
        assert isinstance(text, str)


def wiki_xml_seeds() -> Iterator[bytes]:
    yield (
        '<mediawiki xmlns="http://x/"><siteinfo><namespaces><namespace key="14">Kategorie</namespace></namespaces>'
        f"</siteinfo><page><title>T</title><ns>0</ns><revision><text>{TEXT}</text></revision></page>"
        '<page><ns>0</ns><redirect title="T"/><revision><text>#REDIRECT [[T]]</text></revision></page></mediawiki>'
    ).encode()
    yield b'<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><mediawiki>&b;</mediawiki>'


def check_wiki_markup(data: bytes, folder: Path) -> None:
    """posvec leaves out pages that the markup parser cannot read, so an exception is no finding."""
    try:
        paragraphs = wikitext.plain_paragraphs(data.decode("utf-8", "replace"))
    except Exception:  # as wikitext.serve does
        return
    assert all(line and "\n" not in line for line in paragraphs)


def wiki_markup_seeds() -> Iterator[bytes]:
    yield b"'''Oslo''' is the [[capital city|capital]] of {{flag|{{x}}}} [[Norway]].<ref name=a>no</ref>&amp;<!-- c -->"
    yield b"== Head ==\n* item ''it''\n{|\n| cell\n|}\n[[File:a.jpg|thumb|A [[link]]]]\n[http://x y] <math>x</math>"


def check_wiki_json(data: bytes, folder: Path) -> None:
    (folder / "w.gz").write_bytes(gzip.compress(data, 1))
    for line in wikipedia.section_paragraphs([folder / "w.gz"]):
        assert line.strip() == line != ""
        assert "\n" not in line


def wiki_json_seeds() -> Iterator[bytes]:
    yield json.dumps({"title": "T", "section_texts": ["'''One''' is.\n* two\n== h ==", "three"]}).encode() + b"\n{}"
