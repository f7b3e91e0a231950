"""Training with input vectors in 16 bits: what is packed comes back, and learning is that of 32 bits but for noise."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import _kernel
from posvec.stretches import kernel_options
from test_kernel import MODELS, Problem, busy_rows

UNIT, LEAST, MOST = 1 / 2048, -16, 32767 / 2048


class NarrowProblem(Problem):
    """As a crew trains it: packed, trained, unpacked."""

    narrow = True

    def __init__(self, **options):
        super().__init__(**{"dtype": np.float32, "dim": 48, **options})

    def kernel_options(self):
        options = super().kernel_options()
        options.narrow = self.narrow
        return options

    def train(self, lr=0.1, seed=7, cpu=""):
        trainer = self.trainer(cpu)
        trainer.pack()
        done = trainer.train(_kernel.Workspace(), self.ids, self.lines, 0, len(self.lines) - 1, lr, seed)
        trainer.unpack()
        return done


class WideProblem(NarrowProblem):
    narrow = False


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dim", [16, 48, 300])
def test_packing_rounds_features_to_units(model, dim):
    share = MODELS[model]["positional_dim"] / 40
    problem = NarrowProblem(**{**MODELS[model], "dim": dim, "positional_dim": int(share * dim)})
    problem.input[:, :dim] *= 10
    problem.input[0, dim - 1], problem.input[1, dim - 1] = 99, -99
    before = problem.input.copy()
    trainer = problem.trainer()
    trainer.pack()
    trainer.unpack()
    np.testing.assert_allclose(problem.input, np.clip(before, LEAST, MOST), atol=UNIT / 2, rtol=0)
    packed_once = problem.input.copy()
    trainer.pack()
    trainer.unpack()
    np.testing.assert_array_equal(problem.input, packed_once)


@pytest.mark.parametrize("words", [600, 10_000])
@pytest.mark.parametrize("model", ["subword", "constrained"])
def test_a_thread_that_works_on_copies_of_busy_rows_learns_what_it_would_without(model, words):
    alone, copying = (busy_rows(NarrowProblem(**MODELS[model], words=words, threads=number)) for number in (1, 2))
    alone.train()
    copying.train()
    np.testing.assert_allclose(copying.input, alone.input, atol=UNIT, rtol=0)
    assert np.mean(copying.input == alone.input) > 0.99
    np.testing.assert_allclose(copying.output, alone.output, atol=1e-4, rtol=0)


@pytest.mark.parametrize("model", MODELS)
def test_on_average_steps_are_those_of_wide_rows(model):
    lr, runs = 0.002, 400  # steps of well under a unit, drawn anew in every run
    means = []
    for kind in (NarrowProblem, WideProblem):
        problem = kind(**MODELS[model], seed=2)
        problem.input[:] = np.round(problem.input / UNIT) * UNIT
        start = [problem.input.copy(), problem.output.copy(), problem.positional.copy()]
        mean = np.zeros_like(problem.input)
        for seed in range(runs):
            problem.input[:], problem.output[:], problem.positional[:] = start
            problem.train(lr, seed=seed)
            mean += (problem.input - start[0]) / runs
        means.append(mean)
    assert np.abs(means[1]).max() > UNIT / 2
    error = means[0] - means[1]
    assert np.abs(error.mean()) < 0.005 * UNIT
    assert np.sqrt((error**2).mean()) < 4 * UNIT / np.sqrt(runs)


@pytest.mark.parametrize("model", MODELS)
def test_narrow_rows_learn_what_wide_ones_do(model):
    narrow, wide = NarrowProblem(**MODELS[model]), WideProblem(**MODELS[model])
    before = wide.input.copy()
    narrow.train()
    wide.train()
    difference, change = np.abs(narrow.input - wide.input), np.abs(wide.input - before)
    assert difference.mean() < change.mean() / 10
    assert difference.max() < 40 * UNIT


def test_roundings_of_a_words_rows_add_up_to_its_step():
    """What its rows moved together is closer to the step than the roundings of each would be by themselves."""
    problems = []
    for kind in (NarrowProblem, WideProblem):
        problem = kind(positional_dim=0, words=100, seed=4)
        problem.rows = [np.arange(4) + 4 * w for w in range(100)]  # four of its own each
        problem.input = problem.table(400)
        problem.input[:] = 0
        problem.ids, problem.lines = np.arange(100, dtype=np.uint32), np.array([0, 100], np.uint64)
        problem.keep[:] = 1
        problem.train(lr=0.05)
        problems.append(problem.input.reshape(100, 4, -1) / UNIT)
    narrow, wide = problems
    of_rows, of_words = narrow - wide, (narrow - wide).sum(axis=1)
    assert np.abs(of_rows).max() <= 1.01
    assert np.abs(of_words).max() <= 1.01
    assert of_words.std() < 1.2 * of_rows.std() < 0.6


def test_learning_rate_zero_moves_nothing():
    problem = NarrowProblem()
    problem.train(lr=0)
    before = problem.input.copy()
    problem.train(lr=0, seed=8)
    np.testing.assert_array_equal(problem.input, before)


def test_features_stay_within_their_bounds():
    problem = NarrowProblem(positional_dim=0)
    problem.input[:, :24], problem.input[:, 24:40] = LEAST, MOST
    problem.output[:] = 5
    problem.train(lr=10)
    assert (problem.input.min(), problem.input.max()) == (LEAST, MOST)
    reached = problem.input.copy()
    trainer = problem.trainer()
    trainer.pack()
    trainer.unpack()
    np.testing.assert_array_equal(problem.input, reached)  # or a checkpoint would change what is learnt


@pytest.mark.parametrize("level", _kernel.cpu_levels())
@pytest.mark.parametrize("model", MODELS)
def test_all_cpu_levels_round_alike(model, level):
    problem, base = NarrowProblem(**MODELS[model]), NarrowProblem(**MODELS[model])
    problem.train(cpu=level)
    base.train(cpu=_kernel.cpu_levels()[0])
    differences = np.abs(problem.input - base.input) / UNIT
    assert differences.max() <= 3
    assert (differences < 0.5).mean() > 0.97


def test_models_whose_features_are_all_positional_are_never_narrow():
    assert {kind: kernel_options(posvec.make_config(kind)).narrow for kind in posvec.config.MODELS} == {
        "general": True, "subword": True, "positional": False, "constrained": True
    }  # fmt: skip


def test_doubles_are_never_narrow():
    with pytest.raises(ValueError, match="float32"):
        NarrowProblem(dtype=np.float64).trainer()


LINES = [[f"w{(3 * i + k) % 40}" for k in range(12)] for i in range(400)]
SETTINGS = {"dim": 32, "min_count": 1, "sample": 1, "buckets": 500, "threads": 1, "epochs": 2}


class Reader:
    """Reads the input vectors of a model at some moment of its training."""

    def __init__(self, moment):
        self.moment, self.seen = moment, []

    def on_block(self, progress):
        self.look("block")

    def on_epoch(self, progress):
        self.look("epoch")

    def look(self, moment):
        if moment == self.moment:
            self.seen.append(np.array(self.model.input_vectors))


def train_watched(moment, reader=None, **settings):
    from posvec.corpus import open_corpus
    from posvec.pipeline import prepare, train_prepared

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
    last = reader.model.input_vectors
    for seen in reader.seen:
        assert seen.shape == last.shape
        assert np.abs(seen).max() > 0
    assert np.corrcoef(reader.seen[-1].ravel(), last.ravel())[0, 1] > 0.98
    assert reader.model.input_vectors is last  # no copies any more


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
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_presets_that_follow_others_keep_32_bits():
    stored = {preset: posvec.make_config("subword", preset).training.precision for preset in posvec.config.PRESETS}
    assert stored == {
        "posvec": "fixed16", "small": "fixed16", "paper": "float32", "as-run": "float32", "fasttext": "float32"
    }  # fmt: skip
