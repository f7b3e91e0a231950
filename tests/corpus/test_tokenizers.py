"""The compiled tokenizer against Python's own re, str and bytes."""

import re
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posvec import _kernel
from posvec.corpus.tokenizers import get_tokenizer

# Letters whose lower case is longer, shorter or depends on adjacent letters, ignorable marks, unusual separators.
PECULIAR = (
    "ΣσςİIıiKÅẞßǅȺⱾA a.'\u0307\u0345\u00ad\u02b0·:’_-"
    "\r\x0b\x0c\x1c\x1d\x1e\x1f\x00\x85\xa0\u2028\u3000１²Ⅷ漢\U00010400\U0001d7d8😀\ufeff"
)
LINES = st.one_of(st.text(), st.text(PECULIAR), st.text("aΣ .'İ\u0307", max_size=12)).map(lambda s: s.replace("\n", ""))


def words(line: str) -> list[str]:
    return re.findall(r"\w+", line.lower())


@given(st.lists(LINES, max_size=5))
@example(["ΟΔΟΣ ΟΔΟΣ", "ΑΣ'", "Σ", "ΑΣ.Α", "ΑΣ. Α", "ʰΣ", "Aʰ'ΣʰΣ"])
@settings(max_examples=250, deadline=None)
def test_word_is_findall_of_the_lower_case_line(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    assert get_tokenizer("word").split(text.encode()) == [words(line) for line in lines]


@given(st.lists(LINES, max_size=5))
@settings(max_examples=150)
def test_whitespace_is_str_split(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    assert get_tokenizer("whitespace").split(text.encode()) == [line.split() for line in lines]


@pytest.mark.parametrize("between", ["", "Σ ", "aΣ"])
def test_every_character_is_tokenized_and_lowered_as_in_python(between: str) -> None:
    characters = "".join(chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000 and c != 10)
    text = between.join(characters) + between
    assert get_tokenizer("word").split(text.encode()) == [words(text)]
    assert get_tokenizer("whitespace").split(text.encode()) == [text.split()]


def test_a_text_that_grows_when_lowered_is_lowered_whole() -> None:
    text = "Ⱥ" * 10_000 + "İ" * 10_000
    assert get_tokenizer("word").split(text.encode()) == [words(text)]


def test_tokens_are_split_at_the_unit_separator_only() -> None:
    assert get_tokenizer("tokens").split("New York\x1fИ\r\x1f\x1f😀\n\na".encode()) == [
        ["New York", "И\r", "😀"],
        [],
        ["a"],
    ]


def test_a_carriage_return_before_the_line_feed_belongs_to_no_token() -> None:
    assert get_tokenizer("word").split(b"a b\r\nc\rd\r\n") == [["a", "b"], ["c", "d"]]
    assert get_tokenizer("whitespace").split(b"a b\r\nc\rd\r\n") == [["a", "b"], ["c", "d"]]


def test_a_last_line_without_a_line_feed_counts_and_an_empty_text_has_none() -> None:
    assert get_tokenizer("word").split(b"a\nb") == [["a"], ["b"]]
    assert get_tokenizer("word").split(b"") == []


# Overlong, surrogate, too large, isolated and truncated sequences, and some valid ones.
SEQUENCES = st.sampled_from(
    bytes.fromhex(
        "c080.c1bf.e08080.e09fbf.eda080.edbfbf.f08fbfbf.f4908080.f5808080.ff.80.c3.e282.f09f98".replace(".", "0a")
    ).split(b"\n")
    + [char.encode() for char in "\u0080\u0800\ud7ff\U00010000\U0010ffff"]
    + [b"ascii is"]
)


@given(st.one_of(st.binary(), st.lists(SEQUENCES).map(b"".join)))
@settings(max_examples=400, deadline=None)
def test_the_first_invalid_utf8_byte_is_the_one_python_finds(data: bytes) -> None:
    try:
        data.decode()
        expected = -1
    except UnicodeDecodeError as error:
        expected = error.start
    assert _kernel.find_invalid_utf8(data) == expected


def test_the_compiled_code_refuses_what_is_not_utf8() -> None:
    tokenizer = get_tokenizer("word")
    with pytest.raises(ValueError, match="byte 2"):
        tokenizer.split(b"ab\xff")
    with pytest.raises(ValueError, match="byte 2"):
        _kernel.WordCounter(tokenizer).add(b"ab\xff")
    with pytest.raises(ValueError, match="byte 2"):
        _kernel.WordIds(["a"]).encode(tokenizer, b"ab\xff")


KEPT_ALIVE = """
import ctypes
from posvec.corpus import tokenizers

tokenizers.get_tokenizer("word")
keep = ctypes.pythonapi.Py_IncRef
keep.argtypes, keep.restype = [ctypes.py_object], None
keep(tokenizers.__dict__)  # as a library does whose threads or cycles outlive Python's clean-up
keep(tokenizers.get_tokenizer)
"""


def test_no_compiled_object_is_left_at_exit() -> None:
    ended = subprocess.run([sys.executable, "-c", KEPT_ALIVE], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
