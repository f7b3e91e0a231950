"""Exact search in blocks finds what sorting all scores finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec.query import exact
from posvec.query.exact import search_rows, top_indices


def test_equal_scores_are_ranked_in_the_order_of_the_vocabulary():
    scores = np.array([1, 3, 3, 2, 3], np.float32)
    assert top_indices(scores, 3).tolist() == [1, 2, 4]
    assert top_indices(scores, 99).tolist() == [1, 2, 4, 3, 0]
    assert top_indices(scores, 0).tolist() == []


def test_ties_across_the_cut_go_to_the_more_frequent_words():
    assert top_indices(np.zeros(1000, np.float32), 5).tolist() == [0, 1, 2, 3, 4]


@given(
    queries=st.integers(1, 9),
    rows=st.integers(1, 70),
    topn=st.integers(0, 80),
    kinds=st.integers(1, 40),
    excluded=st.integers(0, 8),
    seed=st.integers(0, 1000),
)
@settings(max_examples=150)
def test_blocks_find_what_sorting_all_scores_finds(queries, rows, topn, kinds, excluded, seed):
    draw = np.random.default_rng(seed)
    scores = draw.integers(kinds, size=(queries, rows)).astype(np.float32)  # few kinds: many ties
    out = [draw.integers(rows, size=excluded).tolist() for _ in range(queries)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("QUERIES", 4), ("SCORES", 40), ("FIRST_SCORES", 12)):
            patch.setattr(exact, name, value)
        found = list(search_rows(lambda batch, block: scores[batch, block].T.copy(), queries, rows, topn, out))
    for row, ids, (found_ids, found_scores) in zip(scores, out, found, strict=True):
        expected = sorted((i for i in range(rows) if i not in ids), key=lambda i: (-row[i], i))[:topn]
        assert found_ids == expected
        assert found_scores == row[expected].tolist()


def test_only_a_bounded_part_of_the_scores_exists_at_a_time():
    sizes = []

    def score(batch, block):
        sizes.append((batch.stop - batch.start) * (block.stop - block.start))
        return np.zeros((block.stop - block.start, batch.stop - batch.start), np.float32)

    list(search_rows(score, 300, 50_000, 3, [()] * 300))
    assert max(sizes) <= exact.SCORES
    assert sum(sizes) == 300 * 50_000
