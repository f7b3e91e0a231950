"""Word vectors: lookup, out-of-vocabulary words, similarity and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import SubwordConfig
from posvec.errors import PosvecError
from posvec.parallel import map_in_order
from posvec.subwords import SubwordRows, build_rows
from posvec.vocabulary import Vocabulary

Floats = NDArray[np.float32]


class Neighbor(NamedTuple):
    """A word and its cosine similarity."""

    word: str
    similarity: float


class WordVectors:
    """u_w of every word, each the mean of its rows (its own and its n-grams').

    ``word in vectors`` means that it is in the vocabulary; ``vectors[word]`` also answers for words that are not, from
    the n-grams that they share with words that are, and ``vectors.oov(word)`` tells.
    """

    def __init__(self, vocabulary: Vocabulary, rows: SubwordRows, input_vectors: Floats) -> None:
        self._vocabulary = vocabulary
        self._rows = rows
        self._input_vectors = input_vectors

    @staticmethod
    def from_table(
        words: Sequence[str], table: NDArray[Any], counts: Sequence[int] | NDArray[np.int64] | None = None
    ) -> WordVectors:
        """Word vectors made elsewhere: a row of ``table`` for each word, without subwords.

        The order is kept, and so is the table, uncopied, if it is one of float32. ``counts`` are the words' frequencies
        in text; where they are not known, every word counts once.
        """
        vocabulary = _plain_vocabulary(list(words), counts)
        if not isinstance(table, np.ndarray) or table.ndim != 2 or len(table) != len(vocabulary) or not table.shape[1]:
            found = f"shape {np.shape(table)}" if hasattr(table, "shape") else type(table).__name__
            raise PosvecError(
                f"{len(vocabulary):,} words need an array of {len(vocabulary):,} rows, one vector each, and this has "
                f"{found}; give as many words as rows"
            )
        if table.dtype.kind not in "fiu":
            raise PosvecError(f"vectors are numbers, and this array holds {table.dtype}; convert it to float32")
        rows = build_rows(vocabulary, SubwordConfig(subwords=False))
        return WordVectors(vocabulary, rows, np.asarray(table, np.float32))

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary

    def __getitem__(self, word: str) -> Floats:
        if word in self:
            vector: Floats = self.table[self._vocabulary.index[word]]
            return vector
        rows = self._rows.rows_of(word)
        if not len(rows):
            raise PosvecError(
                f"there is no vector for {word!r}: it is not in the vocabulary"
                + (" and no n-gram of it is known" if self._rows.config.subwords else "")
                + "; try another word"
            )
        mean: Floats = self._input_vectors[rows].mean(0)
        return mean

    def oov(self, word: str) -> bool:
        """Whether a word is outside the vocabulary but has a vector, made from its n-grams."""
        return word not in self and len(self._rows.rows_of(word)) > 0

    @cached_property
    def table(self) -> Floats:
        """All word vectors, (V, D), in the order of the vocabulary."""
        if not len(self._rows.bucket_ids):
            return self._input_vectors[: len(self)]
        table = np.empty((len(self), self._input_vectors.shape[1]), np.float32)

        def fill(begin: int) -> None:
            _kernel.mean_rows(
                self._input_vectors, self._rows.row_begin, self._rows.rows, begin, min(begin + 1024, len(self)), table
            )

        for _ in map_in_order(fill, range(0, len(self), 1024)):
            pass
        return table

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two words' vectors."""
        return float(_unit(self[one]) @ _unit(self[other]))

    def most_similar(
        self, positive: str | Sequence[str] | Floats, negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[Neighbor]:
        """The words nearest to the sum of unit vectors of the positive words less those of the negative ones.

        The words given are left out of the answer.
        """
        if isinstance(positive, np.ndarray):
            given: list[str] = []
            query = positive.astype(np.float32)
        else:
            plus = [positive] if isinstance(positive, str) else list(positive)
            minus = [negative] if isinstance(negative, str) else list(negative)
            given = plus + minus
            if not given:
                raise PosvecError("most_similar needs at least one word; give one as positive")
            query = sum((_unit(self[word]) for word in plus), np.zeros(self.table.shape[1], np.float32))
            query = query - sum((_unit(self[word]) for word in minus), np.zeros_like(query))
        similarities = self.table @ _unit(query) / self._norms
        for word in given:
            if word in self:
                similarities[self._vocabulary.index[word]] = -np.inf
        topn = max(0, min(topn, len(self) - sum(word in self for word in set(given))))
        return [Neighbor(self._vocabulary.words[i], float(similarities[i])) for i in best(similarities, topn)]

    @cached_property
    def _norms(self) -> Floats:
        norms: Floats = np.sqrt(np.einsum("ij,ij->i", self.table, self.table))
        norms[norms == 0] = 1
        return norms


def best(scores: Floats, topn: int) -> NDArray[np.intp]:
    """Indices of the highest scores, best first; equal scores in the order of their indices."""
    topn = min(topn, len(scores))
    if topn <= 0:
        return np.empty(0, np.intp)
    last = np.partition(scores, -topn)[-topn]
    above = np.flatnonzero(scores > last)
    # Not argpartition: of several that tie with the last one it takes any.
    chosen = np.concatenate([above, np.flatnonzero(scores == last)[: topn - len(above)]])
    order: NDArray[np.intp] = chosen[np.lexsort((chosen, -scores[chosen]))]
    return order


def _plain_vocabulary(words: list[str], counts: Sequence[int] | NDArray[np.int64] | None) -> Vocabulary:
    for word in words:
        if not isinstance(word, str):
            raise PosvecError(f"words are strings, and {word!r} is not; convert it")
    if not words:
        raise PosvecError("there are no words; give at least one")
    numbers = np.ones(len(words), np.int64) if counts is None else np.asarray(counts, np.int64)
    if numbers.shape != (len(words),) or (numbers < 0).any():
        raise PosvecError(f"counts should be {len(words):,} numbers, one for each word and none negative")
    vocabulary = Vocabulary(words, numbers, int(numbers.sum()))
    if len(vocabulary.index) < len(words):
        twice = next(word for i, word in enumerate(words) if vocabulary.index[word] != i)
        raise PosvecError(f"the word {twice!r} comes twice; keep one of its vectors")
    return vocabulary


def _unit(vector: Floats) -> Floats:
    norm = float(np.linalg.norm(vector))
    return vector / np.float32(norm) if norm > 0 else vector
