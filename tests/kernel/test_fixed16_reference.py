"""The fixed-point step of the kernel equals its integer reference bit for bit, at every CPU level."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec import _kernel
from posvec.training import reference_fixed16 as fixed16
from test_fixed16 import Fixed16Problem
from test_kernel import MODELS, changed_options

LEVELS = _kernel.cpu_levels()
MANY = settings(max_examples=150, deadline=None)
UNITS = {"input": fixed16.INPUT_UNIT, "output": fixed16.OUTPUT_UNIT}


def arithmetic_of(level):
    a = 1 + 2**-12  # a a - (1 + 2^-11) is 2^-24, which is lost where the product is rounded by itself
    fused = _kernel.fixed16_multiply_add(a, a, -1 - 2**-11, level) != 0
    return fixed16.Arithmetic(fused, _kernel.fixed16_lanes(level))


def aligned(values, dtype):
    values = np.asarray(values, dtype)
    memory = np.zeros(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + values.nbytes].view(dtype).reshape(values.shape)
    array[...] = values
    return array


def padded(values, size):
    return np.pad(values, [(0, 0)] * (np.ndim(values) - 1) + [(0, size - np.shape(values)[-1])])


def padded_size(dim):
    return -(-dim // 16) * 16


def in_memory(rows):
    return aligned(fixed16.exchange_quarters(rows), np.int16)


def from_memory(rows):
    return fixed16.exchange_quarters(rows).astype(np.int64)


def random_rows(rng, count, dim, kind):
    """Rows of small, large, extreme or arbitrary numbers."""
    if kind == "bounds":
        rows = rng.choice([-32768, -32767, -1, 0, 1, 32766, 32767], (count, dim))
    else:
        most = {"small": 800, "large": 32767}[kind]
        rows = rng.integers(-most, most + 1, (count, dim))
    return padded(rows, padded_size(dim))


ROW_KINDS = st.sampled_from(["small", "large", "bounds"])
DIMS = st.one_of(st.integers(1, 80), st.integers(1, 700))
SEEDS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("level", LEVELS)
@MANY
@given(
    seed=SEEDS, dim=DIMS, count=st.integers(1, 23), distinct=st.integers(1, 23), kind=ROW_KINDS,
    context_scale=st.integers(-100, 100), step_scale=st.integers(-90, 10), equal=st.booleans(),
)  # fmt: skip
def test_output_rows(level, seed, dim, count, distinct, kind, context_scale, step_scale, equal):
    rng, size, arithmetic = np.random.default_rng(seed), padded_size(dim), arithmetic_of(level)
    table = random_rows(rng, distinct, dim, kind)
    rows = rng.integers(0, distinct, count).astype(np.uint32)  # a row may be there several times
    context = padded((np.ones(dim) if equal else rng.normal(0, 1, dim)) * 2.0**context_scale, size).astype(np.float32)
    sizes = (np.ones(count) if equal else rng.normal(0, 1, count)) * 2.0**step_scale
    sizes = padded(sizes, padded_size(count)).astype(np.float32)
    error = padded(rng.normal(0, 0.1, dim), size).astype(np.float32)

    memory, scores, error_here = in_memory(table), aligned(np.zeros(len(sizes)), np.float32), aligned(error, np.float32)
    numbers, weights, moves = (
        aligned(np.zeros(size), np.int16),
        *(aligned(np.zeros(len(sizes)), np.int32) for _ in "wm"),
    )
    _kernel.fixed16_train_outputs(
        memory, rows, aligned(context, np.float32), aligned(sizes, np.float32), seed, scores, error_here, numbers,
        weights, moves, level,
    )  # fmt: skip

    quantized = fixed16.quantize_context(context, arithmetic)
    np.testing.assert_array_equal(from_memory(numbers), quantized.numbers)
    np.testing.assert_array_equal(scores[:count], fixed16.score(quantized, table[rows], arithmetic))
    steps = fixed16.quantize_steps(sizes, quantized.quantum, arithmetic)
    np.testing.assert_array_equal(weights, steps.weights)
    np.testing.assert_array_equal(moves, steps.moves)
    random = fixed16.RandomBits(seed)
    error = fixed16.update_outputs(table, rows, quantized, steps, error, random, arithmetic)
    np.testing.assert_array_equal(error_here, error)
    np.testing.assert_array_equal(from_memory(memory), table)
    assert not table[:, dim:].any()


@pytest.mark.parametrize("level", LEVELS)
@MANY
@given(seed=SEEDS, dim=DIMS, count=st.integers(1, 30), distinct=st.integers(1, 30), kind=ROW_KINDS)
def test_sums_of_input_rows(level, seed, dim, count, distinct, kind):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, distinct, dim, kind)
    rows = rng.integers(0, distinct, count).astype(np.uint32)
    total = aligned(rng.normal(0, 1, table.shape[1]), np.float32)  # whatever was there
    _kernel.fixed16_sum_inputs(in_memory(table), rows, total, level)
    np.testing.assert_array_equal(total, fixed16.sum_inputs(table, rows))
    np.testing.assert_array_equal(total, table[rows].sum(0) / 2048)


@pytest.mark.parametrize("level", LEVELS)
@MANY
@given(
    seed=SEEDS, dim=DIMS, count=st.integers(1, 23), distinct=st.integers(1, 23), kind=ROW_KINDS,
    scale=st.integers(-30, 10),
)  # fmt: skip
def test_updates_of_input_rows(level, seed, dim, count, distinct, kind, scale):
    rng = np.random.default_rng(seed)
    table = random_rows(rng, distinct, dim, kind)
    size, rows = table.shape[1], rng.integers(0, distinct, count).astype(np.uint32)
    before = fixed16.sum_inputs(table, rows)
    total = before + padded(rng.normal(0, 2.0**scale, dim), size).astype(np.float32)
    memory, steps = in_memory(table), aligned(np.zeros((fixed16.ROUNDINGS, size)), np.int16)
    _kernel.fixed16_update_inputs(
        memory, rows, aligned(total, np.float32), aligned(before, np.float32), seed, steps, level
    )
    np.testing.assert_array_equal(
        from_memory(steps), fixed16.update_inputs(table, rows, total, before, fixed16.RandomBits(seed))
    )
    np.testing.assert_array_equal(from_memory(memory), table)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("context_scale", "step_scale", "shift"), [(3, 2, 0), (0, 0, 1), (-5, -8, 14), (-60, -60, 14)])
def test_the_shift_is_the_largest_that_fits_within_its_limits(level, context_scale, step_scale, shift):
    arithmetic = arithmetic_of(level)
    context = fixed16.quantize_context(np.full(16, 2.0**context_scale, np.float32), arithmetic)
    steps = fixed16.quantize_steps(np.full(16, 2.0**step_scale, np.float32), context.quantum, arithmetic)
    assert steps.shift == shift


@MANY
@given(seed=SEEDS, dim=DIMS, scale=st.integers(-14, 10), table=st.sampled_from(["input", "output"]))
def test_encoding(seed, dim, scale, table):
    unit, rng = UNITS[table], np.random.default_rng(seed)
    vectors = padded(rng.normal(0, 2.0**scale, (20, dim)), padded_size(dim)).astype(np.float32)
    vectors[0, :dim] = (rng.integers(-9, 9, dim) + 0.5) * unit  # ties
    codes, decoded = np.empty(vectors.shape, np.int16), np.empty_like(vectors)
    _kernel.encode_fixed16(vectors, unit, codes)
    np.testing.assert_array_equal(codes, fixed16.encode(vectors, unit))
    _kernel.decode_fixed16(codes, unit, decoded)
    np.testing.assert_array_equal(decoded, fixed16.decode(codes, unit))


@pytest.mark.parametrize("level", LEVELS)
@MANY
@given(
    st.lists(st.floats(-(2**30), 2**30, width=32, allow_subnormal=False), min_size=3, max_size=3), st.integers(0, 60)
)
def test_fused_multiply_add_rounds_the_exact_result_once(level, numbers, shift):
    a, b, c = map(np.float32, numbers)
    c = np.float32(c * 2.0**-shift)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    result = fixed16.fused_multiply_add(a, b, c)
    error = abs(Fraction(float(result)) - exact)
    for neighbour in (np.nextafter(result, np.float32(np.inf)), np.nextafter(result, np.float32(-np.inf))):
        assert error <= abs(Fraction(float(neighbour)) - exact)
    expected = arithmetic_of(level).multiply_add(a, b, c)
    assert _kernel.fixed16_multiply_add(float(a), float(b), float(c), level) == expected


def tables_of(problem):
    units = [
        from_memory(fixed16.encode(table, unit)).reshape(table.shape)
        for table, unit in ((problem.input, fixed16.INPUT_UNIT), (problem.output, fixed16.OUTPUT_UNIT))
    ]
    return fixed16.Tables(*units, problem.positional.copy(), [list(map(int, rows)) for rows in problem.rows])


def assert_a_chunk_is_trained_alike(problem, level, lr=0.1, seed=7):
    draws, expected = problem.draws(seed), tables_of(problem)
    fixed16.train_chunk(expected, draws, seed, lr, problem.reference_options(), arithmetic_of(level))
    problem.train(lr, seed, level)
    np.testing.assert_array_equal(problem.output, expected.output * fixed16.OUTPUT_UNIT)
    np.testing.assert_array_equal(problem.positional, expected.positional)
    np.testing.assert_array_equal(problem.input, expected.input * fixed16.INPUT_UNIT)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS)
def test_one_masked_word_and_its_context(model, level):
    problem = Fixed16Problem(**MODELS[model])
    problem.ids, problem.lines = np.array([11, 12], np.uint32), np.array([0, 2], np.uint64)
    assert_a_chunk_is_trained_alike(problem, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS)
def test_a_whole_chunk(model, level):
    assert_a_chunk_is_trained_alike(Fixed16Problem(**MODELS[model]), level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("options", list(changed_options())[1:], ids=str)
@pytest.mark.parametrize("model", ["subword", "constrained"])
def test_a_whole_chunk_with_other_options(model, options, level):
    assert_a_chunk_is_trained_alike(Fixed16Problem(**MODELS[model], **options), level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dim", [1, 33, 300])
@pytest.mark.parametrize("negatives", [1, 10, 11, 30])
@pytest.mark.parametrize("lr", [1e-4, 0.2])
def test_a_whole_chunk_of_any_size(dim, negatives, lr, level):
    problem = Fixed16Problem(dim=dim, positional_dim=dim // 3, negatives=negatives)
    problem.output *= 3
    assert_a_chunk_is_trained_alike(problem, level, lr, seed=2**64 - 1)
