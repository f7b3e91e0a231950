"""Words → character n-grams → rows of the input table, with fastText's hash bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import SubwordConfig
from posvec.errors import ModelError
from posvec.vocabulary import Vocabulary


def subwords(word: str, config: SubwordConfig) -> list[str]:
    """G_w without the word itself: the n-grams of ``<word>``, min_n to max_n characters long, in fastText's order."""
    return _kernel.ngrams(word, config.min_n, config.max_n) if config.subwords else []


def subword_buckets(word: str, config: SubwordConfig) -> NDArray[np.uint32]:
    """The bucket of each of the word's n-grams."""
    if not config.subwords:
        return np.empty(0, np.uint32)
    return _kernel.ngram_buckets(word, config.min_n, config.max_n, config.buckets)


@dataclass(frozen=True)
class SubwordRows:
    """Which rows of the input table make up each word: compressed sparse rows.

    The table has V rows for words, then one for each bucket that some word of the vocabulary uses; others would never
    be trained and have no row. (A model of fastText has a row for every bucket.)
    """

    words: list[str]
    bucket_ids: NDArray[np.uint32]
    """(B',) row V + i belongs to this bucket."""
    config: SubwordConfig
    built: tuple[NDArray[np.uint64], NDArray[np.uint32]] | None = None
    """``row_begin`` and ``rows`` where they are known; else they are made when first asked for: a saved model opens,
    and answers for single words, without them."""
    pruned: bool = False
    """Whether n-grams of words may have no row, as those of the buckets that a compressed model left out."""

    @property
    def row_begin(self) -> NDArray[np.uint64]:
        """(V + 1,) where the rows of each word begin in ``rows``."""
        return self._sparse[0]

    @property
    def rows(self) -> NDArray[np.uint32]:
        """Of each word: its own row, which is its id, then one per n-gram; equal buckets repeat, as in fastText."""
        return self._sparse[1]

    @property
    def table_rows(self) -> int:
        """V + B', the rows of the input table."""
        return len(self.words) + len(self.bucket_ids)

    def rows_of(self, word: str) -> NDArray[np.uint32]:
        """The rows of the n-grams of any word, as far as they exist: what an out-of-vocabulary word is made of."""
        rows = self.rows_of_ngrams(word)
        return rows[rows >= 0].astype(np.uint32)

    def rows_of_ngrams(self, word: str) -> NDArray[np.int64]:
        """The row of each n-gram of any word, in the order of :func:`subwords`; -1 for those that have none."""
        buckets = subword_buckets(word, self.config)
        order, ordered = self._by_bucket
        if not len(ordered):
            return np.full(len(buckets), -1, np.int64)
        places = np.searchsorted(ordered, buckets)
        places[places == len(ordered)] = 0
        return np.where(ordered[places] == buckets, order[places] + len(self.words), -1)

    def rows_of_known(self, word: int) -> NDArray[np.uint32]:
        """The rows of a word of the vocabulary, as in ``rows``, which need not be made for it."""
        return np.insert(self.rows_of(self.words[word]), 0, word)

    @cached_property
    def _by_bucket(self) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
        order = np.argsort(self.bucket_ids)
        return order, self.bucket_ids[order]

    @cached_property
    def _sparse(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        if self.built:
            return self.built
        try:
            uses = np.zeros(len(self.words))
            row_begin, rows, bucket_ids = _kernel_rows(self.words, uses, self.config, self.bucket_ids)
        except ValueError as error:
            raise ModelError(f"the model is damaged: {error}; restore it from a copy") from error
        if self.pruned:
            kept = rows < self.table_rows
            kept_before = np.concatenate([[0], np.cumsum(kept)])
            return kept_before[row_begin].astype(np.uint64), rows[kept]
        if len(bucket_ids) != len(self.bucket_ids):
            raise ModelError("the model is damaged: n-grams of its words have no rows; restore it from a copy")
        return row_begin, rows


def build_rows(
    vocabulary: Vocabulary, config: SubwordConfig, bucket_ids: NDArray[np.uint32] | None = None
) -> SubwordRows:
    """The rows of every word of the vocabulary.

    Buckets lie by descending expected use (counts times keep probabilities of the words that have them) and then by
    number, so that busy rows are neighbours. ``bucket_ids`` of an earlier model come first, as they were.
    """
    if not config.subwords:
        ids = np.arange(len(vocabulary) + 1)
        plain = ids.astype(np.uint64), ids[:-1].astype(np.uint32)
        return SubwordRows(vocabulary.words, np.empty(0, np.uint32), config, plain)
    uses = vocabulary.counts.astype(np.float64) * vocabulary.keep_probabilities()
    known = np.empty(0, np.uint32) if bucket_ids is None else bucket_ids
    row_begin, rows, built = _kernel_rows(vocabulary.words, uses, config, known)
    return SubwordRows(vocabulary.words, built, config, (row_begin, rows))


def saved_rows(
    vocabulary: Vocabulary, config: SubwordConfig, bucket_ids: NDArray[np.uint32], pruned: bool = False
) -> SubwordRows:
    """The rows of a model that has a row for each n-gram of its vocabulary already, in the order of ``bucket_ids``.

    A ``pruned`` one has none for some of them, and its words are made of the others.
    """
    if not config.subwords:
        return build_rows(vocabulary, config)
    return SubwordRows(vocabulary.words, bucket_ids, config, pruned=pruned)


def _kernel_rows(
    words: list[str], uses: NDArray[np.float64], config: SubwordConfig, known: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    known = np.ascontiguousarray(known, np.uint32)
    return _kernel.subword_rows(words, uses, config.min_n, config.max_n, config.buckets, known)
