"""Wikipedia in the layouts in which it is published, in small generated files."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from posvec.datasets import wikipedia
from posvec.datasets.wikipedia import dump_paragraphs, section_paragraphs
from posvec.errors import CorpusError

pytest.importorskip("wikitextparser")

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="cs">
  <siteinfo>
    <sitename>Wikipedie</sitename>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">Soubor</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""


def page(text: str, namespace: int = 0, redirect: str = "") -> str:
    target = f'<redirect title="{redirect}" />' if redirect else ""
    return (
        f"  <page>\n    <title>T</title>\n    <ns>{namespace}</ns>\n    <id>1</id>\n    {target}\n    <revision>\n"
        f'      <id>2</id>\n      <text bytes="1" xml:space="preserve">{escape(text)}</text>\n    </revision>\n'
        f"  </page>\n"
    )


def make_dump(path: Path, pages: Sequence[str], streams: int = 1) -> Path:
    """A dump of one bz2 stream, or of several concatenated ones, as in multistream dumps."""
    parts = [HEAD, *pages, "</mediawiki>\n"]
    size = -(-len(parts) // streams)
    path.write_bytes(
        b"".join(bz2.compress("".join(parts[begin : begin + size]).encode()) for begin in range(0, len(parts), size))
    )
    return path


@pytest.mark.parametrize("streams", [1, 3])
def test_articles_become_paragraphs_and_everything_else_is_left_out(tmp_path: Path, streams: int) -> None:
    pages = [
        page("'''Kočka''' je <b>šelma</b>.\n\nDruhý odstavec.\n[[Kategorie:Kočky]]\n[[Soubor:a.jpg|thumb|popisek]]"),
        page("#PŘESMĚRUJ [[Kočka]]", redirect="Kočka"),
        page("#REDIRECT [[Kočka]]"),
        page("Diskuse.", namespace=1),
        page("Šablona", namespace=10),
        page(""),
        page("Pes & vlk."),
    ]
    fractions: list[float] = []
    found = list(dump_paragraphs([make_dump(tmp_path / "d.xml.bz2", pages, streams)], fractions.append))
    assert found == ["Kočka je šelma.", "Druhý odstavec.", "Pes & vlk."]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_the_order_of_the_pages_is_kept_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikipedia, "_BATCH", 3000)  # characters, about two pages
    pages = [page(f"Číslo {number}. " + "slovo " * 300) for number in range(200)]
    halves = [make_dump(tmp_path / f"{at}.xml.bz2", pages[at : at + 100]) for at in (0, 100)]
    for threads in (1, 3):
        found = list(dump_paragraphs(halves, threads=threads))
        assert [int(line.split()[1].rstrip(".")) for line in found] == list(range(200))


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    draw = random.Random(1)
    text = " ".join(f"{draw.getrandbits(32):x}" for _ in range(12_000))  # 100 kB, more than a bz2 block holds here
    peaks = []
    for count in (50, 120):
        path = tmp_path / "d.xml.bz2"
        path.write_bytes(bz2.compress((HEAD + count * page(text) + "</mediawiki>").encode(), 1))
        tracemalloc.start()
        assert sum(len(batch) for batch, _ in wikipedia._batches([path], lambda fraction: None)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html></html>", "is not a Wikipedia dump, because it begins with <html>"),
        (b"plain text", "is damaged or not a Wikipedia dump"),
        ((HEAD + page("a")).encode(), "is damaged or not a Wikipedia dump"),
        (b"", "is damaged or not a Wikipedia dump"),
    ],
)
def test_files_that_are_not_dumps_are_reported_in_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "d.xml.bz2"
    path.write_bytes(bz2.compress(content))
    with pytest.raises(CorpusError, match=message):
        list(dump_paragraphs([path]))


def test_a_truncated_dump_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = make_dump(tmp_path / "d.xml.bz2", [page(f"Slovo {number}") for number in range(2000)])
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorpusError, match="is damaged or"):
        list(dump_paragraphs([path]))


def make_parts(folder: Path, articles: Sequence[object], parts: int = 4) -> list[Path]:
    content = gzip.compress("".join(json.dumps(article) + "\n" for article in articles).encode())
    size = -(-len(content) // parts)
    paths = [folder / f"wiki.gz_0{part}" for part in range(parts)]
    for part, path in enumerate(paths):
        path.write_bytes(content[part * size : (part + 1) * size])
    return paths


def article(*texts: str) -> dict[str, object]:
    return {"title": "T", "section_titles": ["Introduction"] * len(texts), "section_texts": list(texts)}


def test_sections_of_a_gz_file_in_parts_become_paragraphs(tmp_path: Path) -> None:
    articles = [
        article("\n\n\n'''Anarchism''' is a  philosophy.\nSecond.\n", "*item\n===Head===\n"),
        article(),
        article("Último."),
    ]
    fractions: list[float] = []
    found = list(section_paragraphs(make_parts(tmp_path, articles), fractions.append))
    assert found == ["Anarchism is a philosophy.", "Second.", "item", "Último."]
    assert fractions[-1] == 1.0


def test_missing_or_invalid_parts_are_reported_in_one_sentence(tmp_path: Path) -> None:
    parts = make_parts(tmp_path, [article(f"text {number}") for number in range(3000)])
    with pytest.raises(CorpusError, match="it ends too early; fetch it again"):
        list(section_paragraphs(parts[:3]))
    with pytest.raises(CorpusError, match="is damaged or its extension is wrong"):
        list(section_paragraphs(parts[1:]))
    for wrong in ({"title": "T"}, ["a"], {"section_texts": 3}, {"section_texts": [3]}):
        with pytest.raises(CorpusError, match="line 2 is not an article in JSON with section_texts"):
            list(section_paragraphs(make_parts(tmp_path, [article("a"), wrong], 1)))
