"""Training with vectors in 16 bits: what is encoded is decoded, and learning is that of 32 bits but for noise."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import _kernel
from posvec.presets import MODELS as KINDS
from posvec.presets import PRESETS
from test_kernel import MODELS, Problem, busy_rows

UNIT, LEAST, MOST = 1 / 2048, -16, 32767 / 2048
OUTPUT_UNIT, LEAST_OUTPUT, MOST_OUTPUT = 1 / 8192, -4, 32767 / 8192


class Fixed16Problem(Problem):
    """Encoded, trained in 16 bits, decoded."""

    def __init__(self, **options):
        super().__init__(**{"dtype": np.float32, "dim": 48, **options})

    def trainer(self, cpu=""):
        self.codes = [encoded(self.input, UNIT), encoded(self.output, OUTPUT_UNIT)]
        head = _kernel.Fixed16Head(*self.codes, self.positional, *self.word_rows(), self.dim)
        return _kernel.Fixed16Trainer([head], self.keep, self.alias_probability, self.alias, self.kernel_options(), cpu)

    def train(self, lr=0.1, seed=7, cpu=""):
        result = super().train(lr, seed, cpu)
        _kernel.decode_fixed16(self.codes[0], UNIT, self.input)
        _kernel.decode_fixed16(self.codes[1], OUTPUT_UNIT, self.output)
        return result


class Float32Problem(Problem):
    def __init__(self, **options):
        super().__init__(**{"dtype": np.float32, "dim": 48, **options})


def encoded(table, unit):
    memory = np.zeros(table.size + 32, np.int16)
    start = -memory.ctypes.data % 64 // 2
    codes = memory[start : start + table.size].reshape(table.shape)
    _kernel.encode_fixed16(table, unit, codes)
    return codes


@pytest.mark.parametrize("dim", [16, 48, 300])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(
    ("unit", "least", "most"), [(UNIT, LEAST, MOST), (OUTPUT_UNIT, LEAST_OUTPUT, MOST_OUTPUT)], ids=["input", "output"]
)
def test_encoding_rounds_features_to_units(unit, least, most, in_place, dim):
    table = Float32Problem(dim=dim).input
    table[:, :dim] *= 10
    table[0, dim - 1], table[1, dim - 1] = 99, -99
    expected = np.clip(table, least, most)
    codes = table.reshape(-1).view(np.int16)[: table.size].reshape(table.shape) if in_place else encoded(table, unit)
    _kernel.encode_fixed16(table, unit, codes)
    _kernel.decode_fixed16(codes, unit, table)
    np.testing.assert_allclose(table, expected, atol=unit / 2, rtol=0)
    before = table.copy()
    _kernel.encode_fixed16(table, unit, codes)
    _kernel.decode_fixed16(codes, unit, table)
    np.testing.assert_array_equal(table, before)


@pytest.mark.parametrize("words", [600, 10_000])
@pytest.mark.parametrize("model", ["subword", "constrained"])
def test_a_thread_that_works_on_copies_of_busy_rows_learns_what_it_would_without(model, words):
    alone, copying = (busy_rows(Fixed16Problem(**MODELS[model], words=words, threads=number)) for number in (1, 2))
    alone.train()
    copying.train()
    np.testing.assert_allclose(copying.input, alone.input, atol=UNIT, rtol=0)
    assert np.mean(copying.input == alone.input) > 0.99
    np.testing.assert_allclose(copying.output, alone.output, atol=OUTPUT_UNIT, rtol=0)
    assert np.mean(copying.output == alone.output) > 0.99


@pytest.mark.parametrize("model", MODELS)
def test_on_average_steps_are_those_of_float32_rows(model):
    lr, runs = 0.002, 400  # steps of well under a unit, drawn anew in every run
    means = []
    for kind in (Fixed16Problem, Float32Problem):
        problem = kind(**MODELS[model], seed=2)
        problem.input[:] = np.round(problem.input / UNIT) * UNIT
        problem.output[:] = np.round(problem.output / OUTPUT_UNIT) * OUTPUT_UNIT
        start = [problem.input.copy(), problem.output.copy(), problem.positional.copy()]
        mean = [np.zeros_like(problem.input), np.zeros_like(problem.output)]
        for seed in range(runs):
            problem.input[:], problem.output[:], problem.positional[:] = start
            problem.train(lr, seed=seed)
            mean[0] += (problem.input - start[0]) / runs
            mean[1] += (problem.output - start[1]) / runs
        means.append(mean)
    for fixed16, float32, unit in zip(*means, (UNIT, OUTPUT_UNIT), strict=True):
        assert np.abs(float32).max() > unit / 2
        error = fixed16 - float32
        assert np.abs(error.mean()) < 0.005 * unit
        assert np.sqrt((error**2).mean()) < 4 * unit / np.sqrt(runs)
        assert (fixed16 * float32).sum() / (float32**2).sum() == pytest.approx(
            1, abs=0.003
        )  # neither too long nor too short


@pytest.mark.parametrize("level", _kernel.cpu_levels())
@pytest.mark.parametrize("dim", [1, 40, 300, 2000])
@pytest.mark.parametrize("negatives", [1, 5, 10, 11, 30])
def test_the_loss_is_that_of_float32_rows(negatives, dim, level):
    losses = []
    for kind in (Fixed16Problem, Float32Problem):
        problem = kind(dim=dim, positional_dim=0, negatives=negatives)
        problem.input[:] = np.round(problem.input / UNIT) * UNIT
        problem.output[:] = np.round(problem.output / OUTPUT_UNIT) * OUTPUT_UNIT
        _, masked_words, loss = problem.train(lr=0, cpu=level)
        losses.append(loss / masked_words)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("level", _kernel.cpu_levels())
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_and_steps_of_the_largest_features_do_not_wrap_around(level, sign):
    outcomes = []
    for kind in (Fixed16Problem, Float32Problem):
        problem = kind(dim=2000, positional_dim=0, negatives=30)
        problem.input[:], problem.output[:] = 20 * UNIT, sign * MOST_OUTPUT  # scores of +-78
        before = problem.input.copy()
        _, masked_words, loss = problem.train(lr=1e-4, cpu=level)
        outcomes.append((loss / masked_words, (problem.input - before).sum()))
    assert outcomes[0] == pytest.approx(outcomes[1], rel=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_fixed16_rows_learn_what_float32_rows_do(model):
    fixed16, float32 = Fixed16Problem(**MODELS[model]), Float32Problem(**MODELS[model])
    before = float32.input.copy(), float32.output.copy()
    fixed16.train()
    float32.train()
    difference, change = np.abs(fixed16.input - float32.input), np.abs(float32.input - before[0])
    assert difference.mean() < change.mean() / 10
    assert difference.max() < 60 * UNIT
    difference, change = np.abs(fixed16.output - float32.output), np.abs(float32.output - before[1])
    assert difference.mean() < change.mean() / 50
    assert difference.max() < 30 * OUTPUT_UNIT


def test_roundings_of_a_words_rows_add_up_to_its_step():
    """What its rows moved together is closer to the step than the roundings of each would be by themselves."""
    problems = []
    for kind in (Fixed16Problem, Float32Problem):
        problem = kind(positional_dim=0, words=100, seed=4)
        problem.rows = [np.arange(4) + 4 * w for w in range(100)]  # four of its own each
        problem.input = problem.table(400)
        problem.input[:] = 0
        problem.output[:] = np.round(problem.output / OUTPUT_UNIT) * OUTPUT_UNIT
        problem.ids, problem.lines = np.arange(100, dtype=np.uint32), np.array([0, 100], np.uint64)
        problem.keep[:] = 1
        problem.train(lr=0.05)
        problems.append(problem.input.reshape(100, 4, -1) / UNIT)
    fixed16, float32 = problems
    of_rows, of_words = fixed16 - float32, (fixed16 - float32).sum(axis=1)
    assert np.abs(of_rows).max() <= 1.4  # one for the step, the rest for output vectors, which are rounded, too
    assert np.abs(of_words).max() <= 2.5
    assert of_words.std() < 1.2 * of_rows.std() < 0.6


def test_learning_rate_zero_moves_nothing():
    problem = Fixed16Problem()
    problem.train(lr=0)
    before = problem.input.copy(), problem.output.copy()
    problem.train(lr=0, seed=8)
    np.testing.assert_array_equal(problem.input, before[0])
    np.testing.assert_array_equal(problem.output, before[1])


def test_features_stay_within_their_bounds():
    problem = Fixed16Problem(positional_dim=0)
    problem.input[:, :24], problem.input[:, 24:40] = LEAST, MOST
    problem.output[:] = 5
    problem.train(lr=10)
    assert (problem.input.min(), problem.input.max()) == (LEAST, MOST)
    assert (problem.output.min(), problem.output.max()) == (LEAST_OUTPUT, MOST_OUTPUT)
    reached = problem.input.copy(), problem.output.copy()
    problem.trainer()  # encodes them
    _kernel.decode_fixed16(problem.codes[0], UNIT, problem.input)
    _kernel.decode_fixed16(problem.codes[1], OUTPUT_UNIT, problem.output)
    np.testing.assert_array_equal(problem.input, reached[0])  # or a checkpoint would change what is learnt
    np.testing.assert_array_equal(problem.output, reached[1])


@pytest.mark.parametrize("level", _kernel.cpu_levels())
@pytest.mark.parametrize("model", MODELS)
def test_all_cpu_levels_round_alike(model, level):
    problem, base = Fixed16Problem(**MODELS[model]), Fixed16Problem(**MODELS[model])
    problem.train(cpu=level)
    base.train(cpu=_kernel.cpu_levels()[0])
    for ours, theirs, unit in ((problem.input, base.input, UNIT), (problem.output, base.output, OUTPUT_UNIT)):
        differences = np.abs(ours - theirs) / unit
        assert differences.max() <= 3
        assert (differences < 0.5).mean() > 0.93


def test_units_and_bounds_are_those_of_the_module():
    assert (_kernel.INPUT_UNIT, _kernel.OUTPUT_UNIT) == (UNIT, OUTPUT_UNIT)
    assert (_kernel.INPUT_BOUND, _kernel.OUTPUT_BOUND) == (MOST, MOST_OUTPUT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_point_tables_are_refused(dtype):
    problem = Problem(dtype=dtype)
    with pytest.raises(TypeError, match="incompatible"):
        _kernel.Fixed16Head(problem.input, problem.output, problem.positional, *problem.word_rows(), problem.dim)


LINES = [[f"w{(3 * i + k) % 40}" for k in range(12)] for i in range(400)]
SETTINGS = {"dim": 32, "min_count": 1, "sample": 1, "buckets": 500, "threads": 1, "epochs": 2}


def tables_of(model):
    return [np.array(model.input_vectors), np.array(model.output_vectors)]


class Reader:
    """Reads the vectors of a model at some moment of its training."""

    def __init__(self, moment):
        self.moment, self.seen = moment, []

    def on_chunk(self, progress):
        self.look("block")

    def on_epoch(self, progress):
        self.look("epoch")

    def look(self, moment):
        if moment == self.moment:
            self.seen.append(tables_of(self.model))


def train_watched(moment, reader=None, **settings):
    from posvec.corpus.sources import open_corpus
    from posvec.training.pipeline import prepare, train_prepared

    config = posvec.make_config("subword", **{**SETTINGS, **settings})
    reader = reader or Reader(moment)
    with open_corpus(LINES, config.text) as corpus:
        reader.model, *prepared = prepare(corpus, config)
        train_prepared(reader.model, *prepared, callbacks=[reader])
    return reader


@pytest.mark.parametrize("precision", ["fixed16", "float32"])
@pytest.mark.parametrize("moment", ["block", "epoch"])
def test_vectors_can_be_read_at_any_time(moment, precision):
    reader = train_watched(moment, precision=precision)
    assert len(reader.seen) >= 2
    for seen in reader.seen:
        for table, last in zip(seen, tables_of(reader.model), strict=True):
            assert table.shape == last.shape
            assert np.abs(table).max() > 0
    for table, last in zip(reader.seen[-1], tables_of(reader.model), strict=True):
        assert np.corrcoef(table.ravel(), last.ravel())[0, 1] > 0.98
    assert reader.model.input_vectors is reader.model.input_vectors  # no copies any more
    assert reader.model.output_vectors is reader.model.output_vectors


def test_a_model_is_whole_after_its_training_has_failed():
    class Fails(Reader):
        def look(self, moment):
            raise RuntimeError("on purpose")

    reader = Fails("block")
    with pytest.raises(RuntimeError, match="on purpose"):
        train_watched("block", reader)
    assert reader.model.input_vectors is reader.model.input_vectors
    units = reader.model.input_vectors / UNIT
    np.testing.assert_array_equal(units, np.round(units))
    assert 0 < np.abs(units).max() < MOST / UNIT


@pytest.mark.parametrize("kind", ["general", "subword", "constrained", "positional"])
def test_both_precisions_train_every_model(kind):
    losses = [
        posvec.train(LINES, kind, precision=precision, **SETTINGS).report.loss for precision in ("float32", "fixed16")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=0.04, abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_trained_in_16_bits_unless_32_bits_are_asked_for(kind):
    for settings, in_16_bits in (({}, True), ({"precision": "float32"}, False)):
        model = posvec.train(LINES, kind, **settings, **SETTINGS)
        for vectors, unit in ((model.input_vectors, UNIT), (model.output_vectors, OUTPUT_UNIT)):
            assert np.array_equal(vectors / unit, np.round(vectors / unit)) == in_16_bits


def test_presets_that_follow_others_keep_32_bits():
    stored = {preset: posvec.make_config("subword", preset).training.precision for preset in PRESETS}
    assert stored == {
        "posvec": "fixed16", "small": "fixed16", "masked": "fixed16",
        "paper": "float32", "as-run": "float32", "fasttext": "float32",
        "gensim": "float32",
    }  # fmt: skip
