"""Exact search for the highest-scoring rows of a table, in blocks, so that the matrix of all scores never exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.system.arrays import FloatArray

# Memory is bounded by scoring this many queries, and computing this many scores, at a time. The first block only has to
# find a threshold that later scores must exceed, so it can be smaller.
QUERIES, FIRST_SCORES, SCORES = 256, 1 << 20, 1 << 21

_COUNTED_RANKS = 16  # for more ranks, sorting all scores is faster


class RankedRows(NamedTuple):
    """The row numbers that answer one query and their scores, best first; ties are in table order."""

    ids: list[int]
    scores: list[float]


def search_rows(
    score: Callable[[slice, slice], FloatArray], queries: int, rows: int, topn: int, excluded: Sequence[Sequence[int]]
) -> Iterator[RankedRows]:
    """Find the ``topn`` highest-scoring of ``rows`` rows for each of ``queries`` queries, except its ``excluded`` rows.

    ``score(queries, rows)`` returns the scores of a slice of the rows with a slice of the queries, (rows, queries). It
    is typically a matrix product, which NumPy's BLAS computes on all cores.
    """
    topn = max(0, min(topn, rows))
    together = max(1, min(QUERIES, SCORES // max(1, topn)))
    for first in range(0, queries, together):
        batch = slice(first, min(first + together, queries))
        size = batch.stop - batch.start
        top = _TopRows(size, topn)
        pairs = np.array([(query, row) for query, ids in enumerate(excluded[batch]) for row in ids], np.intp)
        pairs = pairs.reshape(-1, 2)
        for block in _blocks(rows if topn else 0, size):
            scores = score(batch, block)
            in_block = pairs[(pairs[:, 1] >= block.start) & (pairs[:, 1] < block.stop)]
            scores[in_block[:, 1] - block.start, in_block[:, 0]] = -np.inf
            top.update(scores, block.start)
        yield from top.results()


def top_indices(scores: NDArray[np.floating[Any]], topn: int) -> NDArray[np.intp]:
    """Return the indices of the ``topn`` highest scores, best first; ties are in the order of their indices."""
    topn = min(topn, len(scores))
    if topn <= 0:
        return np.empty(0, np.intp)
    last = np.partition(scores, -topn)[-topn]
    above = np.flatnonzero(scores > last)
    # Not argpartition: among scores that tie with the last one, it chooses arbitrarily.
    chosen = np.concatenate([above, np.flatnonzero(scores == last)[: topn - len(above)]])
    order: NDArray[np.intp] = chosen[np.lexsort((chosen, -scores[chosen]))]
    return order


def ranks(scores: NDArray[np.floating[Any]], ids: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rank of each of some rows by its score; 1 is the highest, and ties are in the order of their rows."""
    if len(ids) > _COUNTED_RANKS:
        rank = np.empty(len(scores), np.intp)
        rank[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        return rank[ids]
    counted = [1 + (scores > scores[i]).sum() + (scores[:i] == scores[i]).sum() for i in ids.tolist()]
    return np.array(counted, np.intp)


class _TopRows:
    """The best rows of each query so far; empty slots have the score -inf."""

    def __init__(self, queries: int, topn: int) -> None:
        self._ids = np.full((queries, topn), -1, np.intp)
        self._scores = np.full((queries, topn), -np.inf, np.float32)

    def update(self, scores: FloatArray, first: int) -> None:
        """Merge the scores of a block of rows, (rows, queries), that begins at row ``first``."""
        queries, topn = self._ids.shape
        # Strictly greater, so that of equal scores the earlier row stays.
        better = scores > self._scores[:, -1]
        if first == 0 and topn < len(scores):
            better &= scores >= np.partition(scores, -topn, axis=0)[-topn]
        # flatnonzero, because nonzero of the matrix takes longer than the matrix product did.
        row, query = np.divmod(np.flatnonzero(better), queries)
        if not len(query):
            return
        query_of = np.concatenate([np.repeat(np.arange(queries), topn), query])
        ids = np.concatenate([self._ids.ravel(), row + first])
        values = np.concatenate([self._scores.ravel(), scores[row, query]])
        order = np.lexsort((ids, -values, query_of))
        chosen = order[np.searchsorted(query_of[order], np.arange(queries))[:, None] + np.arange(topn)]
        self._ids, self._scores = ids[chosen], values[chosen]

    def results(self) -> Iterator[RankedRows]:
        for ids, scores in zip(self._ids, self._scores, strict=True):
            filled = scores > -np.inf
            yield RankedRows(ids[filled].tolist(), scores[filled].tolist())


def _blocks(rows: int, queries: int) -> Iterator[slice]:
    begin, end = 0, max(1, FIRST_SCORES // queries)
    while begin < rows:
        yield slice(begin, min(rows, end))
        begin, end = end, end + max(1, SCORES // queries)
