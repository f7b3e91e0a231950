"""Comparisons of given words: similarities, distances, ranks and the odd one out, under gensim's names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.query.exact import SCORES
from posvec.query.lookup import VectorLookup
from posvec.query.parsing import WordOrVector, check_same_length
from posvec.system.arrays import FloatArray, unit_vector


class ComparisonQueries(VectorLookup):
    """Methods that compare words and sets of words; those that end in ``_batch`` answer many queries at once."""

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine similarity of two words.

        Parameters
        ----------
        one, other
            Words in the vocabulary, or with a vector made from their n-grams.

        Returns
        -------
        float
            A number between -1 and 1.

        Raises
        ------
        UnknownWordError
            If a word has no vector.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> -1 <= vectors.similarity("cat", "dog") <= 1
        True
        """
        return float(self.similarity_batch([one], [other])[0])

    def similarity_batch(self, ones: Sequence[str], others: Sequence[str]) -> FloatArray:
        """Return the cosine similarity of each pair of words.

        Parameters
        ----------
        ones, others
            The first and the second words of the pairs.

        Returns
        -------
        numpy.ndarray
            The similarities, (n,).

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.similarity_batch(["cat", "house"], ["dog", "river"]).shape
        (2,)
        """
        check_same_length(ones, others)
        cosines: FloatArray = np.einsum(
            "ij,ij->i", self.get_vectors(ones, norm=True), self.get_vectors(others, norm=True)
        )
        return cosines

    def distance(self, one: str, other: str) -> float:
        """Return 1 minus the :meth:`similarity` of two words."""
        return 1 - self.similarity(one, other)

    def distances(self, word_or_vector: WordOrVector, other_words: Sequence[str] = ()) -> FloatArray:
        """Return the distances of a word or vector from other words.

        Parameters
        ----------
        word_or_vector
            The word or the vector to measure from.
        other_words
            The words to measure to; by default the whole vocabulary, in its order.

        Returns
        -------
        numpy.ndarray
            1 minus the cosine similarity with each of the other words.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.distances("cat", ["dog", "house"]).shape
        (2,)
        """
        distances: FloatArray = self.distances_batch([word_or_vector], other_words)[0]
        return distances

    def distances_batch(
        self, words_or_vectors: Sequence[WordOrVector] | FloatArray, other_words: Sequence[str] = ()
    ) -> FloatArray:
        """Return the :meth:`distances` of several words or vectors, one row for each of them."""
        queries = self._unit_vectors(words_or_vectors)
        if len(other_words):
            return 1 - queries @ self.get_vectors(other_words, norm=True).T
        return 1 - self._cosines(queries, slice(0, len(self.index_to_key))).T

    def n_similarity(self, ones: Sequence[str], others: Sequence[str]) -> float:
        """Return the cosine similarity of the mean vectors of two sets of words.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> -1 <= vectors.n_similarity(["cat", "dog"], ["house", "field"]) <= 1
        True
        """
        return self.n_similarity_batch([ones], [others])[0]

    def n_similarity_batch(self, ones: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> list[float]:
        """Return the :meth:`n_similarity` of each pair of sets."""
        check_same_length(ones, others)
        means = [
            [
                self.get_mean_vector(words, pre_normalize=False, post_normalize=True, ignore_missing=False)
                for words in sets
            ]
            for sets in (ones, others)
        ]
        return [float(one @ other) for one, other in zip(*means, strict=True)]

    def doesnt_match(self, words: Sequence[str]) -> str:
        """Return the word that is least similar to the mean of all the words.

        Examples
        --------
        >>> import numpy as np
        >>> from posvec import WordVectors
        >>> vectors = WordVectors.from_table(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]]))
        >>> vectors.doesnt_match(["cat", "dog", "car"])
        'car'
        """
        if isinstance(words, str) or not len(words):
            raise PosvecError("doesnt_match needs a list of words; give at least one")
        units = self.get_vectors(words, norm=True)
        return min(zip((units @ unit_vector(units.mean(0))).tolist(), words, strict=True))[1]

    def doesnt_match_batch(self, lists: Sequence[Sequence[str]]) -> list[str]:
        """Return :meth:`doesnt_match` of each list."""
        return [self.doesnt_match(words) for words in lists]

    def closer_than(self, one: str, other: str) -> list[str]:
        """Return all words that are closer to ``one`` than ``other`` is, in the order of the vocabulary.

        Examples
        --------
        >>> import numpy as np
        >>> from posvec import WordVectors
        >>> vectors = WordVectors.from_table(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]]))
        >>> vectors.closer_than("cat", "car")
        ['dog']
        """
        return self.closer_than_batch([one], [other])[0]

    def closer_than_batch(self, ones: Sequence[str], others: Sequence[str]) -> list[list[str]]:
        """Return :meth:`closer_than` of each pair."""
        return [[self.index_to_key[i] for i in ids.tolist()] for ids in self._closer_ids(ones, others)]

    def rank(self, one: str, other: str) -> int:
        """Return the rank of ``other`` among all words by their distance from ``one``; 1 is the closest.

        Examples
        --------
        >>> import numpy as np
        >>> from posvec import WordVectors
        >>> vectors = WordVectors.from_table(["cat", "dog", "car"], np.array([[1, 0], [1, 0.1], [0, 1]]))
        >>> vectors.rank("cat", "car")
        2
        """
        return self.rank_batch([one], [other])[0]

    def rank_batch(self, ones: Sequence[str], others: Sequence[str]) -> list[int]:
        """Return the :meth:`rank` of each pair."""
        return [len(ids) + 1 for ids in self._closer_ids(ones, others)]

    def _closer_ids(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[NDArray[np.intp]]:
        check_same_length(ones, others)
        size = max(1, SCORES // len(self.index_to_key))
        for first in range(0, len(ones), size):
            batch = slice(first, first + size)
            queries = self._unit_vectors(ones[batch])
            rows = self._cosines(queries, slice(0, len(self.index_to_key))).T
            for one, other, query, cosines in zip(ones[batch], others[batch], queries, rows, strict=True):
                other_id = self.key_to_index.get(other)
                limit = query @ self.get_vector(other, norm=True) if other_id is None else cosines[other_id]
                closer = np.flatnonzero(cosines > limit)
                yield closer[closer != self.key_to_index.get(one, -1)]
