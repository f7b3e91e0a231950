"""The words of question files in the vocabulary of a model: case folded, and from subwords on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError
from posvec.system.arrays import FloatArray, unit_rows
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

Rows = NDArray[np.intp]
Unknown = Literal["skip", "subwords"]


class Lookup:
    """Words → rows of unit vectors: those of the vocabulary, then those made from subwords as they are asked for.

    With ``case_fold``, words that differ in case alone are one word, the most frequent of them.
    """

    def __init__(
        self,
        model: Model | WordVectors,
        restrict_vocab: int | None = None,
        case_fold: bool = True,
        oov: Unknown = "skip",
    ) -> None:
        if restrict_vocab is not None and restrict_vocab < 1:
            raise ConfigError(f"restrict_vocab is {restrict_vocab}, but must be at least 1; leave it out for all words")
        if oov not in ("skip", "subwords"):
            raise ConfigError(f"oov is one of skip, subwords, not {oov!r}")
        self._vectors = word_vectors(model)
        self._words = self._vectors.index_to_key[:restrict_vocab]
        self._case_fold = case_fold
        self._oov = oov
        self._made: list[FloatArray] = []
        self._rows: dict[str, int | None] = {}
        for row, word in enumerate(self._words):
            self._rows.setdefault(self._fold(word), row)

    def __len__(self) -> int:
        return len(self._words) + len(self._made)

    def row(self, word: str) -> int | None:
        """The row of a word, or None if it has no vector."""
        folded = self._fold(word)
        if folded not in self._rows:
            self._rows[folded] = self._make(word) if self._oov == "subwords" else None
        return self._rows[folded]

    def is_made(self, row: int) -> bool:
        """Whether the vector comes from subwords, or from beyond the restricted vocabulary."""
        return row >= len(self._words)

    def unit(self, rows: Rows) -> FloatArray:
        """The vectors of rows, each of length 1; one of zeros stays so."""
        vectors = np.empty((len(rows), self._vectors.table.shape[1]), np.float32)
        made = rows >= len(self._words)
        vectors[~made] = self._vectors.table[rows[~made]]
        if made.any():
            vectors[made] = np.array(self._made)[rows[made] - len(self._words)]
        return unit_rows(vectors)

    def first_variants(self) -> Rows:
        """Of each row, the row of the most frequent word that differs from its word in case alone."""
        rows = [self._rows[self._fold(word)] for word in self._words]
        return np.array(rows + list(range(len(rows), len(self))), np.intp)

    def _fold(self, word: str) -> str:
        # Compat: upper, as in gensim, not casefold.
        return word.upper() if self._case_fold else word

    def _make(self, word: str) -> int | None:
        # Text is lower case for most models, and so are their n-grams.
        for form in (word.lower(), word) if self._case_fold else (word,):
            if form in self._vectors or self._vectors.oov(form):
                self._made.append(self._vectors[form])
                return len(self) - 1
        return None


def word_vectors(model: Model | WordVectors) -> WordVectors:
    return model if isinstance(model, WordVectors) else model.vectors
