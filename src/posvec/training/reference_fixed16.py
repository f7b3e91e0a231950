"""The training step on 16-bit rows (``precision=fixed16``) in NumPy, exact to the bit: the oracle of the kernel.

Fixed point. A feature of a row is a 16-bit integer times a unit, 2^-11 in the input table and 2^-13 in the output
table; v and x below are rows of such integers. For a masked word with context vector u_C and step sizes g (both
float32; an output row has the step size g = lr (y - sigma(s))):

    q = u_C / quantum              the context as integers, |q| <= 2^14; the quantum follows from the largest feature
    s = quantum unit sum_j q_j v_j               the score of an output row; the sum is of integers
    w = g / weight                 step sizes as integers, |w| <= 2^12; the weight follows from the largest step size
    e += weight unit sum_v w v                   the error of the context; the sum over rows is of integers
    m = g quantum 2^(15 + shift) / unit          moves as integers, |m| <= 32767; of 0 .. 14 the largest shift that fits
    v += floor((q m / 2^15 + r) / 2^shift)       r is drawn from 0 .. 2^shift - 1, so that v moves by g u_C on average

The input rows x of a word are added up when the first window that holds it comes. When the last one has gone, each row
gets the same accumulated update. An update may be smaller than a unit; so that it is not lost, a + f units, 0 <= f < 1,
are rounded up to a + 1 where a random threshold is below f. A word's rows take turns with four roundings, whose
thresholds are a quarter apart: their sum is closer to the sum of the updates than four independent roundings would be.
No addition wraps around: rows saturate at -32768 and 32767, all other sums of integers fit 32 bits by the bounds above.

Float32 operations differ between CPU levels in two ways (:class:`Arithmetic`). Where a product is added to something,
v2 rounds both the product and the sum, whereas v3 and v4 have a fused multiply-add, which rounds once. And the integer
sums of a score are converted to float32 lane by lane; v2 has 4 lanes, the others have 8. Everything else, every random
number included, is the same at all levels. :func:`fused_multiply_add` is exact, and so is all of this module.

Arrays of features have D numbers, padded with zeros to a multiple of 16. :func:`encode` and :func:`decode` convert rows
to and from their layout in memory; everywhere else the features are in their natural order, as 64-bit integers.
:mod:`posvec.training.reference` is the same step in plain floats and explains the windows and the cache of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.system.arrays import FloatArray
from posvec.training.reference import MICRO_BATCH, Draws, StepOptions, position_row

IntArray = NDArray[np.int64]
f32 = np.float32

INPUT_UNIT, OUTPUT_UNIT = f32(2**-11), f32(2**-13)
LEAST, MOST = -32768, 32767
PAD = 16  # features that are stored and drawn for together
ROUNDINGS = 4  # of a word's accumulated update
INPUTS_AT_ONCE, OUTPUTS_AT_ONCE = 8, 11  # rows that are added up as integers before the sum becomes a float
CONTEXT_PEAK, WEIGHT_PEAK, MOST_SHIFT = 2**14, 2**12, 14
TINY = f32(1e-20)  # prevents divisions by zero
ROUNDER = f32(
    1.5 * 2**23
)  # x + ROUNDER has no digits after the point: x is rounded to the nearest integer, ties to even
MERGE_EVERY = 24  # micro-batches for which a thread trains its own copy of the positional vectors

# ---- floats ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arithmetic:
    """What differs between builds of the kernel: whether a b + c is rounded once, and the lanes of 32-bit sums."""

    fused: bool
    lanes: int

    def multiply_add(self, a: Any, b: Any, c: Any) -> FloatArray:
        a, b, c = f32(a), f32(b), f32(c)
        return fused_multiply_add(a, b, c) if self.fused else a * b + c

    def nearest(self, x: FloatArray, factor: f32) -> IntArray:
        """x factor, rounded to integers."""
        return np.asarray(self.multiply_add(x, factor, ROUNDER) - ROUNDER).astype(np.int64)


def fused_multiply_add(a: Any, b: Any, c: Any) -> FloatArray:
    """a b + c of float32 numbers, rounded once.

    The product is exact in float64. The sum is rounded to odd: where it is not exact, the neighbour with the odd last
    digit is taken, so that the second rounding, to float32, cannot meet a tie that the first one has made.
    """
    product, c = np.asarray(a, np.float64) * np.asarray(b, np.float64), np.asarray(c, np.float64)
    total = np.asarray(product + c)
    back = total - product
    lost = (product - (total - back)) + (c - back)  # Knuth's two-sum: total + lost is exact
    even = total.view(np.int64) & 1 == 0
    odd = np.where((lost != 0) & even, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total)
    result: FloatArray = odd.astype(np.float32)
    return result


def exp(x: FloatArray, arithmetic: Arithmetic) -> FloatArray:
    """e^x = 2^n e^r, where |r| <= log(2) / 2, by a polynomial."""
    x = np.clip(x, f32(-60), f32(60))
    n = arithmetic.multiply_add(x, f32(1.44269504), ROUNDER) - ROUNDER
    r = arithmetic.multiply_add(-n, f32(float.fromhex("0x1.62ep-1")), x)
    r = arithmetic.multiply_add(-n, f32(float.fromhex("0x1.0bfbe8p-15")), r)
    power = np.full_like(x, f32(1) / f32(720))
    for divisor in (120, 24, 6, 2, 1, 1):
        power = arithmetic.multiply_add(power, r, f32(1) / f32(divisor))
    return np.ldexp(power, n.astype(np.int32))


# ---- rows in memory -------------------------------------------------------------------------------------------------

# Where each of 16 features lies: the second and the third quarter are exchanged. This is its own inverse.
LAYOUT = np.array([0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15])


def exchange_quarters(features: NDArray[Any]) -> NDArray[Any]:
    return features.reshape(*features.shape[:-1], -1, PAD)[..., LAYOUT].reshape(features.shape)


def encode(vectors: FloatArray, unit: f32) -> NDArray[np.int16]:
    """Rows as they lie in memory: features in units, rounded to the nearest integer, ties away from zero."""
    units = np.clip(vectors.astype(np.float32) / unit, f32(LEAST), f32(MOST))
    return exchange_quarters((units + np.copysign(f32(0.5), units)).astype(np.int16))


def decode(rows: NDArray[np.int16], unit: f32) -> FloatArray:
    return exchange_quarters(rows).astype(np.float32) * unit


# ---- random numbers -------------------------------------------------------------------------------------------------


def mix(x: int) -> int:
    """SplitMix64's mix of the bits of a counter."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    x = (x ^ x >> 27) * 0x94D049BB133111EB & (2**64 - 1)
    return x ^ x >> 31


class RandomBits:
    """Eight xorshift generators of 32 bits: 16 bits for each of the 16 features that lie together in memory."""

    def __init__(self, seed: int) -> None:
        counters = [(seed + (k + 1) * 0x9E3779B97F4A7C15) & (2**64 - 1) for k in range(PAD // 2)]
        self.state = np.array([mix(counter) >> 32 | 1 for counter in counters], np.uint32)

    def draw(self, size: int) -> IntArray:
        """A number in 0 .. 65535 for each feature of a row."""
        bits = np.empty((size // PAD, PAD // 2), np.uint32)
        for k in range(len(bits)):
            self.state ^= self.state << np.uint32(13)
            self.state ^= self.state >> np.uint32(17)
            self.state ^= self.state << np.uint32(5)
            bits[k] = self.state
        halves = np.stack([bits & np.uint32(0xFFFF), bits >> np.uint32(16)], axis=-1)
        return exchange_quarters(halves.reshape(size).astype(np.int64))


def saturated(units: IntArray) -> IntArray:
    return np.clip(units, LEAST, MOST)


# ---- input rows -----------------------------------------------------------------------------------------------------


def sum_inputs(table: IntArray, rows: Sequence[int]) -> FloatArray:
    """X, the sum of a word's rows."""
    total = np.zeros(table.shape[1], np.float32)
    for k in range(0, len(rows), INPUTS_AT_ONCE):
        total += table[rows[k : k + INPUTS_AT_ONCE]].sum(0).astype(np.float32) * INPUT_UNIT
    return total


def roundings(sum: FloatArray, before: FloatArray, weight: f32, random: RandomBits) -> IntArray:
    """Four roundings (4, size) of (sum - before) weight to integers."""
    parts = (sum - before) * (weight * (f32(2**16) / INPUT_UNIT))  # of 2^-16 units
    parts = np.clip(parts, f32(LEAST * 2**16), f32(MOST * 2**16)).astype(np.int64)
    units, fraction = parts >> 16, parts & 0xFFFF
    draws = random.draw(len(sum))
    thresholds = [(draws + k * 2**16 // ROUNDINGS + 2**15) & 0xFFFF for k in range(ROUNDINGS)]
    return np.stack([units + (fraction > threshold) for threshold in thresholds])


def update_inputs(
    table: IntArray, rows: Sequence[int], sum: FloatArray, before: FloatArray, random: RandomBits
) -> IntArray:
    """Move each row by (sum - before) / R, where R is the number of rows. Returns the four roundings of that."""
    steps = roundings(sum, before, f32(1) / f32(len(rows)), random)
    for k, row in enumerate(rows):
        table[row] = saturated(table[row] + steps[k % ROUNDINGS])
    return steps


# ---- output rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuantizedContext:
    numbers: IntArray  # q
    quantum: f32


@dataclass(frozen=True)
class QuantizedSteps:
    weights: IntArray  # w
    weight: f32
    moves: IntArray  # m
    shift: int


def quantize_context(context: FloatArray, arithmetic: Arithmetic) -> QuantizedContext:
    peak = np.abs(context).max() + TINY
    numbers = saturated(arithmetic.nearest(context, f32(CONTEXT_PEAK) / peak))
    return QuantizedContext(numbers, peak / f32(CONTEXT_PEAK))


def quantize_steps(step_sizes: FloatArray, quantum: f32, arithmetic: Arithmetic) -> QuantizedSteps:
    peak = np.abs(step_sizes).max() + TINY
    with np.errstate(divide="ignore", over="ignore", under="ignore"):  # of the smallest: infinity, or nearly
        shift = int(np.frexp(np.minimum(OUTPUT_UNIT / (peak * quantum), f32(1e38)))[1]) - 1  # floor(log2(...))
    shift = min(max(shift, 0), MOST_SHIFT)
    to_moves = quantum / OUTPUT_UNIT * f32(2 ** (15 + shift))
    moves = np.clip(step_sizes * to_moves, f32(-MOST), f32(MOST))
    return QuantizedSteps(
        arithmetic.nearest(step_sizes, f32(WEIGHT_PEAK) / peak), peak / f32(WEIGHT_PEAK),
        np.rint(moves).astype(np.int64), shift,
    )  # fmt: skip


def score(context: QuantizedContext, rows: IntArray, arithmetic: Arithmetic) -> FloatArray:
    """Scores of rows (count, size). q loses digits where otherwise a sum in a lane might not fit 32 bits."""
    bits = 14
    while bits > 1 and (rows.shape[1] // 4) << bits >= 2**16:
        bits -= 1
    dropped = 14 - bits
    q = (context.numbers + (1 << dropped >> 1)) >> dropped
    products = exchange_quarters(q * rows)  # a lane adds up pairs of neighbours in memory
    sums = products.reshape(len(rows), -1, arithmetic.lanes, 2).sum((1, 3))
    assert np.abs(sums).max() < 2**31
    total: FloatArray = sums.astype(np.float32)
    while total.shape[1] > 1:  # half of the lanes are added to the other half, until one is left
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    return total[:, 0] * (context.quantum * f32(1 << dropped) * OUTPUT_UNIT)


def update_outputs(
    table: IntArray,
    rows: Sequence[int],
    context: QuantizedContext,
    steps: QuantizedSteps,
    error: FloatArray,
    random: RandomBits,
    arithmetic: Arithmetic,
) -> FloatArray:
    """e += sum_v g v, and v += g u_C for each row, in groups of rows. Returns the new e."""
    for begin in range(0, len(rows), OUTPUTS_AT_ONCE):
        group = range(begin, min(begin + OUTPUTS_AT_ONCE, len(rows)))
        total = sum(steps.weights[k] * table[rows[k]] for k in group)
        error = arithmetic.multiply_add(total, steps.weight * OUTPUT_UNIT, error)
        draws = random.draw(table.shape[1]) & ((1 << steps.shift) - 1)
        for k in group:
            move = (context.numbers * steps.moves[k] + 2**14) >> 15
            table[rows[k]] = saturated(table[rows[k]] + ((move + draws) >> steps.shift))
    return error


def step_sizes(scores: FloatArray, lr: float, limit: float, arithmetic: Arithmetic) -> FloatArray:
    """g = lr (y - sigma(s)), none where the score is beyond the limit. The masked word's row comes first."""
    signs = np.where(np.arange(len(scores)) == 0, f32(-1), f32(1))
    odds = exp(scores * signs, arithmetic)  # of the wrong answer
    sizes = odds / (f32(1) + odds) * -f32(lr) * signs
    if limit > 0:
        sizes[np.abs(scores) > f32(limit)] = 0
    return sizes


# ---- a whole chunk --------------------------------------------------------------------------------------------------


@dataclass
class Tables:
    """Rows in units (rows, padded D), d (2c, D') in float32, updated in place; and the input rows of each word."""

    input: IntArray
    output: IntArray
    positional: FloatArray
    rows: Sequence[Sequence[int]]


@dataclass
class _CachedSum:
    """X, the sum of a word's rows, from the first window that holds the word to the last."""

    sum: FloatArray
    before: FloatArray
    count: f32  # R, its rows
    users: int = 0


@dataclass
class _Chunk:
    """Training of one chunk by one thread: the cached step of ``trainer.hpp``, operation by operation."""

    tables: Tables
    draws: Draws
    lr: float
    options: StepOptions
    random: RandomBits
    arithmetic: Arithmetic
    cache: dict[int, _CachedSum] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positional_dim = self.tables.positional.shape[1]
        self.size = self.tables.input.shape[1]
        self.positional = -(-positional_dim // PAD) * PAD  # features that are updated at once
        self.positions = np.ones((len(self.tables.positional), self.positional), np.float32)
        trained = self.options.train_positions and np.arange(self.positional) < positional_dim
        self.mask = np.where(trained, f32(1), f32(0)) * np.ones(self.positional, np.float32)

    def train(self) -> None:
        draws, positional_dim = self.draws, self.tables.positional.shape[1]
        loaded = evicted = 0
        starts = range(0, len(draws.word), MICRO_BATCH)
        for number, begin in enumerate(starts):
            if number % MERGE_EVERY == 0:
                self.positions[:, :positional_dim] = self.tables.positional
                before = self.tables.positional.copy()
            masked = range(begin, min(begin + MICRO_BATCH, len(draws.word)))
            while loaded <= max(draws.last[masked.start : masked.stop]):
                self.load_word(int(draws.word[loaded]))
                loaded += 1
            self.train_micro_batch(masked)
            while evicted < draws.needed[masked.stop]:
                self.evict_word(int(draws.word[evicted]))
                evicted += 1
            if self.options.train_positions and ((number + 1) % MERGE_EVERY == 0 or number + 1 == len(starts)):
                self.tables.positional += self.positions[:, :positional_dim] - before

    def load_word(self, word: int) -> None:
        if word not in self.cache:
            total = sum_inputs(self.tables.input, self.tables.rows[word])
            self.cache[word] = _CachedSum(total, total.copy(), f32(len(self.tables.rows[word])))
        self.cache[word].users += 1

    def evict_word(self, word: int) -> None:
        cached = self.cache[word]
        cached.users -= 1
        if cached.users == 0:
            update_inputs(self.tables.input, self.tables.rows[word], cached.sum, cached.before, self.random)
            del self.cache[word]

    def train_micro_batch(self, masked: range) -> None:
        draws = self.draws
        first, last = min(draws.first[masked.start : masked.stop]), max(draws.last[masked.start : masked.stop])
        sums = [self.cached(m).sum[self.positional :] for m in range(first, last + 1)]
        prefixes = [np.zeros(self.size - self.positional, np.float32)]
        for each in sums:
            prefixes.append(prefixes[-1] + each)
        errors = {t: np.zeros(self.size, np.float32) for t in masked}
        for t in masked:
            if not draws.context(t):
                continue
            plain = prefixes[draws.last[t] + 1 - first] - prefixes[draws.first[t] - first] - sums[t - first]
            for other in range(masked.start, t):  # what this micro-batch has done to the sums so far
                if count := self.shared_rows(t, other):
                    plain = self.arithmetic.multiply_add(errors[other][self.positional :], count, plain)
            weight = f32(1) / self.context_size(t)
            context = np.concatenate([self.positional_sum(t), plain]) * weight
            error = self.train_outputs(t, context, errors[t])
            errors[t] = error * weight if self.options.input_gradient == "exact" else error
            self.update_positional(t, errors[t])
        self.update_plain(masked, first, last, errors)

    def cached(self, m: int) -> _CachedSum:
        return self.cache[int(self.draws.word[m])]

    def shared_rows(self, t: int, other: int) -> f32:
        """Rows of the words that are context of both."""
        both = set(self.draws.context(t)) & set(self.draws.context(other))
        return f32(sum(self.cached(m).count for m in both))

    def context_size(self, t: int) -> f32:
        """N"""
        context = self.draws.context(t)
        return f32(len(context) if self.options.context_mean == "words" else sum(self.cached(m).count for m in context))

    def position(self, t: int, m: int) -> FloatArray:
        """d_p of context word m, padded with ones."""
        row: FloatArray = self.positions[
            position_row(int(self.draws.offset[m]) - int(self.draws.offset[t]), len(self.positions) // 2)
        ]
        return row

    def positional_sum(self, t: int) -> FloatArray:
        total = np.zeros(self.positional, np.float32)
        for m in self.draws.context(t):
            total = self.arithmetic.multiply_add(self.position(t, m), self.cached(m).sum[: self.positional], total)
        return total

    def train_outputs(self, t: int, context: FloatArray, error: FloatArray) -> FloatArray:
        word, table = int(self.draws.word[t]), self.tables.output
        rows = [word, *(int(negative) for negative in self.draws.negatives[t] if negative != word)]
        quantized = quantize_context(context, self.arithmetic)
        scores = score(quantized, table[rows], self.arithmetic)
        sizes = step_sizes(scores, self.lr, self.options.score_limit, self.arithmetic)
        steps = quantize_steps(sizes, quantized.quantum, self.arithmetic)
        return update_outputs(table, rows, quantized, steps, error, self.random, self.arithmetic)

    def update_positional(self, t: int, error: FloatArray) -> None:
        e = error[: self.positional]
        for m in self.draws.context(t):
            d, cached = self.position(t, m), self.cached(m)
            weight = f32(1) if self.options.positional_gradient == "summed" else f32(1) / cached.count
            old_d, old_x = d.copy(), cached.sum[: self.positional].copy()
            d[:] = self.arithmetic.multiply_add(old_x, e * self.mask * weight, old_d)
            cached.sum[: self.positional] = self.arithmetic.multiply_add(old_d, e * cached.count, old_x)

    def update_plain(self, masked: range, first: int, last: int, errors: dict[int, FloatArray]) -> None:
        """Every context word gets the errors of its masked words, by a running sum along the text."""
        total = np.zeros(self.size - self.positional, np.float32)
        for m in range(first, last + 1):
            for t in masked:
                if self.draws.first[t] == m:
                    total = total + errors[t][self.positional :]
                if self.draws.last[t] + 1 == m:
                    total = total - errors[t][self.positional :]
            x = self.cached(m).sum[self.positional :]
            own = total - errors[m][self.positional :] if m in masked else total
            x[:] = self.arithmetic.multiply_add(own, self.cached(m).count, x)


def train_chunk(
    tables: Tables, draws: Draws, seed: int, lr: float, options: StepOptions, arithmetic: Arithmetic
) -> None:
    """Train one chunk as one thread of the kernel does, which drew ``draws`` from the same seed."""
    _Chunk(tables, draws, lr, options, RandomBits(seed), arithmetic).train()
