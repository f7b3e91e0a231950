"""Questions to word vectors, under the names that gensim's users know; what asks many at once ends in ``_batch``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.query.neighbors import SCORES, Found, Neighbor, search
from posvec.query.operands import Items, Weighted, WordOrVector, questions, same_length
from posvec.system.arrays import FloatArray, unit_vector

if TYPE_CHECKING:
    from posvec.query.approximate import NeighborIndex


class Queries(ABC):
    """What can be asked of anything that has words, a table of their vectors, and vectors of other words perhaps."""

    @property
    @abstractmethod
    def index_to_key(self) -> list[str]: ...

    @property
    @abstractmethod
    def key_to_index(self) -> dict[str, int]: ...

    @property
    @abstractmethod
    def vector_size(self) -> int: ...

    @property
    @abstractmethod
    def table(self) -> FloatArray: ...

    @abstractmethod
    def has_vector(self, word: str) -> bool: ...

    @abstractmethod
    def get_vector(self, word: str, norm: bool = False) -> FloatArray: ...

    @abstractmethod
    def get_vectors(self, words: Sequence[str], norm: bool = False) -> FloatArray: ...

    # ---- neighbours -------------------------------------------------------------------------------------------

    def most_similar(
        self,
        positive: Items | None = None,
        negative: Items | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
        index: NeighborIndex | None = None,
    ) -> list[Neighbor]:
        """The words nearest to the sum of the positive items less the negative ones (3CosAdd), without those words.

        An item is a word, which counts with its unit vector, or a vector, which counts as it is, or a pair of one of
        them and its weight. ``restrict_vocab`` searches only so many of the most frequent words. ``index`` is one that
        ``build_index`` made: its answer is approximate, and faster where there are very many words.
        """
        return self.most_similar_batch([positive], [negative], topn, restrict_vocab, index)[0]

    def most_similar_batch(
        self,
        positive: Sequence[Items | None] | FloatArray,
        negative: Sequence[Items | None] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
        index: NeighborIndex | None = None,
    ) -> list[list[Neighbor]]:
        """``most_similar`` for each of many: ``positive`` is a list of words or of lists, or a matrix of queries."""
        asked = [plus + minus for plus, minus in questions(positive, negative)]
        for items in asked:
            if not items:
                raise PosvecError("most_similar needs at least one word; give one as positive")
        queries = np.array([unit_vector(self._sum(items)) for items in asked]).reshape(-1, self.vector_size)
        excluded = [self._ids(items) for items in asked]
        rows = self._searched(topn, restrict_vocab)
        if index is not None:
            if rows < len(self.index_to_key):
                raise PosvecError("an index searches all words; leave out restrict_vocab, or the index (--approximate)")
            return self._named(index.search(self, queries, topn, excluded))

        def score(some: slice, block: slice) -> FloatArray:
            return self._cosines(queries[some], block)

        return self._named(search(score, len(queries), rows, topn, excluded))

    def most_similar_cosmul(
        self,
        positive: Items | None = None,
        negative: Items | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[Neighbor]:
        """``most_similar`` by 3CosMul (Levy and Goldberg 2014): a product of similarities, none of which dominates.

        With s = (1 + cos) / 2, the score is the product of s to the positive items over that to the negative ones.
        Items are words and vectors, without weights.
        """
        return self.most_similar_cosmul_batch([positive], [negative], topn, restrict_vocab)[0]

    def most_similar_cosmul_batch(
        self,
        positive: Sequence[Items | None] | FloatArray,
        negative: Sequence[Items | None] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[list[Neighbor]]:
        """``most_similar_cosmul`` for each of many, given as to ``most_similar_batch``."""
        asked = questions(positive, negative)
        for plus, minus in asked:
            if not plus:
                raise PosvecError("most_similar_cosmul needs at least one word; give one as positive")
            if any(weight != 1 for _, weight in plus) or any(weight != -1 for _, weight in minus):
                raise PosvecError("3CosMul has no weights; give words without them, or use most_similar")
        sides = [self._units([item for item, _ in side]) for question in asked for side in question]

        def score(some: slice, block: slice) -> FloatArray:
            terms = sides[2 * some.start : 2 * some.stop]
            ends = np.cumsum([len(side) for side in terms])
            shifted = (1 + self._cosines(np.concatenate(terms), block)) / 2
            products: list[FloatArray] = [each.prod(1) for each in np.split(shifted, ends[:-1], axis=1)]
            plus, minus = np.stack(products[::2], axis=1), np.stack(products[1::2], axis=1)
            quotient: FloatArray = plus / (minus + np.float32(1e-6))
            return quotient

        excluded = [self._ids(plus + minus) for plus, minus in asked]
        return self._named(search(score, len(asked), self._searched(topn, restrict_vocab), topn, excluded))

    def similar_by_word(self, word: str, topn: int = 10, restrict_vocab: int | None = None) -> list[Neighbor]:
        """The words nearest to a word."""
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self, vector: FloatArray, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Neighbor]:
        """The words nearest to a vector."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    # ---- pairs and sets ---------------------------------------------------------------------------------------

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two words' vectors."""
        return float(self.similarity_batch([one], [other])[0])

    def similarity_batch(self, ones: Sequence[str], others: Sequence[str]) -> FloatArray:
        """The cosines of pairs of words, (n,)."""
        same_length(ones, others)
        cosines: FloatArray = np.einsum(
            "ij,ij->i", self.get_vectors(ones, norm=True), self.get_vectors(others, norm=True)
        )
        return cosines

    def distance(self, one: str, other: str) -> float:
        """1 less the similarity of two words."""
        return 1 - self.similarity(one, other)

    def distances(self, word_or_vector: WordOrVector, other_words: Sequence[str] = ()) -> FloatArray:
        """The distance to each of the other words, or to all words in their order."""
        distances: FloatArray = self.distances_batch([word_or_vector], other_words)[0]
        return distances

    def distances_batch(
        self, words_or_vectors: Sequence[WordOrVector] | FloatArray, other_words: Sequence[str] = ()
    ) -> FloatArray:
        """The distances of each to each of the other words, (n, others), or to all words, (n, V)."""
        queries = self._units(words_or_vectors)
        if len(other_words):
            return 1 - queries @ self.get_vectors(other_words, norm=True).T
        return 1 - self._cosines(queries, slice(0, len(self.index_to_key))).T

    def n_similarity(self, ones: Sequence[str], others: Sequence[str]) -> float:
        """The cosine of the mean vectors of two sets of words."""
        return self.n_similarity_batch([ones], [others])[0]

    def n_similarity_batch(self, ones: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> list[float]:
        """``n_similarity`` of each pair of sets."""
        same_length(ones, others)
        means = [
            [
                self.get_mean_vector(words, pre_normalize=False, post_normalize=True, ignore_missing=False)
                for words in sets
            ]
            for sets in (ones, others)
        ]
        return [float(one @ other) for one, other in zip(*means, strict=True)]

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The word that is farthest from the mean of all the words."""
        if isinstance(words, str) or not len(words):
            raise PosvecError("doesnt_match needs a list of words; give at least one")
        units = self.get_vectors(words, norm=True)
        return min(zip((units @ unit_vector(units.mean(0))).tolist(), words, strict=True))[1]

    def doesnt_match_batch(self, lists: Sequence[Sequence[str]]) -> list[str]:
        """``doesnt_match`` of each list."""
        return [self.doesnt_match(words) for words in lists]

    def closer_than(self, one: str, other: str) -> list[str]:
        """All words that are closer to ``one`` than ``other`` is, in the order of the vocabulary."""
        return self.closer_than_batch([one], [other])[0]

    def closer_than_batch(self, ones: Sequence[str], others: Sequence[str]) -> list[list[str]]:
        """``closer_than`` of each pair."""
        return [[self.index_to_key[i] for i in ids.tolist()] for ids in self._closer(ones, others)]

    def rank(self, one: str, other: str) -> int:
        """The place of ``other`` among all words by their distance from ``one``; 1 is the closest."""
        return self.rank_batch([one], [other])[0]

    def rank_batch(self, ones: Sequence[str], others: Sequence[str]) -> list[int]:
        """``rank`` of each pair."""
        return [len(ids) + 1 for ids in self._closer(ones, others)]

    # ---- means ----------------------------------------------------------------------------------------------

    def get_mean_vector(
        self,
        keys: Sequence[WordOrVector] | FloatArray,
        weights: Sequence[float] | NDArray[Any] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> FloatArray:
        """The weighted mean of words, as unit vectors if ``pre_normalize``, and vectors, which count as they are."""
        if isinstance(keys, str) or not len(keys):
            raise PosvecError("get_mean_vector needs a list of words or vectors; give at least one")
        weights = np.ones(len(keys)) if weights is None else weights
        same_length(keys, weights)
        items = [
            (key, float(weight))
            for key, weight in zip(keys, weights, strict=True)
            if not (ignore_missing and isinstance(key, str) and not self.has_vector(key))
        ]
        mean = self._sum(items, pre_normalize) / np.float32(sum(abs(weight) for _, weight in items) or 1)
        return unit_vector(mean) if post_normalize else mean

    def get_mean_vector_batch(self, lists: Sequence[Sequence[WordOrVector]], **options: Any) -> FloatArray:
        """``get_mean_vector`` of each list, (n, D), with the same options."""
        means = [self.get_mean_vector(keys, **options) for keys in lists]
        return np.array(means, np.float32).reshape(-1, self.vector_size)

    # ---- how --------------------------------------------------------------------------------------------------

    @cached_property
    def norms(self) -> FloatArray:
        """The lengths of all word vectors, (V,); 1 for a vector of zeros, so that it is similar to nothing."""
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", self.table, self.table))
        if not np.isfinite(norms).all():
            word = self.index_to_key[int(np.flatnonzero(~np.isfinite(norms))[0])]
            raise PosvecError(f"the vector of {word!r} is not finite; train the model again or restore it from a copy")
        norms[norms == 0] = 1
        return norms

    def _cosines(self, queries: FloatArray, block: slice) -> FloatArray:
        """Of some of the words with unit vectors, (words, queries)."""
        cosines: FloatArray = self.table[block] @ queries.T
        cosines /= self.norms[block, None]
        return cosines

    def _closer(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[NDArray[np.intp]]:
        same_length(ones, others)
        size = max(1, SCORES // len(self.index_to_key))
        for first in range(0, len(ones), size):
            some = slice(first, first + size)
            queries = self._units(ones[some])
            rows = self._cosines(queries, slice(0, len(self.index_to_key))).T
            for one, other, query, cosines in zip(ones[some], others[some], queries, rows, strict=True):
                place = self.key_to_index.get(other)
                limit = query @ self.get_vector(other, norm=True) if place is None else cosines[place]
                closer = np.flatnonzero(cosines > limit)
                yield closer[closer != self.key_to_index.get(one, -1)]

    def _sum(self, items: Weighted, normalize: bool = True) -> FloatArray:
        total = np.zeros(self.vector_size, np.float32)
        for item, weight in items:
            total += np.float32(weight) * self._vector(item, normalize)
        return total

    def _vector(self, item: WordOrVector, norm: bool = True) -> FloatArray:
        if isinstance(item, str):
            return self.get_vector(item, norm)
        if not isinstance(item, np.ndarray) or item.shape != (self.vector_size,):
            found = f"an array of shape {item.shape}" if isinstance(item, np.ndarray) else repr(item)
            raise PosvecError(
                f"a query is made of words and vectors of {self.vector_size} numbers, and {found} is neither"
            )
        if not np.isfinite(item).all():
            raise PosvecError("a vector to search with has a value that is not finite; mend it")
        return np.asarray(item, np.float32)

    def _units(self, items: Sequence[WordOrVector] | FloatArray) -> FloatArray:
        vectors = [unit_vector(self._vector(item)) for item in items]
        return np.array(vectors, np.float32).reshape(-1, self.vector_size)

    def _ids(self, items: Weighted) -> list[int]:
        return [self.key_to_index[item] for item, _ in items if isinstance(item, str) and item in self.key_to_index]

    def _searched(self, topn: int, restrict_vocab: int | None) -> int:
        if isinstance(topn, bool) or not isinstance(topn, int | np.integer):
            raise PosvecError(
                f"topn is a whole number, and {topn!r} is not; 1 - vectors.distances(word) has all of them"
            )
        if restrict_vocab is not None and restrict_vocab < 1:
            raise PosvecError(f"restrict_vocab is a number of words, and {restrict_vocab} is too low; give at least 1")
        return min(restrict_vocab or len(self.index_to_key), len(self.index_to_key))

    def _named(self, found: Iterator[Found]) -> list[list[Neighbor]]:
        words = self.index_to_key
        return [[Neighbor(words[i], score) for i, score in zip(*each, strict=True)] for each in found]
