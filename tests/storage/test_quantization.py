"""Quantized tables: how accurate they are, that they are indexed like arrays, and that damage is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from posvec import ModelError, PosvecError
from posvec.storage.product_quantization import ITERATIONS, nearest_centroids, train_codebook
from posvec.storage.quantization import QUANTIZATIONS, load_table, quantize, table_tensors
from posvec.storage.tables import AbsentTable, StackedTable


def some_rows(count: int = 3000, dim: int = 10) -> np.ndarray:
    random = np.random.default_rng(4)
    lengths = random.lognormal(size=(count, 1))
    return (lengths * random.normal(size=(count, dim))).astype(np.float32)


def quantized(method: str, rows: np.ndarray, sub_vector: int = 2, seed: int = 1) -> Any:
    return quantize(method, rows, np.arange(len(rows)), lambda count: None, sub_vector, seed)


def error(found: Any, rows: np.ndarray) -> float:
    """Return the mean error relative to the length of the row."""
    return float(np.mean(np.linalg.norm(found[:] - rows, axis=1) / np.linalg.norm(rows, axis=1)))


@given(arrays.arrays(np.float32, (5, 3), elements=st.floats(-60000, 60000, width=32)))
def test_numbers_are_rounded_to_the_nearest_code(rows):
    assert np.array_equal(quantized("float16", rows)[:], rows.astype(np.float16).astype(np.float32))
    step = np.abs(rows).max(1, keepdims=True) / 127
    assert (np.abs(quantized("int8", rows)[:] - rows) <= 0.5001 * step + 1e-30).all()


def test_product_quantization_of_few_rows_is_nearly_lossless():
    rows = some_rows(200, 7)
    np.testing.assert_allclose(quantized("pq", rows)[:], rows, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("sub_vector", "highest"), [(1, 0.015), (2, 0.13), (3, 0.3), (10, 0.75)])
def test_product_quantization_is_coarser_with_longer_sub_vectors(sub_vector, highest):
    rows = some_rows()
    assert highest / 4 < error(quantized("pq", rows, sub_vector), rows) < highest


def test_short_rows_are_quantized_as_well_as_long_ones():
    rows = some_rows()
    table = quantized("pq", rows)
    lengths = np.linalg.norm(rows, axis=1)
    errors = np.linalg.norm(table[:] - rows, axis=1) / lengths
    short, long = errors[lengths < np.quantile(lengths, 0.1)], errors[lengths > np.quantile(lengths, 0.9)]
    assert short.mean() == pytest.approx(long.mean(), rel=0.1)


@pytest.mark.parametrize("centroids", [1, 3, 4, 5, 255, 256])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_nearest_centroid_is_found(centroids, width):
    random = np.random.default_rng(centroids)
    rows = random.normal(size=(50, 4, width)).astype(np.float32)
    codebook = random.normal(size=(4, centroids, width)).astype(np.float32)
    distances = ((rows[:, :, None] - codebook) ** 2).sum(-1)
    assert np.array_equal(nearest_centroids(rows, codebook), distances.argmin(-1))


def test_ties_between_centroids_go_to_the_first():
    assert nearest_centroids(np.ones((2, 1, 2), np.float32), np.ones((1, 256, 2), np.float32)).tolist() == [[0], [0]]


def test_centroids_are_as_good_as_those_of_scikit_learn():
    cluster = pytest.importorskip("sklearn.cluster")
    rows = np.random.default_rng(5).normal(size=(2000, 1, 2)).astype(np.float32)
    codebook = train_codebook(rows, seed=1)
    ours = ((rows[:, 0] - codebook[0][nearest_centroids(rows, codebook)[:, 0]]) ** 2).sum()
    theirs = cluster.KMeans(256, init="random", n_init=1, max_iter=ITERATIONS, random_state=1).fit(rows[:, 0])
    assert ours == pytest.approx(theirs.inertia_, rel=0.15)


def test_a_seed_reproduces_the_codes():
    rows = some_rows(1000)
    one, same, other = (quantized("pq", rows, seed=seed).tensors for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["codebook"], other["codebook"])


@pytest.mark.parametrize("method", QUANTIZATIONS)
def test_a_quantized_table_is_indexed_like_an_array(method):
    table = quantized(method, some_rows(100, 6))
    stacked = StackedTable(table, some_rows(20, 6))
    for each in (table, stacked):
        whole = np.asarray(each)
        assert whole.dtype == np.float32
        assert whole.shape == each.shape == (len(each), 6)
        mask = np.arange(len(each)) % 3 == 0
        for index in (0, -1, np.int64(5), slice(3, 90, 2), slice(None), [4, 99, 4], np.array([-1, 0]), mask):
            assert np.array_equal(each[index], whole[index]), index
        assert each[[]].shape == (0, 6)
        assert np.array_equal(each[2:9, [0, 3]], whole[2:9, [0, 3]])
        assert np.array_equal(each[4, 1:3], whole[4, 1:3])
        vector = np.ones(6, np.float32)
        np.testing.assert_allclose(each @ vector, whole @ vector, rtol=1e-6)
        for index in (len(each), -len(each) - 1, [len(each)]):
            with pytest.raises(IndexError):
                each[index]


@pytest.mark.parametrize("method", [*QUANTIZATIONS, "float32"])
def test_a_table_is_restored_from_its_tensors(method):
    above, below = quantized(method, some_rows(30, 5)), quantized(method, some_rows(20, 5))
    stacked = StackedTable(above, below)
    saved = table_tensors("u", stacked if method in QUANTIZATIONS else stacked[:])
    assert np.array_equal(load_table(saved, "u", method, (30, 20), 5)[:], stacked[:])
    assert np.array_equal(load_table(table_tensors("u", above), "u", method, (30,), 5)[:], above[:])


@pytest.mark.parametrize("method", QUANTIZATIONS)
def test_tensors_that_do_not_fit_are_refused(method):
    saved = table_tensors("u", quantized(method, some_rows(30, 5)))
    for name in saved:
        for wrong in (None, saved[name][:-1], saved[name].astype(np.float64), saved[name][None]):
            damaged = {key: wrong if key == name else value for key, value in saved.items()}
            damaged = {key: value for key, value in damaged.items() if value is not None}
            with pytest.raises(ModelError, match=r"^u\."):
                load_table(damaged, "u", method, (30,), 5)
    with pytest.raises(ModelError, match=r"^u\."):
        load_table(saved, "u", method, (30,), 9)


def test_a_code_beyond_the_codebook_reads_nothing_beyond_it():
    table = quantized("pq", some_rows(100, 4))
    table.tensors["codes"][:] = 255
    assert np.isfinite(table[:]).all()


@pytest.mark.parametrize("method", QUANTIZATIONS)
def test_rows_of_zeros_stay_zeros_and_non_finite_numbers_are_refused(method):
    rows = some_rows(300, 4)
    rows[7] = 0
    assert (quantized(method, rows)[7] == 0).all()
    rows[8, 1] = np.nan
    with pytest.raises(PosvecError, match="numbers that are not finite; train it again"):
        quantized(method, rows)


def test_numbers_too_large_for_half_precision_are_refused():
    with pytest.raises(PosvecError, match=r"beyond 65,504, the highest of float16; use int8"):
        quantized("float16", np.full((2, 2), 1e5, np.float32))


def test_reading_an_absent_table_raises_an_error():
    table = AbsentTable(5, 3)
    assert table.shape == (5, 3)
    assert table_tensors("v", table) == {}
    for ask in (lambda: table[0], lambda: table[:, [1]], lambda: table @ np.ones(3, np.float32)):
        with pytest.raises(PosvecError, match="no masked word can be predicted; compress the original without"):
            ask()
