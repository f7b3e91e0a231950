"""The tokenizers by name, each a table over all code points made from the running Python.

The compiled tokenizer (cpp/text.hpp) knows no character itself: which ones belong to a token and what they lower to
is asked of this Python's ``re`` and ``str``, so that both agree whatever version of Unicode it has.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

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
        return Tokenizer(_bitset(set(characters) - {TOKEN_SEPARATOR, "\n"}), [])
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
    for character in _all_characters():
        if ("aΣ" + character).lower()[1] == "σ":
            cased.append(character)
        elif ("aΣ" + character + "a").lower()[1] == "σ":
            ignorable.append(character)
    return _bitset(cased), _bitset(ignorable)


@cache
def _all_characters() -> str:
    surrogates = range(0xD800, 0xE000)
    return "".join(map(chr, (c for c in range(sys.maxunicode + 1) if c not in surrogates)))


def _bitset(characters: Iterable[str]) -> bytes:
    import numpy as np

    member = np.zeros(sys.maxunicode + 1, bool)
    codes = np.frombuffer("".join(characters).encode("utf-32-le"), "<u4")
    member[codes] = True
    return np.packbits(member, bitorder="little").tobytes()


def _lower_map() -> list[tuple[int, str]]:
    characters = _all_characters()
    blocks = (characters[start : start + 256] for start in range(0, len(characters), 256))
    lower: Callable[[str], str] = str.lower
    return [(ord(c), lower(c)) for block in blocks if lower(block) != block for c in block if lower(c) != c]
