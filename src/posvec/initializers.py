"""Initial values of the input and positional vectors: one function per initializer, in INITIALIZERS by name.

In the paper's notation, u is a feature of an input vector and d a feature of a positional vector, both among the first
D' features. An initializer defines the distributions of these two. All other features of input vectors are U(+-1/D)
with every initializer, so with D' = 0 all initializers are the same. Output vectors are initialized to zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ConfigError
from posvec.system.threads import map_in_order

Sampler = Callable[[np.random.Generator, "tuple[int, int]"], NDArray[np.float32]]


class Initializer(NamedTuple):
    """How u and d are drawn; with ``u`` = None, u is U(+-1/D), with the same values as with D' = 0."""

    u: Sampler | None
    d: Sampler


def initialize(
    name: str,
    input_vectors: NDArray[Any],
    positional_vectors: NDArray[Any] | None,
    positional_dim: int,
    seed: int,
    threads: int = 1,
    first_row: int = 0,
    unit: float = 0.0,
    table: int = 0,
) -> None:
    """Fill input and positional vectors in place.

    A row depends only on the seed and its number, not on the number of threads or rows. So the rows that are added to a
    table can be filled without the others.

    Input vectors that are trained as multiples of a unit must not begin as zeros: output vectors are zeros at first,
    and then neither table has a gradient. If the bound 1/D is below the unit, each feature is rounded to one of the two
    multiples next to it at random, so that its mean stays the same. Otherwise values are not rounded here: rounding
    them to the nearest multiple later gives as many zeros as rounding at random would.

    Parameters
    ----------
    name
        A key of ``INITIALIZERS``.
    input_vectors
        (rows, D), of any strides, float32 or float64 with the same values.
    positional_vectors
        (2c, D'), or None to fill the input vectors only.
    positional_dim
        D', how many features are weighted by position.
    seed
        The seed of all random numbers.
    threads
        How many threads to use; 0 is one per core.
    first_row
        The number of the first row of ``input_vectors``, if these are the last rows of a larger table.
    unit
        The number of which the features of input vectors are multiples during training; 0: they are float32.
    table
        The number of the table. Tables of one model have different numbers, so that their values are independent.

    Raises
    ------
    ConfigError
        If there is no such initializer, or the shapes do not fit together.

    Examples
    --------
    >>> u, d = np.empty((100, 8), np.float32), np.empty((4, 8), np.float32)
    >>> initialize("identity", u, d, positional_dim=8, seed=1)
    >>> bool((np.abs(u) <= 1 / 8).all()), bool((d == 1).all())
    (True, True)
    """
    rows, dim = input_vectors.shape
    _check(name, dim, positional_vectors, positional_dim)
    u, d = INITIALIZERS[name](dim)
    features, positional_features, positions, rounding = (stream + _STREAMS * table for stream in range(_STREAMS))
    if positional_vectors is not None:
        positional_vectors[...] = d(_generator(seed, positions, 0), positional_vectors.shape)

    def fill(block: int) -> None:
        # The whole block is drawn even if only some of its rows are filled, so that they have the same values.
        begin, end = max(block * _BLOCK_ROWS, first_row), min((block + 1) * _BLOCK_ROWS, first_row + rows)
        target = input_vectors[begin - first_row : end - first_row]
        selected = slice(begin - block * _BLOCK_ROWS, end - block * _BLOCK_ROWS)
        if u is None or positional_dim < dim:
            target[...] = _uniform(1 / dim)(_generator(seed, features, block), (_BLOCK_ROWS, dim))[selected]
        if u is not None and positional_dim > 0:
            values = u(_generator(seed, positional_features, block), (_BLOCK_ROWS, positional_dim))
            target[:, :positional_dim] = values[selected]
        if unit > 1 / dim:
            thresholds = _generator(seed, rounding, block).random((_BLOCK_ROWS, dim), np.float32)[selected]
            target[...] = np.floor(target / np.float32(unit) + thresholds) * np.float32(unit)

    blocks = range(first_row // _BLOCK_ROWS, -(-(first_row + rows) // _BLOCK_ROWS)) if rows else range(0)
    for _ in map_in_order(fill, blocks, threads):
        pass


def sqrt_normal(dim: int) -> Initializer:
    """u, d ~ N^0.5(0, 1/3D^2): the product u d has the mean and the variance of a feature of the subword model."""
    sampler = _square_root_normal(_sigma(dim))
    return Initializer(sampler, sampler)


def sqrt_normal_as_run(dim: int) -> Initializer:
    """u, d ~ N^0.5(0, sigma), as in the authors' code, where the text of the paper has N^0.5(0, sigma^2).

    Deviation: the code takes the root twice, so that the standard deviation of a product is 0.043 rather than 0.0019 at
    D = 300. All results of the paper were measured with this initializer.
    """
    sampler = _square_root_normal(math.sqrt(_sigma(dim)))
    return Initializer(sampler, sampler)


def identity(dim: int) -> Initializer:
    """u ~ U(+-1/D), d = 1: training begins like that of the subword model. The paper reports overflow for D > 600."""
    return Initializer(None, _ones)


def vanilla(dim: int) -> Initializer:
    """u, d ~ U(+-1/D): products are so small, Var[u d] = 1/9D^4, that training progresses very slowly."""
    return Initializer(None, _uniform(1 / dim))


def uniform(dim: int) -> Initializer:
    """u, d ~ U(+-3^(1/4)/D^(1/2)): the product has the same mean and variance as with sqrt_normal."""
    sampler = _uniform(math.sqrt(3 * _sigma(dim)))
    return Initializer(sampler, sampler)


INITIALIZERS: dict[str, Callable[[int], Initializer]] = {
    "sqrt_normal": sqrt_normal,
    "sqrt_normal_as_run": sqrt_normal_as_run,
    "identity": identity,
    "vanilla": vanilla,
    "uniform": uniform,
}

TERMS = 9  # k: the square-root normal distribution is an infinite product, truncated after the factors 0..k


def square_root_normal_variance(k: int = TERMS) -> float:
    """Return Var_k[u d] / sigma^2 of independent u, d ~ N^0.5(0, sigma^2), truncated after the factors 0..k.

    Its limit is 1.

    E[u] = 0, so Var[u d] = E[u^2]^2 and E[u^2] / sigma = prod_n E[e^(2 a_n)]. As E[e^(-t G)] = (1 + t)^(-1/2) for
    G ~ Gamma(1/2, 1), E[e^(2 a_n)]^2 = (1 + 1/max(1, n)) / (1 + 2/(2n + 1)).

    Examples
    --------
    >>> round(square_root_normal_variance(), 3), round(square_root_normal_variance(10**5), 3)
    (0.952, 1.0)
    """
    if k < 0:
        raise ConfigError(f"k is the number of the last factor, at least 0, not {k}")
    return math.prod((1 + 1 / max(1, n)) / (1 + 2 / (2 * n + 1)) for n in range(k + 1))


# The rows that one generator draws: few enough that their temporaries (some 600 kB each at D' = 300) stay in the cache.
_BLOCK_ROWS = 512

# The independent streams of random numbers of each table that follow from a seed: features, positional features,
# positions, rounding.
_STREAMS = 4


def _check(name: str, dim: int, positional_vectors: NDArray[Any] | None, positional_dim: int) -> None:
    if name not in INITIALIZERS:
        raise ConfigError(f"there is no initializer {name!r}; choose from {', '.join(INITIALIZERS)}")
    if not 0 <= positional_dim <= dim:
        raise ConfigError(f"positional_dim (D' = {positional_dim}) must lie between 0 and dim (D = {dim})")
    if positional_vectors is not None and positional_vectors.shape[1:] != (positional_dim,):
        raise ConfigError(
            f"positional vectors of shape {positional_vectors.shape} do not have positional_dim = {positional_dim} "
            f"columns; give both the same D'"
        )


def _sigma(dim: int) -> float:
    """The standard deviation of U(+-1/D)."""
    return 1 / (math.sqrt(3) * dim)


def _generator(seed: int, stream: int, block: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(stream, block))))


def _ones(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
    return np.ones(shape, np.float32)


def _uniform(bound: float) -> Sampler:
    """U(+-bound)."""

    def sample(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
        values = random.random(shape, np.float32)
        values -= np.float32(0.5)
        values *= np.float32(2 * bound)
        return values

    return sample


def _square_root_normal(sigma: float, k: int = TERMS) -> Sampler:
    """N^0.5(0, sigma^2): x = epsilon e^(a_0 + ... + a_k) sigma^(1/2), with a fair sign epsilon and
    a_n = 1/4 ln(1 + 1/max(1, n)) - G_n / (2n + 1), G_n ~ Gamma(1/2, 1).

    Drawing k + 1 Gamma variates for each value would take 300 ns. But if E ~ Exp(1) and theta is a uniform angle, then
    E cos^2(theta) and E sin^2(theta) are two independent Gamma(1/2, 1) variates: half the squares of the two normal
    variates of Box and Muller. With E = -ln U, a pair n, m adds to the exponent

        ln U (cos^2(theta) / (2n+1) + sin^2(theta) / (2m+1)) = ln U (mean + half_difference cos(2 theta))

    of the weights 1/(2n+1) and 1/(2m+1). U takes 32 random bits and 2 theta 16, as an int16 scaled to (-pi, pi). Since
    cos is even, the sign of 2 theta is independent of everything else, and the last one serves as epsilon.
    """
    scale = math.sqrt(sigma) * math.prod((1 + 1 / max(1, n)) ** 0.25 for n in range(k + 1))
    weights = [1 / (2 * n + 1) for n in range(k + 1)] + [0.0] * ((k + 1) % 2)
    pairs = list(zip(weights[::2], weights[1::2], strict=True))

    def sample(random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
        size = shape[0] * shape[1]
        exponent = np.full(size, math.log(scale), np.float32)
        angle, log_u = np.empty_like(exponent), np.empty_like(exponent)
        draw = random.bit_generator.random_raw
        for first, second in pairs:
            bits = draw(-(-size // 2)).view(np.uint32)[:size]
            bits |= np.uint32(1)  # for U > 0
            np.multiply(bits, np.float32(2**-32), out=log_u, dtype=np.float32, casting="unsafe")
            np.log(log_u, out=log_u)
            turns = draw(-(-size // 4)).view(np.int16)[:size]
            np.add(turns, np.float32(0.5), out=angle, dtype=np.float32, casting="unsafe")
            angle *= np.float32(math.pi / 2**15)
            np.cos(angle, out=angle)
            angle *= np.float32((first - second) / 2)
            angle += np.float32((first + second) / 2)
            log_u *= angle
            exponent += log_u
        np.exp(exponent, out=exponent)
        return np.copysign(exponent, turns, out=exponent, dtype=np.float32, casting="unsafe").reshape(shape)

    return sample
