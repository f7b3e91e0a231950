"""What n-grams of words say about masked words: baselines for models that predict them.

The bigram model is interpolated Kneser-Ney: with c(l, w) the number of times that w follows l, D the discount, and the
continuation probability Pc(w) from the numbers of different words that w follows,

    P(w | l) = max(c(l, w) - D, 0) / c(l) + D n(l) / c(l) Pc(w)

where n(l) is the number of different words that follow l. The two-sided model adds the next word r by Bayes' rule:
P(w | l, r) is proportional to P(w | l) P(r | w). Both ends of a line count as a word, and so do all words outside the
vocabulary, which are never predicted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posvec.query.masked_tokens import Likelihoods
from posvec.system.arrays import DoubleArray, IndexArray
from posvec.training.chunks import ChunkedCorpus
from posvec.vocabulary import Vocabulary

_PAIRS = 1 << 24  # that are sorted at a time


def unigram_likelihoods(vocabulary: Vocabulary, ids: IndexArray) -> Likelihoods:
    """Return what the frequencies of words say about masked words, by their ids.

    Examples
    --------
    >>> from posvec import Vocabulary
    >>> vocabulary = Vocabulary.from_counts({"the": 75, "cat": 25})
    >>> unigram_likelihoods(vocabulary, np.array([1])).ranks.tolist()
    [2]
    """
    probabilities = vocabulary.counts / vocabulary.counts.sum()
    best = np.full(len(ids), probabilities.max())
    return Likelihoods(np.log(probabilities[ids]), _rank_of(probabilities, ids), best)


class Bigrams:
    """A bigram model with interpolated Kneser-Ney smoothing.

    Parameters
    ----------
    corpus
        An encoded corpus.
    words
        V, the number of words of the vocabulary. The id V stands for all other words, V + 1 for the end of a line.

    Examples
    --------
    >>> import posvec
    >>> from posvec.corpus.encoding import encode
    >>> corpus = posvec.corpus.open_corpus("corpus.txt")
    >>> vocabulary = posvec.Vocabulary.count(corpus)
    >>> bigrams = Bigrams(encode(corpus, vocabulary), len(vocabulary))
    >>> the, cat = (vocabulary.index[word] for word in ("the", "cat"))
    >>> found = bigrams.likelihoods(np.array([cat]), np.array([the]))
    >>> bool(found.log_probabilities[0] > -6)
    True
    """

    def __init__(self, corpus: ChunkedCorpus, words: int) -> None:
        self.words, self._symbols = words, words + 2
        codes, counts = _count_pairs(corpus, words)
        left, right = np.divmod(codes, self._symbols)
        once, twice = ((counts == n).sum() for n in (1, 2))
        self._discount = float(once / max(1, once + 2 * twice)) or 0.5
        totals = np.bincount(left, counts, self._symbols)
        distinct = np.bincount(left, minlength=self._symbols)
        # D n(l) / c(l); a word that was never read on the left leaves all to the continuation probability.
        self._backoff = np.where(totals > 0, self._discount * distinct / np.maximum(totals, 1), 1.0)
        continuations = np.bincount(right, minlength=self._symbols) + 0.5  # for words that follow none
        self._continuation = continuations / continuations.sum()
        values = (counts - self._discount) / totals[left] + self._backoff[left] * self._continuation[right]
        self._begin = np.searchsorted(codes, np.arange(self._symbols + 1) * self._symbols)
        self._right, self._values = right.astype(np.uint32), values
        # The same by the word on the right.
        order = np.argsort(right, kind="stable")
        self._left, self._values_by_right = left[order].astype(np.uint32), values[order]
        self._begin_by_right = np.searchsorted(right[order], np.arange(self._symbols + 1))

    def likelihoods(self, ids: IndexArray, left: IndexArray, right: IndexArray | None = None) -> Likelihoods:
        """Return the probabilities and ranks of masked words from the words next to them.

        Parameters
        ----------
        ids
            The masked words.
        left, right
            The words before and after them, by their ids; without ``right``, the words before are all that counts.
        """
        base = self._continuation[: self.words]
        if right is not None:
            base = base * self._backoff[: self.words]
        ordered, total = np.sort(base), float(base.sum())
        found = [
            self._likelihood(base, ordered, total, int(ids[i]), int(left[i]), None if right is None else int(right[i]))
            for i in range(len(ids))
        ]
        log_probabilities, ranks, confidences = zip(*found, strict=True) if found else ((), (), ())
        return Likelihoods(np.array(log_probabilities), np.array(ranks, np.intp), np.array(confidences))

    def _likelihood(
        self, base: DoubleArray, ordered: DoubleArray, total: float, word: int, left: int, right: int | None
    ) -> tuple[float, int, float]:
        """Of one masked word. Nearly all words have the same small probability but for a factor: base."""
        row = slice(*self._begin[left : left + 2])
        others, values = self._right[row].astype(np.intp), self._values[row]
        values = values[others < self.words]
        others = others[others < self.words]
        scale = float(self._backoff[left])
        if right is not None:
            column = slice(*self._begin_by_right[right : right + 2])
            before, follow = self._left[column].astype(np.intp), self._values_by_right[column]
            follow = follow[before < self.words]
            before = before[before < self.words]
            of_right = float(self._continuation[right])
            merged = np.union1d(others, before)
            one = scale * self._continuation[merged]
            one[np.searchsorted(merged, others)] = values
            other = self._backoff[merged] * of_right
            other[np.searchsorted(merged, before)] = follow
            others, values, scale = merged, one * other, scale * of_right
        at = int(np.searchsorted(others, word))
        is_seen = at < len(others) and others[at] == word
        value = float(values[at]) if is_seen else scale * float(base[word])
        unseen = scale * base[others]
        greater = len(ordered) - int(np.searchsorted(ordered, value / scale, "right"))
        rank = 1 + greater - int((unseen > value).sum()) + int((values > value).sum())
        mass = scale * total - float(unseen.sum()) + float(values.sum())
        highest = max(float(values.max(initial=0.0)), scale * float(ordered[-1]))
        return float(np.log(value / mass)), max(1, rank), highest / mass


def _count_pairs(corpus: ChunkedCorpus, words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of neighbours as left * (V + 2) + right, in ascending order, and their counts."""
    symbols, end = words + 2, words + 1
    codes, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[NDArray[np.int64]] = []
    for index in range(corpus.chunks):
        chunk = corpus.chunk(index)
        starts = chunk.lines[chunk.begin : chunk.end + 1].astype(np.int64)
        ids = chunk.ids[int(starts[0]) : int(starts[-1])].astype(np.int64)
        padded = np.insert(ids, starts - starts[0], end)  # before each line, and after the last
        waiting.append(padded[:-1] * symbols + padded[1:])
        if sum(map(len, waiting)) > _PAIRS or index == corpus.chunks - 1:
            codes, counts = _merge(codes, counts, *np.unique(np.concatenate(waiting), return_counts=True))
            waiting = []
    return codes, counts


def _merge(
    codes: NDArray[np.int64], counts: NDArray[np.int64], more: NDArray[np.int64], more_counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    everything = np.concatenate([codes, more])
    order = np.argsort(everything, kind="stable")
    merged, numbers = everything[order], np.concatenate([counts, more_counts])[order]
    first = np.flatnonzero(np.concatenate([[True], merged[1:] != merged[:-1]]))
    return merged[first], np.add.reduceat(numbers, first)


def _rank_of(values: DoubleArray, ids: IndexArray) -> IndexArray:
    ordered = np.sort(values)
    ranks: IndexArray = 1 + len(ordered) - np.searchsorted(ordered, values[ids], "right")
    return ranks
