"""Lookup of test words in a model: by case-folded spelling, and with vectors composed from subwords on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from posvec.errors import ConfigError
from posvec.system.arrays import FloatArray, IndexArray, unit_rows
from posvec.system.mapping import check_mapped
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

UnknownWordPolicy = Literal["skip", "subwords"]


class Lookup:
    """Maps words to rows of unit vectors.

    The first rows are the words of the vocabulary. Words outside it get further rows when they are first looked up, if
    ``oov`` is "subwords". With ``case_fold``, words that differ only in case are represented by the most frequent one.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.lookup import Lookup
    >>> lookup = Lookup(posvec.load("model"), oov="subwords")
    >>> lookup.row("Cat") == lookup.row("cat"), lookup.is_composed(lookup.row("cats"))
    (True, True)
    """

    def __init__(
        self,
        model: Model | WordVectors,
        restrict_vocab: int | None = None,
        case_fold: bool = True,
        oov: UnknownWordPolicy = "skip",
    ) -> None:
        if restrict_vocab is not None and restrict_vocab < 1:
            raise ConfigError(f"restrict_vocab is {restrict_vocab}, but must be at least 1; leave it out for all words")
        if oov not in ("skip", "subwords"):
            raise ConfigError(f"oov must be skip or subwords, not {oov!r}")
        self._vectors = word_vectors(model)
        self._words = self._vectors.index_to_key[:restrict_vocab]
        self._case_fold = case_fold
        self._oov = oov
        self._composed: list[FloatArray] = []
        self._rows: dict[str, int | None] = {}
        for row, word in enumerate(self._words):
            self._rows.setdefault(self._fold(word), row)

    def __len__(self) -> int:
        return len(self._words) + len(self._composed)

    def row(self, word: str) -> int | None:
        """The row of a word, or None if it has no vector."""
        folded = self._fold(word)
        if folded not in self._rows:
            self._rows[folded] = self._compose(word) if self._oov == "subwords" else None
        return self._rows[folded]

    def is_composed(self, row: int) -> bool:
        """Whether the row was added for a word outside the (restricted) vocabulary."""
        return row >= len(self._words)

    def unit_vectors(self, rows: IndexArray) -> FloatArray:
        """The vectors of rows, scaled to length 1; vectors of zeros stay zeros."""
        check_mapped(self._vectors.table)
        vectors = np.empty((len(rows), self._vectors.table.shape[1]), np.float32)
        composed = rows >= len(self._words)
        vectors[~composed] = self._vectors.table[rows[~composed]]
        if composed.any():
            vectors[composed] = np.array(self._composed)[rows[composed] - len(self._words)]
        return unit_rows(vectors)

    def case_variants(self) -> IndexArray:
        """For each row, the row of the most frequent word that has the same case-folded spelling."""
        rows = [self._rows[self._fold(word)] for word in self._words]
        return np.array(rows + list(range(len(rows), len(self))), np.intp)

    def _fold(self, word: str) -> str:
        # Compat: gensim folds case with upper, not casefold.
        return word.upper() if self._case_fold else word

    def _compose(self, word: str) -> int | None:
        # Most models are trained on lower-case text, so the lower-case form has more known n-grams.
        for form in (word.lower(), word) if self._case_fold else (word,):
            if form in self._vectors or self._vectors.oov(form):
                self._composed.append(self._vectors[form])
                return len(self) - 1
        return None


def word_vectors(model: Model | WordVectors) -> WordVectors:
    """The word vectors of a model, or the vectors themselves.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.lookup import word_vectors
    >>> model = posvec.load("model")
    >>> word_vectors(model) is model.vectors, word_vectors(model.vectors) is model.vectors
    (True, True)
    """
    return model if isinstance(model, WordVectors) else model.vectors
