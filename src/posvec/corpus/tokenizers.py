"""The tokenizers by name, each a table over all code points made from the running Python.

The compiled tokenizer (cpp/text.hpp) knows no character itself: which ones belong to a token and what they lower to
is asked of this Python's ``re`` and ``str``, so that both agree whatever version of Unicode it has.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

import numpy as np

from posvec._kernel import Tokenizer

# Between tokens of text that was tokenized before it came to posvec. Such lines never leave the spool.
TOKEN_SEPARATOR = "\x1f"


@cache
def get_tokenizer(name: str) -> Tokenizer:
    """The compiled tokenizer: ``word``, ``whitespace``, or ``tokens`` for text that is already cut by U+001F."""
    characters = _all_characters()
    if name == "word":
        return Tokenizer(_bitset("".join(re.findall(r"\w+", characters))), _lower_map())
    if name == "whitespace":
        return Tokenizer(_bitset("".join(characters.split())), [])
    if name == "tokens":
        return Tokenizer(_bitset(characters.replace(TOKEN_SEPARATOR, "").replace("\n", "")), [])
    raise ValueError(f"there is no tokenizer {name!r}")


def tokenizer_version(name: str) -> str:
    """What a cache must know a tokenizer by: the same name cuts differently under another version of Unicode."""
    return name if name == "tokens" else f"{name} (Unicode {unicodedata.unidata_version})"


@cache
def casing() -> tuple[bytes, bytes]:
    """The sets of cased and of case-ignorable characters, as they show in what ``str.lower`` does to a sigma.

    Called by the compiled tokenizer when it first meets a capital sigma, which lowers to a final one behind a cased
    character unless another follows, ignorable characters in between or not. A character that is both counts as
    ignorable, for it is looked through.
    """
    cased, ignorable = [], []
    for block in _blocks(_all_characters()):
        # Most blocks have neither kind: seen at once where every sigma turns final in spite of the letter that follows.
        if ("aΣ" + "a aΣ".join(block) + "a").lower().count("ς") == len(block):
            continue
        for character in block:
            if ("aΣ" + character).lower()[1] == "σ":
                cased.append(character)
            elif ("aΣ" + character + "a").lower()[1] == "σ":
                ignorable.append(character)
    return _bitset("".join(cased)), _bitset("".join(ignorable))


@cache
def _all_characters() -> str:
    codes = np.arange(sys.maxunicode + 1, dtype="<u4")
    return codes[(codes < 0xD800) | (codes > 0xDFFF)].tobytes().decode("utf-32-le")


def _bitset(characters: str) -> bytes:
    member = np.zeros(sys.maxunicode + 1, bool)
    member[np.frombuffer(characters.encode("utf-32-le"), "<u4")] = True
    return np.packbits(member, bitorder="little").tobytes()


def _lower_map() -> list[tuple[int, str]]:
    blocks = (block for block in _blocks(_all_characters()) if block.lower() != block)
    return [(ord(c), c.lower()) for block in blocks for c in block if c.lower() != c]


def _blocks(characters: str) -> Iterator[str]:
    return (characters[start : start + 256] for start in range(0, len(characters), 256))
