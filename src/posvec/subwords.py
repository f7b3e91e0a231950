"""Subwords: the character n-grams of words, hashed to buckets exactly as in fastText, and their rows of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import SubwordConfig
from posvec.errors import ModelError
from posvec.system.mapping import check_mapped
from posvec.system.utf8 import has_utf8
from posvec.vocabulary import Vocabulary


def subwords(word: str, config: SubwordConfig) -> list[str]:
    """Return the n-grams of ``<word>``, min_n to max_n characters long, in fastText's order (the paper's G_w less w).

    A word that UTF-8 cannot encode has none; no text contains such a word.

    Examples
    --------
    >>> subwords("cat", SubwordConfig(min_n=3, max_n=4))
    ['<ca', '<cat', 'cat', 'cat>', 'at>']
    """
    if not config.subwords or not has_utf8(word):
        return []
    return _kernel.ngrams(word, config.min_n, config.max_n)


def subword_buckets(word: str, config: SubwordConfig) -> NDArray[np.uint32]:
    """Return the bucket of each n-gram of a word.

    Examples
    --------
    >>> subword_buckets("cat", SubwordConfig(min_n=3, max_n=3, buckets=100)).tolist()
    [47, 31, 6]
    """
    if not config.subwords or not has_utf8(word):
        return np.empty(0, np.uint32)
    return _kernel.ngram_buckets(word, config.min_n, config.max_n, config.buckets)


@dataclass(frozen=True)
class SubwordRows:
    """Which rows of the input table each word is the mean of, as compressed sparse rows.

    The table has V rows for words, then one for each bucket that a word of the vocabulary uses; other buckets would
    never be trained and have no row. (A model of fastText has a row for every bucket.)

    Examples
    --------
    >>> vocabulary = Vocabulary.from_counts({"cat": 7, "cats": 6})
    >>> rows = build_rows(vocabulary, SubwordConfig(min_n=3, max_n=3))
    >>> rows.rows[rows.row_begin[0] : rows.row_begin[1]].tolist()
    [0, 3, 2, 4]
    >>> rows.rows_of("cat").tolist()
    [3, 2, 4]
    """

    words: list[str]
    bucket_ids: NDArray[np.uint32]
    """(B',) the bucket of row V + i of the table."""
    config: SubwordConfig
    built: tuple[NDArray[np.uint64], NDArray[np.uint32]] | None = None
    """``row_begin`` and ``rows`` if they are known; else they are computed on first use. Opening a saved model and
    looking up single words does not need them."""
    pruned: bool = False
    """Whether n-grams of words may have no row, because a compressed model removed their buckets."""

    @property
    def row_begin(self) -> NDArray[np.uint64]:
        """(V + 1,) the offset in ``rows`` at which the rows of each word begin."""
        return self._sparse[0]

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The rows of all words: a word's own row, which is its id, then one per n-gram; repeated buckets repeat."""
        return self._sparse[1]

    @property
    def table_rows(self) -> int:
        """The number of rows of the input table, V + B'."""
        return len(self.words) + len(self.bucket_ids)

    def rows_of(self, word: str) -> NDArray[np.uint32]:
        """Return the rows of those n-grams of a word that have one: an out-of-vocabulary word is the mean of them."""
        rows = self.rows_of_ngrams(word)
        return rows[rows >= 0].astype(np.uint32)

    def rows_of_ngrams(self, word: str) -> NDArray[np.int64]:
        """Return the row of each n-gram of a word, in the order of :func:`subwords`; -1 for those without one."""
        buckets = subword_buckets(word, self.config)
        order, ordered = self._by_bucket
        if not len(ordered):
            return np.full(len(buckets), -1, np.int64)
        found = np.searchsorted(ordered, buckets)
        found[found == len(ordered)] = 0
        return np.where(ordered[found] == buckets, order[found] + len(self.words), -1)

    def rows_of_known(self, word: int) -> NDArray[np.uint32]:
        """Return the rows of a word of the vocabulary by its id, as in ``rows``, without computing all of these."""
        return np.insert(self.rows_of(self.words[word]), 0, word)

    def trained_rows(self, word: str, known: bool) -> int:
        """Return the paper's R: how many rows training adds up for a word.

        Parameters
        ----------
        word
            The word.
        known
            Whether it is in the vocabulary. All n-grams of such a word had rows in training, even if some were removed
            by compression.
        """
        if not known:
            return len(self.rows_of(word))
        return 1 + len(subword_buckets(word, self.config))

    @cached_property
    def _by_bucket(self) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
        check_mapped(self.bucket_ids)
        order = np.argsort(self.bucket_ids)
        return order, self.bucket_ids[order]

    @cached_property
    def _sparse(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        if self.built:
            return self.built
        check_mapped(self.bucket_ids)
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
    """Assign rows of a new input table to the words of a vocabulary and their n-grams.

    Buckets are ordered by descending expected use (counts times keep probabilities of the words that have them) and
    then by number, so that frequently used rows are adjacent in memory.

    Parameters
    ----------
    vocabulary
        The words.
    config
        The lengths of n-grams and the number of buckets.
    bucket_ids
        The buckets of an earlier model, which keep their rows.

    Returns
    -------
    SubwordRows
        The rows of every word.
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
    """Return the rows of a saved model.

    Parameters
    ----------
    vocabulary
        The words of the model.
    config
        The lengths of n-grams and the number of buckets.
    bucket_ids
        The buckets that have rows, in the order of the rows.
    pruned
        Whether n-grams of the vocabulary may have no row; words are then the mean of the rows that exist.

    Returns
    -------
    SubwordRows
        The rows of every word.
    """
    if not config.subwords:
        return build_rows(vocabulary, config)
    return SubwordRows(vocabulary.words, bucket_ids, config, pruned=pruned)


def _kernel_rows(
    words: list[str], uses: NDArray[np.float64], config: SubwordConfig, known: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    known = np.ascontiguousarray(known, np.uint32)
    return _kernel.subword_rows(words, uses, config.min_n, config.max_n, config.buckets, known)
