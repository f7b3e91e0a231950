"""Sentences with a masked word, and the context words around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import PosvecError, UnknownWordError
from posvec.system.utf8 import has_utf8

MASK, PAD_WORD = "[MASK]", "[PAD]"


def split_sentence(sentence: str | Sequence[str], tokenizer: str) -> list[str]:
    """Split a sentence into words, keeping [MASK] and [PAD]; return a list of words as it is."""
    if not isinstance(sentence, str):
        for word in sentence if isinstance(sentence, Iterable) else [sentence]:
            if not isinstance(word, str):
                raise PosvecError(f"a sentence is a string or a list of words, and {word!r} is neither")
        return list(sentence)
    if not has_utf8(sentence):
        raise PosvecError(f"the sentence {sentence[:80]!r} is not UTF-8; convert it, or remove the bytes that are not")
    words: list[str] = []
    for part in re.split(r"(\[MASK\]|\[PAD\])", sentence):
        if part in (MASK, PAD_WORD):
            words.append(part)
        else:
            words += (word for line in get_tokenizer(tokenizer).split(part.encode()) for word in line)
    return words


def mask_word(words: Sequence[str], index: int) -> list[str]:
    """Replace the word at an index by [MASK]."""
    if MASK in words:
        raise PosvecError(f"the sentence already has a {MASK}; leave out the position, or the {MASK}")
    if not 0 <= index < len(words):
        raise PosvecError(
            f"position {index} is not in the sentence, which has {len(words)} words; the first has position 0"
        )
    return [*words[:index], MASK, *words[index + 1 :]]


def context_of_mask(words: Sequence[str], window: int, has_vector: Callable[[str], bool]) -> list[tuple[str, int]]:
    """Return the context words of the one [MASK], each with its position relative to the mask."""
    if words.count(MASK) != 1:
        raise PosvecError(
            f"a sentence needs exactly one {MASK} where the word is to be predicted, not {words.count(MASK)}"
        )
    mask = words.index(MASK)
    context = [
        (word, index - mask) for index, word in enumerate(words) if 0 < abs(index - mask) <= window and has_vector(word)
    ]
    if not context:
        raise UnknownWordError("no word of the sentence near its [MASK] has a vector in this model; use other words")
    return context
