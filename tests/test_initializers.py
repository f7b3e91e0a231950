"""Initial values: their distributions, and that they depend only on the seed and the row."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from posvec.config import SETTINGS
from posvec.errors import ConfigError
from posvec.initializers import INITIALIZERS, TERMS, initialize, square_root_normal_variance

ALL = sorted(INITIALIZERS)


def tables(
    name: str, rows: int, dim: int, positional_dim: int, seed: int = 1, threads: int = 1, window: int = 5
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    u = np.full((rows, dim), np.nan, np.float32)
    d = np.full((2 * window, positional_dim), np.nan, np.float32)
    initialize(name, u, d, positional_dim, seed, threads)
    return u, d


def test_every_initializer_of_the_configuration_exists() -> None:
    assert set(SETTINGS["initializer"].choices) == set(INITIALIZERS)


# The square-root normal distribution


def test_the_variance_of_a_product_at_k_9_is_as_the_papers_appendix_states() -> None:
    assert TERMS == 9
    assert 0.95 < square_root_normal_variance(9) <= 1


def test_the_variance_of_a_product_rises_to_1_with_k() -> None:
    variances = [square_root_normal_variance(k) for k in range(200)]
    assert all(low < high < 1 for low, high in itertools.pairwise(variances))
    assert square_root_normal_variance(10_000) == pytest.approx(1, abs=1e-4)


def test_the_variance_of_a_product_equals_the_papers_formula_term_by_term() -> None:
    # Var_k[u] / sigma = (prod E[e^a_n])^2 + Var[prod e^a_n], from the moment generating function of Gamma(1/2, 1).
    for k in (0, 1, 4, 9, 30):
        mean = square = 1.0
        for n in range(k + 1):
            factor = (1 + 1 / max(1, n)) ** 0.25
            mean *= factor * (1 + 1 / (2 * n + 1)) ** -0.5
            square *= factor**2 * (1 + 2 / (2 * n + 1)) ** -0.5
        variance = mean**2 + (square - mean**2)
        assert square_root_normal_variance(k) == pytest.approx(variance**2, rel=1e-12)


def test_the_variance_has_no_negative_k() -> None:
    with pytest.raises(ConfigError, match="at least 0"):
        square_root_normal_variance(-1)


@pytest.mark.parametrize(
    ("name", "sigma"),
    [("sqrt_normal", 1 / (math.sqrt(3) * 100)), ("sqrt_normal_as_run", 1 / math.sqrt(math.sqrt(3) * 100))],
)
def test_products_of_square_root_normal_features_have_the_stated_mean_and_variance(name: str, sigma: float) -> None:
    u, d = tables(name, 10_000, 100, 100, window=5000)
    products = u.astype(float) * d
    # 10^6 products; their kurtosis is about 9, so that the standard error of the variance is 0.3 %.
    assert products.mean() / sigma == pytest.approx(0, abs=5e-3)
    assert products.var() / sigma**2 == pytest.approx(square_root_normal_variance(9), rel=0.012)


def test_products_of_the_authors_code_have_standard_deviation_0_043_at_300_features() -> None:
    u, d = tables("sqrt_normal_as_run", 2000, 300, 300, window=1000)
    assert (u * d).std() == pytest.approx(0.043, abs=0.0005)


def test_square_root_normal_features_have_the_moments_and_quantiles_of_ten_gamma_variates() -> None:
    # Compare the definition, which is slow, with the pairs of exponentials and angles of the fast sampler.
    random = np.random.default_rng(7)
    exponent = np.zeros(200_000)
    for n in range(10):
        exponent += 0.25 * np.log(1 + 1 / max(1, n)) - random.standard_gamma(0.5, exponent.shape) / (2 * n + 1)
    slow = np.sort(exponent + 0.5 * np.log(1 / (math.sqrt(3) * 50)))
    u, _ = tables("sqrt_normal", 4000, 50, 50)
    fast = np.sort(np.log(np.abs(u.astype(float).ravel())))
    ranks = np.searchsorted(slow, fast) / len(slow)
    distance = np.abs(ranks - np.arange(len(fast)) / len(fast)).max()
    assert distance < 1.95 * math.sqrt(2 / len(fast))  # Kolmogorov and Smirnov, at the level 0.001
    assert np.mean(u > 0) == pytest.approx(0.5, abs=0.005)
    assert np.corrcoef(np.sign(u).ravel(), np.abs(u).ravel())[0, 1] == pytest.approx(0, abs=0.01)


def test_adjacent_features_and_rows_are_uncorrelated() -> None:
    u, _ = tables("sqrt_normal", 5000, 20, 20)
    correlations = np.corrcoef(np.hstack([u[:-1], u[1:]]).T) - np.eye(40)
    assert np.abs(correlations).max() < 0.07


# The other initializers


def test_identity_has_positional_vectors_of_ones_and_the_input_vectors_of_a_model_without_positions() -> None:
    u, d = tables("identity", 700, 30, 12)
    plain, _ = tables("identity", 700, 30, 0)
    assert (d == 1).all()
    np.testing.assert_array_equal(u, plain)


def test_vanilla_is_uniform_between_plus_and_minus_1_over_d() -> None:
    u, d = tables("vanilla", 2000, 50, 20, window=1000)
    for values in (u, d):
        assert np.abs(values).max() <= 1 / 50
        assert np.abs(values).max() == pytest.approx(1 / 50, rel=0.001)
        assert values.std() == pytest.approx(1 / (math.sqrt(3) * 50), rel=0.01)
        assert values.mean() == pytest.approx(0, abs=3e-4)


def test_uniform_has_the_bound_of_the_appendix_and_the_variance_of_a_product() -> None:
    u, d = tables("uniform", 4000, 50, 50, window=2000)
    bound = 3**0.25 / math.sqrt(50)
    for values in (u, d):
        assert np.abs(values).max() == pytest.approx(bound, rel=0.001)
    assert (u.astype(float) * d).var() == pytest.approx(1 / (3 * 50**2), rel=0.02)


# Dependence on the seed and the row


@pytest.mark.parametrize("name", ALL)
def test_features_that_are_not_positional_are_uniform_whatever_the_initializer(name: str) -> None:
    u, _ = tables(name, 1000, 40, 10)
    vanilla, _ = tables("vanilla", 1000, 40, 10)
    np.testing.assert_array_equal(u[:, 10:], vanilla[:, 10:])
    assert np.abs(u[:, 10:]).max() == pytest.approx(1 / 40, rel=0.001)


@pytest.mark.parametrize("name", ALL)
def test_without_positional_features_all_initializers_are_the_same(name: str) -> None:
    u, d = tables(name, 1000, 40, 0)
    vanilla, _ = tables("vanilla", 1000, 40, 0)
    np.testing.assert_array_equal(u, vanilla)
    assert d.shape == (10, 0)


@pytest.mark.parametrize("name", ALL)
def test_values_do_not_depend_on_the_number_of_threads(name: str) -> None:
    one, many = tables(name, 3000, 8, 5, threads=1), tables(name, 3000, 8, 5, threads=7)
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


def test_the_seed_changes_every_value() -> None:
    one, two = tables("sqrt_normal", 600, 10, 6, seed=1), tables("sqrt_normal", 600, 10, 6, seed=2)
    assert (one[0] != two[0]).mean() > 0.999
    assert (one[1] != two[1]).all()
    tables("sqrt_normal", 5, 10, 6, seed=2**63 - 1)


def test_no_two_rows_are_equal() -> None:
    u, _ = tables("sqrt_normal", 5000, 4, 2)
    assert len(np.unique(u, axis=0)) == 5000


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 5), (500, 530), (512, 1024), (700, 2000), (1999, 2000)])
def test_rows_filled_later_equal_those_of_the_whole_table(name: str, first: int, last: int) -> None:
    whole, _ = tables(name, 2000, 9, 4)
    part = np.zeros((last - first, 9), np.float32)
    initialize(name, part, None, 4, seed=1, first_row=first)
    np.testing.assert_array_equal(part, whole[first:last])


def test_a_strided_view_is_filled_without_its_padding() -> None:
    expected, expected_d = tables("sqrt_normal", 1500, 13, 5)
    padded, padded_d = np.full((1500, 16), 7, np.float32), np.full((10, 16), 7, np.float32)
    initialize("sqrt_normal", padded[:, :13], padded_d[:, :5], 5, seed=1)
    np.testing.assert_array_equal(padded[:, :13], expected)
    np.testing.assert_array_equal(padded_d[:, :5], expected_d)
    assert (padded[:, 13:] == 7).all()
    assert (padded_d[:, 5:] == 7).all()


def test_a_table_in_double_precision_gets_the_same_values() -> None:
    expected, _ = tables("sqrt_normal", 600, 13, 5)
    double = np.zeros((600, 13))
    initialize("sqrt_normal", double, np.zeros((10, 5)), 5, seed=1)
    np.testing.assert_array_equal(double, expected)


def test_a_table_without_rows_is_accepted() -> None:
    initialize("sqrt_normal", np.zeros((0, 4), np.float32), None, 2, seed=1)


def test_no_temporary_of_the_size_of_a_table_is_allocated() -> None:
    import tracemalloc

    table, d = np.empty((40_000, 64), np.float32), np.empty((10, 64), np.float32)
    tracemalloc.start()
    initialize("sqrt_normal", table, d, 64, seed=1, threads=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table.nbytes / 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "sqrt"}, "no initializer 'sqrt'; choose from sqrt_normal"),
        ({"positional_dim": 9}, "must lie between 0 and dim"),
        ({"positional_vectors": np.zeros((10, 3), np.float32)}, "do not have positional_dim = 4 columns"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "name": "uniform",
        "input_vectors": np.zeros((5, 8), np.float32),
        "positional_vectors": np.zeros((10, 4), np.float32),
        "positional_dim": 4,
        "seed": 1,
    }
    with pytest.raises(ConfigError, match=message):
        initialize(**{**arguments, **change})
