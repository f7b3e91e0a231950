"""Exact search for the best-scored rows of a table, block by block: nothing of the table's size is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.system.arrays import FloatArray

# Of each query and each row there is a score in memory: this many queries, and this many scores, at a time. The first
# ones only set the mark that later ones have to pass, and fewer are enough for that.
QUERIES, FIRST_SCORES, SCORES = 256, 1 << 20, 1 << 21


class Neighbor(NamedTuple):
    """A word and its cosine similarity."""

    word: str
    similarity: float


class Found(NamedTuple):
    """The best rows of one query and their scores, best first; equal scores in the order of the table."""

    ids: list[int]
    scores: list[float]


def search(
    score: Callable[[slice, slice], FloatArray], queries: int, rows: int, topn: int, excluded: Sequence[Sequence[int]]
) -> Iterator[Found]:
    """The ``topn`` best of so many rows for each query, without its ``excluded`` ones.

    ``score`` is given some of the queries and some of the rows and returns the score of each with each, (rows,
    queries): a product of matrices, which NumPy's BLAS spreads over all cores.
    """
    topn = max(0, min(topn, rows))
    for first in range(0, queries, QUERIES):
        some = slice(first, min(first + QUERIES, queries))
        size = some.stop - some.start
        best_of_each = _Best(size, topn)
        out = np.array([(query, row) for query, ids in enumerate(excluded[some]) for row in ids], np.intp)
        out = out.reshape(-1, 2)
        for block in _blocks(rows if topn else 0, size):
            scores = score(some, block)
            here = out[(out[:, 1] >= block.start) & (out[:, 1] < block.stop)]
            scores[here[:, 1] - block.start, here[:, 0]] = -np.inf
            best_of_each.add(scores, block.start)
        yield from best_of_each.found()


def best(scores: FloatArray, topn: int) -> NDArray[np.intp]:
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


class _Best:
    """The best rows of each query so far; places not taken yet have the score -inf."""

    def __init__(self, queries: int, topn: int) -> None:
        self._ids = np.full((queries, topn), -1, np.intp)
        self._scores = np.full((queries, topn), -np.inf, np.float32)

    def add(self, scores: FloatArray, first: int) -> None:
        """Take in the scores of further rows, (rows, queries), which begin at row ``first``."""
        queries, topn = self._ids.shape
        # Only what is better than the last of the best: of equals, the earlier row stays.
        better = scores > self._scores[:, -1]
        if first == 0 and topn < len(scores):
            better &= scores >= np.partition(scores, -topn, axis=0)[-topn]
        # Not nonzero of the matrix, which takes NumPy longer than the product did.
        row, query = np.divmod(np.flatnonzero(better), queries)
        if not len(query):
            return
        of = np.concatenate([np.repeat(np.arange(queries), topn), query])
        ids = np.concatenate([self._ids.ravel(), row + first])
        values = np.concatenate([self._scores.ravel(), scores[row, query]])
        order = np.lexsort((ids, -values, of))
        chosen = order[np.searchsorted(of[order], np.arange(queries))[:, None] + np.arange(topn)]
        self._ids, self._scores = ids[chosen], values[chosen]

    def found(self) -> Iterator[Found]:
        for ids, scores in zip(self._ids, self._scores, strict=True):
            known = scores > -np.inf
            yield Found(ids[known].tolist(), scores[known].tolist())


def _blocks(rows: int, queries: int) -> Iterator[slice]:
    begin, end = 0, max(1, FIRST_SCORES // queries)
    while begin < rows:
        yield slice(begin, min(rows, end))
        begin, end = end, end + max(1, SCORES // queries)
