"""Checks of the words and vectors that are read from files, and of the words that a format can store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.errors import ModelError, PosvecError
from posvec.formats.files import invalid_file
from posvec.system.arrays import FloatArray
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

ROWS = 4096
"""Rows of a table that one task handles."""


def make_vectors(
    path: Path, words: list[str], table: FloatArray, counts: NDArray[np.int64] | None = None
) -> WordVectors:
    """Return the word vectors of a file; raise ModelError if its words are not distinct."""
    try:
        return WordVectors.from_table(words, table, counts)
    except PosvecError as error:
        raise ModelError(f"{path} cannot be used: {error}") from error


def drop_unwritable_words(vectors: WordVectors, characters: str) -> tuple[WordVectors, list[str]]:
    """Return the vectors without words that are empty or contain one of ``characters``, and those words."""
    words, counts = vectors.vocabulary.words, vectors.vocabulary.counts
    find = re.compile(f"[{characters}\ud800-\udfff]|^$").search  # lone surrogates cannot be encoded as UTF-8
    bad = [i for i, word in enumerate(words) if find(word)]
    if not bad:
        return vectors, []
    keep = np.delete(np.arange(len(words)), bad)
    if not len(keep):
        raise ModelError(f"this format cannot store any of the words, for example {words[0]!r}; choose another format")
    kept = WordVectors.from_table([words[i] for i in keep], vectors.table[keep], counts[keep])
    return kept, [words[i] for i in bad]


def check_finite(path: Path, table: FloatArray, words: Sequence[str]) -> None:
    """Raise ModelError if a row of the table has a number that is not finite, naming the word of the row if any."""

    def find(begin: int) -> int:
        return _kernel.find_not_finite(table, begin, min(begin + ROWS, len(table)))

    raise_if_not_finite(path, map_in_order(find, range(0, len(table), ROWS)), words)


def raise_if_not_finite(path: Path, rows: Iterable[int], words: Sequence[str]) -> None:
    """Raise ModelError for the first row number in ``rows``; -1 means that a check found nothing."""
    for row in rows:
        if row >= 0:
            name = f"of the word {words[row]!r}" if row < len(words) else f"of row {row:,}"
            raise invalid_file(path, f"the vector {name} has a number that is not finite")
