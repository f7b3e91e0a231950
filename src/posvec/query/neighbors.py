"""Nearest-neighbour queries under gensim's names: the words most similar to words, vectors and sums of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posvec.errors import PosvecError
from posvec.query.exact import SCORES, RankedRows, search_rows
from posvec.query.lookup import VectorLookup
from posvec.query.parsing import QueryItems, WeightedItems, parse_integer, parse_queries
from posvec.system.arrays import FloatArray, unit_vector

if TYPE_CHECKING:
    from posvec.query.approximate import NeighborIndex


class Neighbor(NamedTuple):
    """A word and its cosine similarity (for 3CosMul, its score)."""

    word: str
    similarity: float


class NeighborQueries(VectorLookup):
    """Methods that find the nearest words; those that end in ``_batch`` answer many queries at once."""

    def most_similar(
        self,
        positive: QueryItems | None = None,
        negative: QueryItems | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
        index: NeighborIndex | None = None,
    ) -> list[Neighbor]:
        """Find the words nearest to the sum of the positive items minus the negative ones (3CosAdd).

        Parameters
        ----------
        positive, negative
            An item or a list of items. An item is a word, which is added as a unit vector; a vector, which is added as
            it is; or a pair of one of them and its weight, any finite number. The words themselves are left out of the
            result.
        topn
            How many words to return.
        restrict_vocab
            Search only this many words from the beginning of the vocabulary, the most frequent ones in a trained model.
        index
            An approximate index made by :meth:`WordVectors.build_index`, which is faster for very large vocabularies.

        Returns
        -------
        list of Neighbor
            The words and their cosine similarities, most similar first.

        Raises
        ------
        UnknownWordError
            If a word has no vector.

        Examples
        --------
        >>> import numpy as np
        >>> from posvec import WordVectors
        >>> table = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.float32)
        >>> vectors = WordVectors.from_table(["north", "east", "northeast"], table)
        >>> vectors.most_similar("north", topn=1)
        [Neighbor(word='northeast', similarity=0.7071...)]
        >>> [neighbor.word for neighbor in vectors.most_similar(["northeast"], negative=["north"])]
        ['east']
        """
        return self.most_similar_batch([positive], [negative], topn, restrict_vocab, index)[0]

    def most_similar_batch(
        self,
        positive: Sequence[QueryItems | None] | FloatArray,
        negative: Sequence[QueryItems | None] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
        index: NeighborIndex | None = None,
    ) -> list[list[Neighbor]]:
        """Answer many :meth:`most_similar` queries at once.

        Parameters
        ----------
        positive
            The positive items of each query, or a matrix with a query vector in each row.
        negative
            The negative items of each query; None for a query without any.
        topn, restrict_vocab, index
            As in :meth:`most_similar`.

        Returns
        -------
        list of list of Neighbor
            The neighbours for each query.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> [len(found) for found in vectors.most_similar_batch(["cat", ["house", "field"]], topn=3)]
        [3, 3]
        """
        topn, rows = _parse_topn(topn), self._searched_rows(restrict_vocab)
        queries = [plus + minus for plus, minus in parse_queries(positive, negative)]
        for items in queries:
            if not items:
                raise PosvecError("most_similar needs at least one word; give one as positive")
        units = np.array([unit_vector(self._weighted_sum(items)[0]) for items in queries]).reshape(-1, self.vector_size)
        excluded = [self._vocabulary_ids(items) for items in queries]
        if index is not None:
            if rows < len(self.index_to_key):
                raise PosvecError("an index searches all words; leave out restrict_vocab, or the index (--approximate)")
            return self._neighbors(index.search(self, units, topn, excluded))

        def score(batch: slice, block: slice) -> FloatArray:
            return self._cosines(units[batch], block)

        return self._neighbors(search_rows(score, len(units), rows, topn, excluded))

    def most_similar_cosmul(
        self,
        positive: QueryItems | None = None,
        negative: QueryItems | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[Neighbor]:
        """Find the nearest words by 3CosMul (Levy and Goldberg 2014), in which no single similarity dominates.

        With s = (1 + cos) / 2, the score of a word is the product of its s with the positive items divided by the
        product of its s with the negative ones.

        Parameters
        ----------
        positive, negative
            A word or vector, or a list of them; they cannot have weights.
        topn, restrict_vocab
            As in :meth:`most_similar`.

        Returns
        -------
        list of Neighbor
            The words and their scores, highest first.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> len(vectors.most_similar_cosmul(["cat", "house"], ["dog"], topn=2))
        2
        """
        return self.most_similar_cosmul_batch([positive], [negative], topn, restrict_vocab)[0]

    def most_similar_cosmul_batch(
        self,
        positive: Sequence[QueryItems | None] | FloatArray,
        negative: Sequence[QueryItems | None] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[list[Neighbor]]:
        """Answer many :meth:`most_similar_cosmul` queries, given as to :meth:`most_similar_batch`."""
        topn, rows = _parse_topn(topn), self._searched_rows(restrict_vocab)
        queries = parse_queries(positive, negative)
        for plus, minus in queries:
            if not plus:
                raise PosvecError("most_similar_cosmul needs at least one word; give one as positive")
            if any(weight != 1 for _, weight in plus) or any(weight != -1 for _, weight in minus):
                raise PosvecError("3CosMul has no weights; give words without them, or use most_similar")
        # The positive and the negative items of each query in turn.
        sides = [self._unit_vectors([item for item, _ in side]) for query in queries for side in query]

        def score(batch: slice, block: slice) -> FloatArray:
            terms = sides[2 * batch.start : 2 * batch.stop]
            ends, words = np.cumsum([len(side) for side in terms]), np.concatenate(terms)
            quotients: list[FloatArray] = []
            # As many rows at a time as bound the memory also for queries of many words.
            size = max(1, SCORES // len(words))
            for begin in range(block.start, block.stop, size):
                shifted = (1 + self._cosines(words, slice(begin, min(begin + size, block.stop)))) / 2
                products: list[FloatArray] = [each.prod(1) for each in np.split(shifted, ends[:-1], axis=1)]
                plus, minus = np.stack(products[::2], axis=1), np.stack(products[1::2], axis=1)
                quotients.append(plus / (minus + np.float32(1e-6)))
            return np.concatenate(quotients)

        excluded = [self._vocabulary_ids(plus + minus) for plus, minus in queries]
        return self._neighbors(search_rows(score, len(queries), rows, topn, excluded))

    def similar_by_word(self, word: str, topn: int = 10, restrict_vocab: int | None = None) -> list[Neighbor]:
        """Find the words nearest to a word; the same as :meth:`most_similar` with one positive word."""
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self, vector: FloatArray, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Neighbor]:
        """Find the words nearest to a vector; the same as :meth:`most_similar` with one positive vector."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def _vocabulary_ids(self, items: WeightedItems) -> list[int]:
        return [self.key_to_index[item] for item, _ in items if isinstance(item, str) and item in self.key_to_index]

    def _searched_rows(self, restrict_vocab: int | None) -> int:
        words = len(self.index_to_key)
        return words if restrict_vocab is None else min(parse_integer("restrict_vocab", restrict_vocab, 1), words)

    def _neighbors(self, results: Iterator[RankedRows]) -> list[list[Neighbor]]:
        words = self.index_to_key
        return [[Neighbor(words[i], score) for i, score in zip(*rows, strict=True)] for rows in results]


def _parse_topn(topn: object) -> int:
    return parse_integer("topn", topn, remedy="; for the similarities of all words use 1 - vectors.distances(word)")
