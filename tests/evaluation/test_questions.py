"""Question and pair files: Google's format, BATS, tabs, several answers, headers, malformed lines."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posvec import CorpusError
from posvec.evaluation import questions as questions_module
from posvec.evaluation.lines import parse_lines
from posvec.evaluation.questions import (
    QUESTION_LIMIT,
    Pair,
    Question,
    is_pair_file,
    read_pairs,
    read_questions,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.txt"


def test_sections_of_google_s_format_are_semantic_or_syntactic_by_their_names(path: Path) -> None:
    path.write_text(
        ": capital world\nAthens Greece Oslo Norway\r\n\n: gram1-plural\ncat cats dog dogs\ncat cats ox oxen\n"
    )
    (first, second), invalid = read_questions(path)
    assert (first.name, first.kind, second.name, second.kind) == (
        "capital world",
        "semantic",
        "gram1-plural",
        "syntactic",
    )
    assert first.questions == [Question("Athens", "Greece", "Oslo", ("Norway",))]
    assert len(second.questions) == 2
    assert invalid == 0


def test_sections_with_other_names_have_no_kind(path: Path) -> None:
    path.write_text(": nouns: SI/PL\nHaus Häuser Baum Bäume\n", encoding="utf-8")
    assert [(section.name, section.kind) for section in read_questions(path)[0]] == [("nouns: SI/PL", None)]


def test_questions_without_a_section_get_the_name_of_their_file(path: Path) -> None:
    path.write_text("\ufeffcat cats dog dogs\n", encoding="utf-8")
    (section,), _ = read_questions(path)
    assert section.name == "file"
    assert section.questions[0].a == "cat"


def test_fields_between_tabs_may_have_spaces_and_answers_slashes(path: Path) -> None:
    path.write_text("New York\tUSA\tOslo\tNorway/Kingdom of Norway\n")
    (section,), _ = read_questions(path)
    assert section.questions == [Question("New York", "USA", "Oslo", ("Norway", "Kingdom of Norway"))]


def test_a_bats_folder_asks_every_pair_by_every_other(tmp_path: Path) -> None:
    for name, text in {
        "1_Inflection/I01 [noun - plural].txt": "cat\tcats\nox\toxen/oxes\ndog\tdogs\n",
        "4_Lexicography/L01 [hypernyms].txt": "cat\tanimal/pet\noak\ttree\n",
        "metadata.json": "{}",
    }.items():
        (tmp_path / "BATS" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "BATS" / name).write_text(text)
    (plural, hypernyms), _ = read_questions(tmp_path / "BATS")
    assert (plural.name, plural.kind, hypernyms.kind) == ("I01 [noun - plural]", "syntactic", "semantic")
    assert len(plural.questions) == 6
    assert Question("cat", "cats", "ox", ("oxen", "oxes")) in plural.questions
    assert Question("ox", "oxen", "cat", ("cats",)) in plural.questions
    assert hypernyms.questions == [
        Question("cat", "animal", "oak", ("tree",)),
        Question("oak", "tree", "cat", ("animal", "pet")),
    ]


def test_several_files_compressed_or_not_are_read_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b c d\n")
    with gzip.open(tmp_path / "two.txt.gz", "wt") as file:
        file.write(": second\ne f g h\n")
    sections, _ = read_questions([tmp_path / "one.txt", tmp_path / "two.txt.gz"])
    assert [section.name for section in sections] == ["one", "second"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a b c d\na b c\n", r"file\.txt, line 2: 3 fields instead of four, a b c and the answer; fix"),
        (b"a b c d\na b\n", r"line 2: 2 fields instead of four"),
        (b"a\tb\na\tb\tc\td\n", r"line 2: 4 fields instead of two"),
        (b"a b c\n", r"line 1: 3 fields instead of four, or two"),
        (b"a\tb\t\td\n", r"line 1: one of its fields is empty"),
        (b"a b c /\n", r"line 1: one of its fields is empty"),
        (b"a b c d\n\xff b c d\n", r"line 2: byte 1 is not UTF-8"),
        (b": empty\n\n", r"there is no question in .*file\.txt; write one question per line, for example"),
        (b"", r"there is no question in"),
        (b"one\tpair\n", r"there is no question in"),
    ],
)
def test_malformed_questions_are_named_by_file_and_line(path: Path, text: bytes, message: str) -> None:
    path.write_bytes(text)
    with pytest.raises(CorpusError, match=message):
        read_questions(path)


def test_malformed_lines_are_skipped_and_counted_on_request(path: Path) -> None:
    path.write_bytes(b"a b c\na b c d\n\xff\na b\nb a d c\n")
    (section,), invalid = read_questions(path, skip_invalid=True)
    assert len(section.questions) == 2
    assert invalid == 3


def test_missing_files_and_folders_without_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no such file or folder: .*none\.txt"):
        read_questions(tmp_path / "none.txt")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "metadata.json").write_text("{}")
    with pytest.raises(CorpusError, match=r"folder has no \.txt files in it"):
        read_questions(tmp_path / "folder")
    with pytest.raises(CorpusError, match=r"no such file or folder: .*none\.txt"):
        read_pairs(tmp_path / "none.txt")


@pytest.mark.parametrize(
    "text",
    [
        "tiger\tcat\t7.35\r\nbook\tpaper\t7\r\n",
        "tiger cat 7.35\nbook paper 7\n",
        "tiger,cat,7.35\nbook,paper,7\n",
        "tiger;cat;7.35\nbook;paper;7\n",
        "word 1\tword 2\tscore\ntiger\tcat\t7.35\nbook\tpaper\t7\n",
        "Word 1,Word 2,Human (mean)\ntiger,cat,7.35\nbook,paper,7\n",
        "# made by people\nword1\tword2\tPOS\nTiger\tcat\t7.35e0\tN\t1.2\nbook\tpaper\t7\tN\t3\n\n".lower(),
    ],
)
def test_pairs_are_read_as_the_test_sets_have_them(path: Path, text: str) -> None:
    path.write_text(text)
    assert read_pairs(path) == ([Pair("tiger", "cat", 7.35), Pair("book", "paper", 7.0)], 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\nword 1\tword 2\tscore\n", r"line 2: the score 'score' is not a finite number"),
        ("a b 1\na b\n", r"line 2: 2 fields instead of three"),
        ("a b nan\na b 1\nb c inf\n", r"line 3: the score 'inf' is not a finite number"),
        ("a b 1e400\na b 1\n", r"line 1: the score '1e400' is not a finite number"),
        ("a\t\t1\n", r"line 1: a word is missing"),
        ("a b 1\nb c 1\n", r"all pairs of .* have the score 1"),
        ("a b score\n", r"there is no pair of words in"),
    ],
)
def test_malformed_pairs_are_named_by_file_and_line(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_pairs(path)


words = st.text("abcčß'-1漢", min_size=1)


@given(st.lists(st.tuples(words, words, words, st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_written_questions_are_read_back(tmp_path_factory: pytest.TempPathFactory, questions: list) -> None:
    path = tmp_path_factory.mktemp("questions") / "file.txt"
    path.write_text("".join(f"{a}\t{b}\t{c}\t{'/'.join(d)}\n" for a, b, c, d in questions), "utf-8", newline="")
    (section,), _ = read_questions(path)
    assert section.questions == [Question(a, b, c, tuple(d)) for a, b, c, d in questions]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_rejected_with_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file.txt"
    path.write_bytes(data)
    for read in (read_questions, read_pairs):
        for skip_invalid in (False, True):
            try:
                read(path, skip_invalid=skip_invalid)
            except CorpusError as error:
                assert "line" not in str(error) or not skip_invalid or "per line, for example" in str(error)  # noqa: PT017


def test_lines_are_counted_as_editors_do(path: Path) -> None:
    path.write_text("one\x0ctwo\n\nbad\n")

    def parse(line: str) -> str:
        if line == "bad":
            raise ValueError("bad")
        return line

    with pytest.raises(CorpusError, match=r", line 3: bad;"):
        parse_lines(path, parse)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("tiger cat 7.35\n", True),
        ("one,other,score\ntiger,cat,7.35\nox,dog,2\n", True),
        ("tiger\tcat\t7.35\nox\tdog\t2\nbroken line\n", True),
        (": capitals\nathens greece oslo norway\n", False),
        ("athens greece\noslo norway\n", False),
        ("", False),
    ],
)
def test_files_of_pairs_are_distinguished_from_questions(path: Path, text: str, pairs: bool) -> None:
    path.write_text(text)
    assert is_pair_file(path) == pairs


def write_pairs(path: Path, count: int) -> None:
    path.write_text("".join(f"word{i} answer{i}\n" for i in range(count)))


def test_questions_made_from_pairs_take_memory_proportional_to_the_file(path: Path) -> None:
    write_pairs(path, 5000)  # 25 million questions
    tracemalloc.start()
    try:
        (section,), _ = read_questions(path)
        assert len(section.questions) == QUESTION_LIMIT
        assert section.questions[-1].a == "word4999"
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert section.left_out == 5000 * 4999 - QUESTION_LIMIT
    assert most < 80e6


def test_too_many_questions_are_sampled_evenly_and_reproducibly(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions_module, "QUESTION_LIMIT", 2000)
    write_pairs(path, 100)
    (section,), _ = read_questions(path)
    (again,), _ = read_questions(path)
    asked = list(section.questions)
    assert asked == list(again.questions) == section.questions
    assert (len(asked), len(set(asked)), section.left_out) == (2000, 2000, 100 * 99 - 2000)
    assert set(Counter(question.a for question in asked).values()) <= {19, 20, 21}
    assert max(Counter(question.c for question in asked).values()) < 40
    assert all(question.a != question.c and question.answers == (f"answer{question.c[4:]}",) for question in asked)
    # Pinned: the sample must stay the same in later versions, or results could not be compared.
    assert [question.c for question in asked[:4]] == ["word4", "word6", "word10", "word18"]


def test_small_sections_stay_whole_while_large_ones_are_sampled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions_module, "QUESTION_LIMIT", 500)
    path.write_text("".join(f": {n}\n" + "".join(f"{n}word{i} answer{i}\n" for i in range(n)) for n in (5, 40, 1, 30)))
    sections, _ = read_questions(path)
    assert [len(section.questions) for section in sections] == [20, 240, 0, 240]
    assert [section.left_out for section in sections] == [0, 40 * 39 - 240, 0, 30 * 29 - 240]


def test_questions_below_the_limit_are_all_asked_in_the_order_of_the_file(path: Path) -> None:
    path.write_text("a A\nb B/BB\nc C\n")
    (section,), _ = read_questions(path)
    pairs = [("a", ("A",)), ("b", ("B", "BB")), ("c", ("C",))]
    expected = [Question(a, b[0], c, d) for a, b in pairs for c, d in pairs if a != c]
    assert list(section.questions) == section.questions[:] == expected
    assert (section.questions[-1], section.questions[1::2], section.left_out) == (expected[-1], expected[1::2], 0)
    assert section.questions != expected[:-1]
    with pytest.raises(IndexError):
        section.questions[6]


def test_files_of_empty_lines_and_of_sections_alone_are_read_in_bounded_memory(path: Path) -> None:
    path.write_bytes(b"\n" * 300_000 + b"a b c d\n")
    tracemalloc.start()
    try:
        read_questions(path)
        assert tracemalloc.get_traced_memory()[1] < 6e6
    finally:
        tracemalloc.stop()
    path.write_bytes(b":\n" * 10_001)
    for skip_invalid in (False, True):
        with pytest.raises(CorpusError, match=r"file\.txt has more than 10,000 sections; leave some out$"):
            read_questions(path, skip_invalid)
