"""The tokenizers by name, each a table of all code points.

The compiled tokenizer (cpp/text/tokenizer.hpp) has no knowledge of characters. Which characters belong to tokens, and
their lower case, are computed with ``re`` and ``str`` of the running Python, so that both agree for every version of
Unicode.
"""

from __future__ import annotations

import atexit
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

import numpy as np

from posvec._kernel import Tokenizer

# Separates the tokens of text that was tokenized by the user; only temporary copies contain it.
TOKEN_SEPARATOR = "\x1f"


@cache
def get_tokenizer(name: str) -> Tokenizer:
    """Return a compiled tokenizer.

    Parameters
    ----------
    name
        ``word`` finds runs of ``\\w`` and lowers their case, ``whitespace`` splits at white space, ``tokens`` splits at
        U+001F, for text that was tokenized before.

    Examples
    --------
    >>> get_tokenizer("word").split("Don't stop!".encode())
    [['don', 't', 'stop']]
    """
    characters = _all_characters()
    if name == "word":
        return Tokenizer(_bitset("".join(re.findall(r"\w+", characters))), _lower_map())
    if name == "whitespace":
        return Tokenizer(_bitset("".join(characters.split())), [])
    if name == "tokens":
        return Tokenizer(_bitset(characters.replace(TOKEN_SEPARATOR, "").replace("\n", "")), [])
    raise ValueError(f"there is no tokenizer {name!r}")


# At exit, the cache must not be the last owner of compiled objects: they would be reported as leaked if another library
# keeps Python from clearing this module.
atexit.register(get_tokenizer.cache_clear)


def tokenizer_version(name: str) -> str:
    """Return the name of a tokenizer with the version of Unicode, on which its tokens depend, for use in cache keys.

    Examples
    --------
    >>> tokenizer_version("word")
    'word (Unicode ...)'
    """
    return name if name == "tokens" else f"{name} (Unicode {unicodedata.unidata_version})"


@cache
def casing() -> tuple[bytes, bytes]:
    """Return the sets of cased and of case-ignorable characters, found by what ``str.lower`` does to a sigma.

    The compiled tokenizer calls this when it first reads a capital sigma, whose lower case is a final sigma after a
    cased character, unless another cased character follows; ignorable characters in between are skipped. A character
    that is both cased and ignorable counts as ignorable, because it is skipped.
    """
    cased, ignorable = [], []
    for block in _blocks(_all_characters()):
        # Most blocks have neither kind: every sigma becomes final although a letter follows. One test skips them.
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
