"""Lookup of word vectors that are means of rows: the word's own row and the rows of its n-grams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.errors import PosvecError, UnknownWordError
from posvec.query.head_weights import fit_meaning, join_heads, join_predicted, meaning_features
from posvec.query.lookup import VectorLookup, not_finite_error
from posvec.storage.tables import VectorTable
from posvec.subwords import SubwordRows, subwords
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray, unit_rows, unit_vector
from posvec.system.mapping import check_mapped
from posvec.system.threads import map_in_order
from posvec.vocabulary import Vocabulary

_CHUNK = 1024  # words whose rows are averaged in one task
_FITTED = 20_000  # words, about, from which the meaning of words out of vocabulary is predicted


class SubwordContribution(NamedTuple):
    """One of the rows whose mean is a word's vector: the word's own row or that of an n-gram."""

    text: str
    fraction: float | None
    """The fraction of the vector's length that the row contributes, in its direction; None if the n-gram has no row.

    All fractions add up to 1; some can be negative."""


class RowSums(NamedTuple):
    """The sums of the rows of words, (n, D), and the numbers of their rows in each head, (n, heads)."""

    sums: DoubleArray
    counts: IndexArray


class SubwordLookup(VectorLookup):
    """Vectors of the words of a vocabulary, and of other words that have n-grams in common with them."""

    vocabulary: Vocabulary
    rows: SubwordRows
    input_vectors: VectorTable
    word_head: VectorTable
    word_head_outputs: VectorTable | None
    spelling: float | None

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str | Sequence[str]) -> FloatArray:
        """Return the vector of a word, or those of a list of words, one in each row."""
        if isinstance(word, str):
            return self.get_vector(word)
        return self.get_vectors(word)

    @property
    def index_to_key(self) -> list[str]:
        """The words, in the order of ``table``; in a trained model by descending count."""
        return self.vocabulary.words

    @property
    def key_to_index(self) -> dict[str, int]:
        """The index of each word in ``index_to_key`` and in ``table``."""
        return self.vocabulary.index

    @property
    def vector_size(self) -> int:
        """D, the number of features of a vector."""
        return self.word_dim + int(self.input_vectors.shape[1])

    @property
    def word_dim(self) -> int:
        """W, the number of features that come from words' own rows alone; 0 in models with one head."""
        return int(self.word_head.shape[1])

    def oov(self, word: str) -> bool:
        """Return whether a word is out of vocabulary but has a vector, made from its n-grams."""
        return word not in self and len(self.rows.rows_of(word)) > 0

    def has_vector(self, word: str) -> bool:
        """Return whether a word has a vector, from the vocabulary or from its n-grams."""
        return word in self or self.oov(word)

    def get_vector(self, word: str, norm: bool = False) -> FloatArray:
        """Return the vector of a word.

        Parameters
        ----------
        word
            A word of the vocabulary, or another one if some of its n-grams are known.
        norm
            Whether to scale the vector to length 1.

        Returns
        -------
        numpy.ndarray
            The vector, (D,).

        Raises
        ------
        UnknownWordError
            If the word has no vector.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> float(abs(vectors.get_vector("cat", norm=True) ** 2).sum().round(3))
        1.0
        """
        if not isinstance(word, str):
            raise PosvecError(f"words must be strings, not {word!r}; convert it")
        vector = self._vocabulary_vector(self.vocabulary.index[word]) if word in self else self._ngram_vector(word)
        if not norm:
            return vector
        if not np.isfinite(vector).all():
            raise not_finite_error(word)
        return unit_vector(vector)

    def get_vectors(self, words: Iterable[str], norm: bool = False) -> FloatArray:
        """Return the vectors of several words.

        Parameters
        ----------
        words
            Words that have a vector.
        norm
            Whether to scale each vector to length 1.

        Returns
        -------
        numpy.ndarray
            A vector in each row, (n, D).

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.get_vectors(["cat", "dog", "cats"]).shape
        (3, 32)
        """
        if isinstance(words, str):
            raise PosvecError(f"get_vectors takes a list of words; use get_vector({words!r}) for one")
        words = list(words)
        if self._has_table or len(words) > len(self) // 8:
            # One gather from the table, because it exists or because computing it all is hardly more work.
            ids = np.array([self._vocabulary_id(word) for word in words], np.intp)
            check_mapped(self.table)
            vectors = self.table[ids]
            for row in np.flatnonzero(ids < 0):
                vectors[row] = self.get_vector(words[row])
        else:
            vectors = np.array([self.get_vector(word) for word in words], np.float32).reshape(-1, self.vector_size)
        if not norm:
            return vectors
        finite = np.isfinite(vectors).all(1)
        if not finite.all():
            raise not_finite_error(words[int(finite.argmin())])
        return unit_rows(vectors)

    def row_sums(self, words: Iterable[str]) -> RowSums:
        """Return the sum of the rows of each word, as training adds them up, and the number of the rows.

        The rows of a word of the vocabulary are its own and one for each of its n-grams. The rows of another word are
        those of its known n-grams. In the word head of a model with two heads, a word of the vocabulary has one row,
        and another word has none. A compressed model from which n-grams were removed keeps the sums and the numbers
        that it was trained with, up to the loss of compression.

        Parameters
        ----------
        words
            Words that have a vector.

        Returns
        -------
        RowSums
            The sums, (n, D), and the numbers of rows in each head, (n, heads).

        Examples
        --------
        >>> import numpy as np, posvec
        >>> vectors = posvec.load("model").vectors
        >>> sums, counts = vectors.row_sums(["cat"])
        >>> counts.tolist(), sums.shape  # one row in the word head, and seven in the spelling head
        ([[1, 7]], (1, 32))
        >>> np.allclose(sums[0, 16:] / 7, vectors.unweighted["cat"][16:])
        True
        """
        words = list(words)
        counts = self.row_counts(words)
        # The mean of a word's rows is at hand. Compression keeps means, but not all rows.
        sums = self.unweighted.get_vectors(words).astype(np.float64)
        sums[:, self.word_dim :] *= counts[:, -1:]
        return RowSums(sums, counts)

    def row_counts(self, words: Iterable[str]) -> IndexArray:
        """Return the numbers of rows of :meth:`row_sums` alone, (n, heads)."""
        words = list(words)
        counts = [(word in self, self.rows.trained_rows(word, word in self)) for word in words]
        table = np.array(counts, np.intp).reshape(len(words), 2)
        return table if self.word_dim else table[:, 1:]

    @property
    @abstractmethod
    def unweighted(self) -> SubwordLookup:
        """The mean of the rows of each word in each head, as training sees them; with one head, these vectors."""

    def subword_contributions(self, word: str) -> list[SubwordContribution]:
        """Return how much each row contributes to the vector of a word: its own row, if any, then its n-grams.

        Parameters
        ----------
        word
            A word that has a vector.

        Returns
        -------
        list of SubwordContribution
            The word or n-gram of each row, and its fraction of the vector.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> [each.text for each in vectors.subword_contributions("cat")]
        ['cat', '<ca', '<cat', '<cat>', 'cat', 'cat>', 'at>']
        """
        check_mapped(self.input_vectors)
        vector = self.get_vector(word).astype(np.float64)
        if not np.isfinite(vector).all():
            raise not_finite_error(word)
        rows = self.rows.rows_of_ngrams(word).tolist()
        texts = subwords(word, self.rows.config)
        if word in self:
            rows, texts = [self.key_to_index[word], *rows], [word, *texts]
        known = [row for row in rows if row >= 0]
        squared_length = float(vector @ vector) or 1.0
        meaning, spelling = vector[: self.word_dim], vector[self.word_dim :]
        if self.word_dim and word not in self:
            # Each row adds to the predicted meaning, too: [g B, s g] has the product g (B x + s y) with [x, y].
            weight = 1 if self.spelling is None else self.spelling
            spelling = self.meaning_weights @ meaning + weight * spelling
        projections = self.input_vectors[known].astype(np.float64) @ spelling
        if self.word_dim:
            # The own row of a word adds the features of the word head, and the n-grams add up to the rest.
            own = [float(meaning @ meaning) / squared_length] * (word in self)
            of_ngrams = projections[word in self :]
            total = float(of_ngrams.sum()) or 1.0
            fractions = iter([*own, *(of_ngrams / total * (1 - sum(own))).tolist()])
        else:
            # u_w is the mean of its rows, so the mean of the projections of the rows on u_w is its squared length.
            fractions = iter((projections / (squared_length * len(known))).tolist())
        return [
            SubwordContribution(text, next(fractions) if row >= 0 else None)
            for text, row in zip(texts, rows, strict=True)
        ]

    parts = subword_contributions
    """The name of :meth:`subword_contributions` in posvec 0.1.0."""

    @cached_property
    def table(self) -> FloatArray:
        """All word vectors, (V, D), in the order of the vocabulary."""
        if not len(self.rows.bucket_ids) and not self.word_dim:
            return self.input_vectors[: len(self)]
        table = np.empty((len(self), self.vector_size), np.float32)

        def fill(begin: int) -> None:
            end = min(begin + _CHUNK, len(self))
            words = np.arange(begin, end)
            table[begin:end] = self._assemble(words, self.rows.row_begin[begin : end + 1], self.rows.rows)

        for _ in map_in_order(fill, range(0, len(self), _CHUNK)):
            pass
        return table

    @property
    def _has_table(self) -> bool:
        """Whether ``table`` is available without work: it is the input table itself, or was computed before."""
        plain = isinstance(self.input_vectors, np.ndarray) and not len(self.rows.bucket_ids) and not self.word_dim
        return plain or "table" in self.__dict__

    def _vocabulary_id(self, word: object) -> int:
        return self.vocabulary.index.get(word, -1) if isinstance(word, str) else -1

    def _vocabulary_vector(self, word: int) -> FloatArray:
        """The vector of a word of the vocabulary, bit for bit the same whether ``table`` exists or not."""
        if self._has_table:
            check_mapped(self.table)
            vector: FloatArray = self.table[word]
            return vector
        return self._vector_of_rows(word, self.rows.rows_of_known(word))

    def _ngram_vector(self, word: str) -> FloatArray:
        rows = self.rows.rows_of(word)
        if not len(rows):
            raise UnknownWordError(
                f"there is no vector for {word!r}: it is not in the vocabulary"
                + (" and no n-gram of it is known" if self.rows.config.subwords else "")
                + "; try another word"
            )
        return self._vector_of_rows(-1, rows)

    def _vector_of_rows(self, word: int, rows: NDArray[np.uint32]) -> FloatArray:
        vector: FloatArray = self._assemble(np.array([word]), np.array([0, len(rows)], np.uint64), rows)[0]
        return vector

    def _assemble(self, words: IndexArray, row_begin: NDArray[np.uint64], rows: NDArray[np.uint32]) -> FloatArray:
        """Return the vectors of words, (n, D), by their ids and their rows; -1 is one word out of vocabulary."""
        if not self.word_dim:
            return self._spelling_features(words, row_begin, rows)
        spelling = self._spelling_features(words, row_begin, rows)
        if self.spelling is None or len(words) != 1 or words[0] >= 0:
            return join_heads(self._meaning_features(words), spelling, self.spelling)
        return join_predicted(self.meaning_weights, spelling, self.spelling)

    def _meaning_features(self, words: IndexArray) -> FloatArray:
        """x of words of the vocabulary, 0 of others."""
        known = words >= 0
        features = np.zeros((len(words), self.word_dim), np.float32)
        check_mapped(self.word_head)
        features[known] = self.word_head[words[known]]
        if self.spelling is not None and self.word_head_outputs is not None:
            check_mapped(self.word_head_outputs)
            outputs = self.word_head_outputs[words[known]][:, : self.word_dim]
            features[known] = meaning_features(features[known], outputs)
        return features

    def _spelling_features(
        self, words: IndexArray, row_begin: NDArray[np.uint64], rows: NDArray[np.uint32]
    ) -> FloatArray:
        """The means of the rows of words: y, or those of all features with one head."""
        means = np.empty((len(words), self.input_vectors.shape[1]), np.float32)
        _mean_rows(self.input_vectors, row_begin, rows, means)
        if self.word_dim and self.spelling is not None and not self.rows.pruned:
            # Without the own row, which the mean of a word of the vocabulary begins with.
            counts = np.diff(row_begin).astype(np.float64)
            others = (words >= 0) & (counts > 1)
            number, own = counts[others, np.newaxis], self.input_vectors[words[others]]
            with np.errstate(over="ignore", invalid="ignore"):  # of vectors that are not finite, and stay so
                means[others] = (number * means[others] - own) / (number - 1)
        return means

    @cached_property
    def meaning_weights(self) -> FloatArray:
        """B, (D - W, W), which predicts the features of words out of vocabulary in the word head, see
        :mod:`posvec.query.head_weights`; 0 if vectors are not weighted."""
        if not self.word_dim or self.spelling is None:
            return np.zeros((self.input_vectors.shape[1], self.word_dim), np.float32)
        words = np.arange(0, len(self), max(1, len(self) // _FITTED))
        lists = [self.rows.rows_of_known(word) for word in words.tolist()]
        row_begin = np.cumsum([0, *map(len, lists)]).astype(np.uint64)
        spelling = self._spelling_features(words, row_begin, np.concatenate(lists))
        return fit_meaning(self._meaning_features(words), spelling)


def _mean_rows(table: VectorTable, row_begin: NDArray[np.uint64], rows: NDArray[np.uint32], means: FloatArray) -> None:
    """Fill ``means``: row i with the mean of ``table[rows[row_begin[i] : row_begin[i + 1]]]``."""
    check_mapped(table)
    if not isinstance(table, np.ndarray):
        # Decode only the rows that are needed, each once.
        used, indices = np.unique(rows[int(row_begin[0]) : int(row_begin[-1])], return_inverse=True)
        table, rows, row_begin = table[used], indices.astype(np.uint32), row_begin - row_begin[0]
    _kernel.mean_rows(table, row_begin, rows, 0, len(means), means)
