"""Word vectors: lookup and out-of-vocabulary words; what can be asked of them is in ``queries.py``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import SubwordConfig
from posvec.corpus.sources import ProgressCallback
from posvec.errors import PosvecError, UnknownWordError
from posvec.query.neighbors import Neighbor, best
from posvec.query.queries import Queries
from posvec.storage.folders import Folder
from posvec.storage.quantization import VectorTable
from posvec.subwords import SubwordRows, build_rows, subwords
from posvec.system.arrays import FloatArray, unit_rows, unit_vector
from posvec.system.threads import map_in_order
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.query.approximate import NeighborIndex

__all__ = ["Neighbor", "Part", "WordVectors", "best"]


class Part(NamedTuple):
    """A word's own row, or one of its n-grams, and what it brings to the word's vector."""

    text: str
    share: float | None
    """Of the length of the vector, along its direction: all shares add up to 1. None if the n-gram has no row."""


class WordVectors(Queries):
    """u_w of every word, each the mean of its rows (its own and its n-grams').

    ``word in vectors`` means that it is in the vocabulary; ``vectors[word]`` also answers for words that are not, from
    the n-grams that they share with words that are, and ``vectors.oov(word)`` tells.
    """

    def __init__(
        self, vocabulary: Vocabulary, rows: SubwordRows, input_vectors: VectorTable, origin: Folder | None = None
    ) -> None:
        self.vocabulary = vocabulary
        """The words, in the order of ``table``, and their counts."""
        self.rows = rows
        """Which rows of ``input_vectors`` each word is made of."""
        self.input_vectors = input_vectors
        """u, (V + n-gram rows, D)."""
        self.origin = origin
        """The saved model that the vectors were loaded from, if they were."""

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
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str | Sequence[str]) -> FloatArray:
        """The vector of a word, or those of a list of words, one in each row."""
        if isinstance(word, str):
            return self.get_vector(word)
        return self.get_vectors(word)

    def __repr__(self) -> str:
        return f"<vectors of {len(self):,} words, D={self.vector_size}>"

    @property
    def index_to_key(self) -> list[str]:
        """The words, by descending count."""
        return self.vocabulary.words

    @property
    def key_to_index(self) -> dict[str, int]:
        """The place of each word in ``index_to_key`` and in ``table``."""
        return self.vocabulary.index

    @property
    def vector_size(self) -> int:
        """D, the numbers of a vector."""
        return int(self.input_vectors.shape[1])

    def oov(self, word: str) -> bool:
        """Whether a word is outside the vocabulary but has a vector, made from its n-grams."""
        return word not in self and len(self.rows.rows_of(word)) > 0

    def has_vector(self, word: str) -> bool:
        """Whether a word has a vector: it is in the vocabulary, or one is made from its n-grams."""
        return word in self or self.oov(word)

    def get_vector(self, word: str, norm: bool = False) -> FloatArray:
        """The vector of a word, of length 1 if ``norm``."""
        if not isinstance(word, str):
            raise PosvecError(f"words are strings, and {word!r} is not; convert it")
        vector = self._known(self.vocabulary.index[word]) if word in self else self._from_ngrams(word)
        return unit_vector(vector) if norm else vector

    def get_vectors(self, words: Iterable[str], norm: bool = False) -> FloatArray:
        """The vectors of words, (n, D), each of length 1 if ``norm``."""
        if isinstance(words, str):
            raise PosvecError(f"get_vectors takes a list of words; use get_vector({words!r}) for one")
        words = list(words)
        if self._has_table or len(words) > len(self) // 8:
            # The table is there, or a good part of it would be made word by word: its rows are picked at once.
            places = np.array([self._place(word) for word in words], np.intp)
            vectors = self.table[places]
            for row in np.flatnonzero(places < 0):
                vectors[row] = self.get_vector(words[row])
        else:
            vectors = np.array([self.get_vector(word) for word in words], np.float32).reshape(-1, self.vector_size)
        return unit_rows(vectors) if norm else vectors

    def parts(self, word: str) -> list[Part]:
        """What the vector of a word is made of: its own row, if it is in the vocabulary, and its n-grams."""
        vector = self.get_vector(word).astype(np.float64)
        rows = self.rows.rows_of_ngrams(word).tolist()
        texts = subwords(word, self.rows.config)
        if word in self:
            rows, texts = [self.key_to_index[word], *rows], [word, *texts]
        known = [row for row in rows if row >= 0]
        # u_w is the mean of its rows, so that the projections of the rows on it have its squared length as their mean.
        projected = self.input_vectors[known].astype(np.float64) @ vector
        squared = float(vector @ vector) or 1.0
        shares = iter((projected / (squared * len(known))).tolist())
        return [Part(text, next(shares) if row >= 0 else None) for text, row in zip(texts, rows, strict=True)]

    @cached_property
    def table(self) -> FloatArray:
        """All word vectors, (V, D), in the order of the vocabulary."""
        if not len(self.rows.bucket_ids):
            return self.input_vectors[: len(self)]
        table = np.empty((len(self), self.vector_size), np.float32)

        def fill(begin: int) -> None:
            end = min(begin + 1024, len(self))
            _mean_rows(self.input_vectors, self.rows.row_begin[begin : end + 1], self.rows.rows, table[begin:end])

        for _ in map_in_order(fill, range(0, len(self), 1024)):
            pass
        return table

    # ---- other libraries ----------------------------------------------------------------------------------------

    def to_gensim(self) -> Any:
        """gensim's KeyedVectors, or FastTextKeyedVectors where there are subwords: :mod:`posvec.interop.gensim`."""
        from posvec.query.conversion import to_gensim

        return to_gensim(self)

    def to_spacy_vocab(self, lang: str = "en") -> Any:
        """A ``spacy.vocab.Vocab`` with these vectors: :mod:`posvec.interop.spacy`."""
        from posvec.query.conversion import to_spacy_vocab

        return to_spacy_vocab(self, lang)

    def to_torch_embedding(
        self,
        freeze: bool = True,
        words: Sequence[str] | None = None,
        padding: bool = False,
        unknown: bool = False,
    ) -> Any:
        """A ``torch.nn.Embedding`` with these vectors: :mod:`posvec.interop.torch`."""
        from posvec.query.conversion import to_torch_embedding

        return to_torch_embedding(self, freeze, words, padding, unknown)

    # ---- approximate neighbours -------------------------------------------------------------------------------

    def build_index(
        self, connectivity: int = 16, effort: int = 128, threads: int = 0, progress: ProgressCallback | None = None
    ) -> NeighborIndex:
        """An index for ``most_similar(..., index=index)``, approximate, and fast among millions of words.

        More ``connectivity`` (links of each word) and ``effort`` (candidates looked at) find more of the true
        neighbours, and take longer. ``index.save()`` puts it beside the saved model that the vectors come from.
        """
        from posvec.query.approximate import NeighborIndex

        return NeighborIndex.build(self, connectivity, effort, threads, progress)

    def open_index(self) -> NeighborIndex:
        """The index that was saved beside the model that these vectors come from, mapped from its file, not read."""
        from posvec.query.approximate import NeighborIndex

        return NeighborIndex.open(self)

    # ---- how --------------------------------------------------------------------------------------------------

    @property
    def _has_table(self) -> bool:
        """Whether ``table`` costs nothing: there are neither subwords nor codes, or it was made before."""
        plain = isinstance(self.input_vectors, np.ndarray) and not len(self.rows.bucket_ids)
        return plain or "table" in self.__dict__

    def _place(self, word: object) -> int:
        return self.vocabulary.index.get(word, -1) if isinstance(word, str) else -1

    def _known(self, word: int) -> FloatArray:
        """The vector of a word of the vocabulary, by the same sum whether the whole table was asked for or not."""
        if self._has_table:
            vector: FloatArray = self.table[word]
            return vector
        return self._mean(self.rows.rows_of_known(word))

    def _from_ngrams(self, word: str) -> FloatArray:
        rows = self.rows.rows_of(word)
        if not len(rows):
            raise UnknownWordError(
                f"there is no vector for {word!r}: it is not in the vocabulary"
                + (" and no n-gram of it is known" if self.rows.config.subwords else "")
                + "; try another word"
            )
        return self._mean(rows)

    def _mean(self, rows: NDArray[np.uint32]) -> FloatArray:
        mean = np.empty((1, self.vector_size), np.float32)
        _mean_rows(self.input_vectors, np.array([0, len(rows)], np.uint64), rows, mean)
        only: FloatArray = mean[0]
        return only


def sigmoid(score: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + e^-score), also where e^-score overflows."""
    value: NDArray[np.float64] = np.exp(-np.logaddexp(0.0, np.negative(score)))
    return value


def _mean_rows(table: VectorTable, row_begin: NDArray[np.uint64], rows: NDArray[np.uint32], means: FloatArray) -> None:
    """The means of some words' rows: those of word i of ``means`` begin at ``row_begin[i]`` in ``rows``."""
    if not isinstance(table, np.ndarray):
        # Of a coded table, only the rows that these words are made of are decoded, each once.
        used, places = np.unique(rows[int(row_begin[0]) : int(row_begin[-1])], return_inverse=True)
        table, rows, row_begin = table[used], places.astype(np.uint32), row_begin - row_begin[0]
    _kernel.mean_rows(table, row_begin, rows, 0, len(means), means)


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
