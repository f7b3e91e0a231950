"""Word vectors of two heads as means of rows that have all features, as fastText and gensim store them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posvec.storage.tables import QuantizedTable
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from posvec.vectors import WordVectors


class OneHeadTable(QuantizedTable):
    """Input vectors, (V + B', D), for which the mean of a word's rows is its vector in two heads, weighted as it is.

    Let u be the vector of a word with R rows, of which g are those of its n-grams in the spelling head. With s and B of
    :mod:`posvec.query.head_weights`, the row of an n-gram becomes [g B, s g], and the word's own row R u minus the sum
    of these, so that the mean of all R rows is u. The vector of a word out of vocabulary, the mean of its [g B, s g],
    keeps its direction. Of vectors that are not weighted, rows of n-grams become [0, g].

    Examples
    --------
    >>> import numpy as np, posvec
    >>> vectors = posvec.load("model").vectors
    >>> table = OneHeadTable(vectors)
    >>> np.allclose(table[vectors.rows.rows_of_known(0)].mean(0), vectors.table[0], atol=1e-5)
    True
    """

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__({}, len(vectors.input_vectors), vectors.vector_size)
        self._vectors, self._weighted, self._means = vectors, vectors.table, vectors.unweighted.table

    def decode(self, ids: IndexArray) -> FloatArray:
        vectors, word_dim = self._vectors, self._vectors.word_dim
        own = vectors.input_vectors[ids]
        rows = self._joined(own).astype(np.float32)
        of_words = np.flatnonzero(ids < len(vectors))
        words = ids[of_words]
        counts = np.diff(vectors.rows.row_begin).astype(np.float64)[words, np.newaxis]
        ngrams = counts * self._means[words, word_dim:] - own[of_words]
        rows[of_words] = counts * self._weighted[words] - self._joined(ngrams)
        return rows

    def _joined(self, rows: FloatArray | DoubleArray) -> DoubleArray:
        """[g B, s g] of rows g."""
        spelling = 1.0 if self._vectors.spelling is None else self._vectors.spelling
        meaning = rows @ self._vectors.meaning_weights
        return np.concatenate([meaning, spelling * rows], 1, dtype=np.float64)


def one_head(vectors: WordVectors) -> WordVectors:
    """Return the same vectors with all features in one head; those of a model with one head are returned themselves."""
    if not vectors.word_dim:
        return vectors
    return type(vectors)(vectors.vocabulary, vectors.rows, OneHeadTable(vectors), vectors.origin)
