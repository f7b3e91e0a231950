"""Wiki markup of articles: prose is kept, everything else is removed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec.datasets.markup_pool import MarkupStripperPool, markup_stripper_pool
from posvec.datasets.wikitext import plain_paragraphs
from posvec.errors import PosvecError

pytest.importorskip("wikitextparser")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("One.\nTwo.\n\n\nThree.", ["One.", "Two.", "Three."]),
        ("'''Cats''' are ''small'' [[carnivore|carnivores]] and [[pet]]s.", ["Cats are small carnivores and pets."]),
        ("L'''Iliade'' d'[[Homère]]", ["L'Iliade d'Homère"]),
        ("== History ==\nText.\n=== More ===", ["Text."]),
        ("* one\n** two\n# three\n: four\n; five", ["one", "two", "three", "four", "five"]),
        ('A<ref>not this</ref> b<ref name="x" /> c<ref name="y">{{cite|a|b}} [[x]]</ref>.', ["A b c."]),
        ("{{Infobox\n| name = {{lang|cs|x}}\n| b = {{c|{{d}}}}\n}}\nText.", ["Text."]),
        ("Latin ''{{lang|la|felis}}'' here, ({{IPA|x}}) too", ["Latin here, too"]),
        ('{| class="wikitable"\n! head\n|-\n| cell || [[link]]\n|}\nText.', ["Text."]),
        ("Before {{a}} after <!-- comment\nlines --> end", ["Before after end"]),
        ("E = <math>mc^2</math> it is", ["E = it is"]),
        ("<gallery>\nFile:a.jpg|caption\n</gallery>\nText.", ["Text."]),
        ("[[File:Cat.jpg|thumb|A [[cat]] and [[dog|dogs]]]]\nText.", ["Text."]),
        ("[[Soubor:Kočka.jpg|náhled|Kočka [[domácí]]]]Text.\n[[Kategorie:Kočky]]", ["Text."]),
        ("See [https://example.org the site] or [https://example.org].", ["See the site or ."]),
        ("[[Category:Cats]]\n[[:Category:Dogs|about dogs]]", ["about dogs"]),
        ("a&nbsp;b &amp; c &ndash; d", ["a b & c – d"]),
        ("__NOTOC__\n__NOEDITSECTION__ Text.\n[[de:Katze]]\n[[zh-min-nan:Niau]]", ["Text."]),
        ("H<sub>2</sub>O and <span style='x'>styled</span><br />text", ["H2O and styledtext"]),
        ("----\n''' '''\n\n12 34\n|\n", []),
        ("", []),
    ],
)
def test_markup_becomes_paragraphs(markup: str, expected: list[str]) -> None:
    assert plain_paragraphs(markup, ["Category", "Kategorie", "File", "Soubor"]) == expected


MARKUP = [
    *(
        "{{",
        "}}",
        "[[",
        "]]",
        "{|",
        "|}",
        "|-",
        "|",
        "{{{",
        "}}}",
        "[http://x ",
        "]",
        "'''",
        "''",
        "==",
        "*",
        ":",
        "\n",
    ),
    *("<ref>", "</ref>", "<ref ", "/>", "<!--", "-->", "<math>", "&amp;", "File:", "Category:", "word", "slovo", "é"),
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(MARKUP), max_size=40).map("".join))
def test_any_markup_gives_clean_lines(markup: str) -> None:
    for line in plain_paragraphs(markup):
        assert line == " ".join(line.split())
        assert any(character.isalpha() for character in line)


def test_the_pool_gives_the_paragraphs_of_a_direct_call() -> None:
    pages = ["'''a''' b", "čtyři\n{{x}}pět"]
    with markup_stripper_pool() as pool:
        assert pool.paragraphs(pages, ["File"]) == ["a b", "čtyři", "pět"]
        assert pool.paragraphs([], []) == []


def test_a_process_that_ends_is_reported_in_one_sentence() -> None:
    pool = MarkupStripperPool()
    pool.paragraphs(["a"], [])
    pool._all[0].kill()
    pool._all[0].wait()
    with pytest.raises(PosvecError, match="a process that strips wiki markup has ended"):
        pool.paragraphs(["a"], [])
    pool.close()
