"""Initial values of the input and the positional vectors: one function per initializer, in INITIALIZERS by name.

In the paper's letters, u is a feature of an input vector and d one of a positional vector, both among the first D'
features. An initializer says where these two come from. All other features of the input vectors are U(+-1/D) whatever
the initializer is, so with D' = 0 all initializers are the same. (Output vectors begin as zeros.)
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
    """Where u and d come from; None leaves u at U(+-1/D), the very values that it would have with D' = 0."""

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
) -> None:
    """Fill ``input_vectors`` (rows, D) and ``positional_vectors`` (2c, D') in place.

    The arrays can be views with any strides, of float32 or of float64, which then holds the same values. A row depends
    on the seed and its number alone, not on how many threads there are or how many rows are filled: rows that are added
    to a table are filled by passing the part that holds them and the number of its ``first_row``, with None in place of
    positional vectors that stay as they are. ``threads`` = 0 uses one per core.
    """
    rows, dim = input_vectors.shape
    _check(name, dim, positional_vectors, positional_dim)
    u, d = INITIALIZERS[name](dim)
    if positional_vectors is not None:
        positional_vectors[...] = d(_generator(seed, _POSITIONS, 0), positional_vectors.shape)

    def fill(chunk: int) -> None:
        # The whole chunk is drawn even where a part of it is wanted: so that its rows are the same either way.
        begin, end = max(chunk * _CHUNK, first_row), min((chunk + 1) * _CHUNK, first_row + rows)
        target = input_vectors[begin - first_row : end - first_row]
        wanted = slice(begin - chunk * _CHUNK, end - chunk * _CHUNK)
        if u is None or positional_dim < dim:
            target[...] = _uniform(1 / dim)(_generator(seed, _FEATURES, chunk), (_CHUNK, dim))[wanted]
        if u is not None and positional_dim > 0:
            values = u(_generator(seed, _POSITIONAL_FEATURES, chunk), (_CHUNK, positional_dim))
            target[:, :positional_dim] = values[wanted]

    chunks = range(first_row // _CHUNK, -(-(first_row + rows) // _CHUNK)) if rows else range(0)
    for _ in map_in_order(fill, chunks, threads):
        pass


def sqrt_normal(dim: int) -> Initializer:
    """u, d ~ N^0.5(0, 1/3D^2): a product u d has the mean and the variance of a feature of the subword model."""
    sampler = _square_root_normal(_sigma(dim))
    return Initializer(sampler, sampler)


def sqrt_normal_as_run(dim: int) -> Initializer:
    """As the authors' code: u, d ~ N^0.5(0, sigma) where the text says N^0.5(0, sigma^2).

    Deviation: the root is taken twice, so that the standard deviation of a product is 0.043 rather than 0.0019 at
    D = 300. All that the paper measured was measured with this.
    """
    sampler = _square_root_normal(math.sqrt(_sigma(dim)))
    return Initializer(sampler, sampler)


def identity(dim: int) -> Initializer:
    """u ~ U(+-1/D), d = 1: training begins as the subword model does. Explodes for D > 600, says the paper."""
    return Initializer(None, _ones)


def vanilla(dim: int) -> Initializer:
    """u, d ~ U(+-1/D): products are so small, Var[u d] = 1/9D^4, that training hardly gets going."""
    return Initializer(None, _uniform(1 / dim))


def uniform(dim: int) -> Initializer:
    """u, d ~ U(+-3^(1/4)/D^(1/2)): a product has the same mean and variance as with sqrt_normal."""
    sampler = _uniform(math.sqrt(3 * _sigma(dim)))
    return Initializer(sampler, sampler)


INITIALIZERS: dict[str, Callable[[int], Initializer]] = {
    "sqrt_normal": sqrt_normal,
    "sqrt_normal_as_run": sqrt_normal_as_run,
    "identity": identity,
    "vanilla": vanilla,
    "uniform": uniform,
}

TERMS = 9  # k: the square-root normal distribution is an infinite product, cut off after the factors 0..k


def square_root_normal_variance(k: int = TERMS) -> float:
    """Var_k[u d] / sigma^2 of independent u, d ~ N^0.5(0, sigma^2) cut off after the factors 0..k; 1 in the limit.

    E[u] = 0, so Var[u d] = E[u^2]^2 and E[u^2] / sigma = prod_n E[e^(2 a_n)]. As E[e^(-t G)] = (1 + t)^(-1/2) for
    G ~ Gamma(1/2, 1), E[e^(2 a_n)]^2 = (1 + 1/max(1, n)) / (1 + 2/(2n + 1)).
    """
    if k < 0:
        raise ConfigError(f"k is the number of the last factor, at least 0, not {k}")
    return math.prod((1 + 1 / max(1, n)) / (1 + 2 / (2 * n + 1)) for n in range(k + 1))


# Rows that one generator draws: few enough that their temporaries (some 600 kB each at D' = 300) stay in the cache.
_CHUNK = 512

# The streams of random numbers that a seed stands for.
_FEATURES, _POSITIONAL_FEATURES, _POSITIONS = range(3)


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


def _generator(seed: int, stream: int, chunk: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(stream, chunk))))


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

    Drawing k + 1 Gamma variates for each value would cost 300 ns. But if E ~ Exp(1) and theta is a uniform angle, then
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
