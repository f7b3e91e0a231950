"""The compiled kernel against the NumPy reference, numerical gradients, and identities between the models."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from posvec import _kernel
from posvec.training import reference

OPTION_VALUES = {
    "context_mean": ("rows", "words"),
    "input_gradient": ("undivided", "exact"),
    "positional_gradient": ("averaged", "summed"),
    "train_positions": (True, False),
    "score_limit": (0.0, 0.5),
    "window_sampling": ("shrink", "fixed"),
    "positions": ("kept", "text"),
    "negative_reuse": (1, 3),
}
DEFAULTS = {name: values[0] for name, values in OPTION_VALUES.items()}


class Problem:
    """A small random model and text, the same for the kernel and for the reference."""

    def __init__(
        self, dim=40, positional_dim=20, window=4, words=30, subwords=True, dtype=np.float64, seed=0, **options
    ):
        self.rng = np.random.default_rng(seed)
        self.options = {**DEFAULTS, **options}
        self.dim, self.positional_dim, self.window, self.words, self.dtype = dim, positional_dim, window, words, dtype
        buckets = 40 if subwords else 0
        self.rows = [
            np.concatenate([[w], words + self.rng.integers(0, buckets, self.rng.integers(1, 6))])
            if buckets
            else np.array([w])
            for w in range(words)
        ]
        self.input = self.table(words + buckets)
        self.output = self.table(words)
        self.positional = self.rng.normal(1, 0.3, (2 * window, positional_dim)).astype(dtype)
        lengths = [1, 2, 9, 0, 25, 3, 70, 7]  # of lines
        self.lines = np.cumsum([0, *lengths]).astype(np.uint64)
        self.ids = self.rng.integers(0, words + 1, sum(lengths)).astype(np.uint32)  # id `words` is out of vocabulary
        self.keep = np.where(np.arange(words) < 5, 0.5, 1.0).astype(np.float32)
        self.alias_probability = self.rng.random(words).astype(np.float32)
        self.alias = self.rng.integers(0, words, words).astype(np.uint32)

    def table(self, rows):
        stride = -(-self.dim // _kernel.PAD) * _kernel.PAD
        memory = np.zeros(rows * stride + 64, self.dtype)
        start = -memory.ctypes.data % 64 // memory.itemsize
        table = memory[start : start + rows * stride].reshape(rows, stride)
        table[:, : self.dim] = self.rng.normal(0, 0.2, (rows, self.dim))
        return table

    def kernel_options(self):
        o = _kernel.KernelOptions()
        o.threads, o.negatives = self.options.get("threads", 1), self.options.get("negatives", 5)
        o.window = self.window
        o.negative_reuse = self.options["negative_reuse"]
        o.mean_over_words = self.options["context_mean"] == "words"
        o.exact_gradient = self.options["input_gradient"] == "exact"
        o.summed_positional = self.options["positional_gradient"] == "summed"
        o.train_positions, o.score_limit = self.options["train_positions"], self.options["score_limit"]
        o.shrink = self.options["window_sampling"] == "shrink"
        o.text_positions = self.options["positions"] == "text"
        return o

    def trainer(self, cpu=""):
        trainer = _kernel.Float32Trainer if self.dtype == np.float32 else _kernel.Float64Trainer
        return trainer(self.heads(), self.keep, self.alias_probability, self.alias, self.kernel_options(), cpu)

    def heads(self):
        head = _kernel.Float32Head if self.dtype == np.float32 else _kernel.Float64Head
        return [head(self.input, self.output, self.positional, *self.word_rows(), self.dim)]

    def word_rows(self):
        return np.cumsum([0, *map(len, self.rows)]).astype(np.uint64), np.concatenate(self.rows).astype(np.uint32)

    def train(self, lr=0.1, seed=7, cpu=""):
        return self.trainer(cpu).train(_kernel.Workspace(), self.ids, self.lines, 0, len(self.lines) - 1, lr, seed)

    def draws(self, seed=7, cpu=""):
        drawn = self.trainer(cpu).draw(self.ids, self.lines, 0, len(self.lines) - 1, seed)
        return reference.Draws(**drawn)

    def parameters(self):
        return reference.Parameters(
            self.input[:, : self.dim].copy(), self.output[:, : self.dim].copy(), self.positional.copy(), self.rows
        )

    def reference_options(self):
        names = reference.StepOptions.__dataclass_fields__
        return reference.StepOptions(**{name: value for name, value in self.options.items() if name in names})

    def assert_equals(self, parameters, tolerance):
        for ours, theirs in [
            (self.input[:, : self.dim], parameters.input_vectors),
            (self.output[:, : self.dim], parameters.output_vectors),
            (self.positional, parameters.positional_vectors),
        ]:
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def busy_rows(problem):
    """Let a problem of many words have so few in its text and its negatives that those with copies are met often."""
    problem.ids %= 30
    problem.alias %= 6
    problem.alias_probability[:] = 0.1
    return problem


def distinct_words(problem):
    """Give a problem of 100 words a text in which no word stands twice within a micro-batch."""
    problem.ids = np.concatenate([np.random.default_rng(5).permutation(100) for _ in range(2)]).astype(np.uint32)
    problem.lines = np.array([0, 70, 100, 103, 200], np.uint64)
    return problem


MODELS = {
    "general": {"subwords": False, "positional_dim": 0},
    "subword": {"positional_dim": 0},
    "constrained": {"positional_dim": 20},
    "constrained, aligned": {"positional_dim": 16},
    "positional": {"positional_dim": 40},
}


def changed_options():
    """Every option away from its default alone, and all pairs of values of the ones that interact most."""
    yield {}
    for name, values in OPTION_VALUES.items():
        yield {name: values[1]}
    for mean, gradient, positions in itertools.product(("rows", "words"), ("undivided", "exact"), ("kept", "text")):
        yield {"context_mean": mean, "input_gradient": gradient, "positions": positions, "negative_reuse": 2}
    yield {name: values[1] for name, values in OPTION_VALUES.items()}


@pytest.mark.parametrize("options", list(changed_options()), ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_kernel_equals_the_reference(model, options):
    problem = Problem(**MODELS[model], **options)
    draws, expected = problem.draws(), problem.parameters()
    losses = reference.train_chunk(expected, draws, 0.1, problem.reference_options())
    tokens, masked_words, loss = problem.train()
    assert (tokens, masked_words) == (len(problem.ids), sum(bool(draws.context(t)) for t in range(len(draws.word))))
    assert loss == pytest.approx(losses)
    problem.assert_equals(expected, 1e-12)


@pytest.mark.parametrize("dim", [1, 7, 16, 33, 300])
@pytest.mark.parametrize("share", [0, 0.2, 1])
@pytest.mark.parametrize("window", [1, 6, 100])
def test_kernel_equals_the_reference_for_any_size(dim, share, window):
    problem = Problem(dim=dim, positional_dim=int(share * dim), window=window)
    draws, expected = problem.draws(), problem.parameters()
    reference.train_chunk(expected, draws, 0.1, problem.reference_options())
    problem.train()
    problem.assert_equals(expected, 1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("words", [600, 2000, 10_000])  # merged every 24 and 64 words, and at the end
def test_kernel_equals_the_reference_where_a_thread_has_copies_of_busy_rows(model, words):
    problem = busy_rows(Problem(**MODELS[model], words=words, threads=2))
    draws, expected = problem.draws(), problem.parameters()
    reference.train_chunk(expected, draws, 0.1, problem.reference_options())
    problem.train()
    problem.assert_equals(expected, 1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_cached_step_equals_the_papers_step_where_words_share_no_rows(model):
    problem = distinct_words(Problem(**MODELS[model], words=100))
    problem.rows = (
        [np.array([w, problem.words + w]) for w in range(problem.words)] if model != "general" else problem.rows
    )
    problem.input = problem.table(2 * problem.words)
    draws, expected = problem.draws(), problem.parameters()
    for t in range(len(draws.word)):
        context = draws.context(t)
        reference.train_step(
            expected, int(draws.word[t]), [int(draws.word[m]) for m in context],
            [int(draws.offset[m]) - int(draws.offset[t]) for m in context], list(map(int, draws.negatives[t])),
            0.1, problem.reference_options(),
        )  # fmt: skip
    problem.train()
    problem.assert_equals(expected, 1e-12)


@pytest.mark.parametrize("mean", ["rows", "words"])
def test_exact_updates_are_the_numerical_gradient_of_the_loss(mean):
    problem = Problem(
        positional_dim=20, input_gradient="exact", positional_gradient="summed", context_mean=mean, seed=3
    )
    problem.rows = [np.array([w, problem.words + w % 7]) for w in range(problem.words)]
    problem.ids, problem.lines = np.arange(2, 5, dtype=np.uint32) + 4, np.array([0, 3], np.uint64)
    draws = problem.draws()
    t = 1
    context = draws.context(t)
    arguments = (
        int(draws.word[t]), [int(draws.word[m]) for m in context],
        [int(draws.offset[m]) - int(draws.offset[t]) for m in context], list(map(int, draws.negatives[t])),
    )  # fmt: skip
    options, lr = problem.reference_options(), 1e-6

    def loss(parameters):
        words = [arguments[0], *(word for word in arguments[3] if word != arguments[0])]
        context = reference.context_vector(parameters, arguments[1], arguments[2], options)
        return reference.loss(parameters.output_vectors[words] @ context)

    before, after = problem.parameters(), problem.parameters()
    reference.train_step(after, *arguments, lr, options)
    for name in ("input_vectors", "output_vectors", "positional_vectors"):
        step = (getattr(after, name) - getattr(before, name)) / -lr
        for index in [*zip(*np.nonzero(step), strict=True)][::37]:
            changed = problem.parameters()
            getattr(changed, name)[index] += 1e-5
            high = loss(changed)
            getattr(changed, name)[index] -= 2e-5
            assert step[index] == pytest.approx((high - loss(changed)) / 2e-5, rel=1e-4, abs=1e-8), (name, index)


def test_kernel_with_exact_gradient_descends_the_numerical_gradient():
    """The production kernel in double, on one line of two words, so that it takes two steps that can be told apart."""
    problem = Problem(positional_dim=20, input_gradient="exact", positional_gradient="summed")
    problem.ids, problem.lines = np.array([11, 12], np.uint32), np.array([0, 2], np.uint64)
    draws, options = problem.draws(), problem.reference_options()

    def loss(parameters):
        total = 0.0
        for t, m in ((0, 1), (1, 0)):
            words = [int(draws.word[t]), *(int(n) for n in draws.negatives[t] if n != draws.word[t])]
            context = reference.context_vector(parameters, [int(draws.word[m])], [m - t], options)
            total += reference.loss(parameters.output_vectors[words] @ context)
        return total

    before = problem.parameters()
    lr = 1e-7
    problem.train(lr=lr)
    checked = 0
    for name, table in (
        ("input_vectors", problem.input),
        ("output_vectors", problem.output),
        ("positional_vectors", problem.positional),
    ):
        old = getattr(before, name)
        step = (table[:, : old.shape[1]] - old) / -lr
        for index in [*zip(*np.nonzero(np.abs(step) > 1e-4), strict=True)][::23]:
            original = old[index]
            old[index] = original + 1e-5
            high = loss(before)
            old[index] = original - 1e-5
            low = loss(before)
            old[index] = original
            assert step[index] == pytest.approx((high - low) / 2e-5, rel=1e-4, abs=1e-6), (name, index)
            checked += 1
    assert checked > 20


def test_identity_with_frozen_positions_equals_no_positions():
    frozen, plain = (distinct_words(Problem(positional_dim=p, train_positions=False, words=100)) for p in (20, 0))
    frozen.positional[:] = 1
    plain.input[:], plain.output[:], plain.rows = frozen.input, frozen.output, frozen.rows
    plain.alias, plain.alias_probability = frozen.alias, frozen.alias_probability
    frozen.train()
    plain.train()
    np.testing.assert_allclose(frozen.input, plain.input, atol=1e-12)
    np.testing.assert_allclose(frozen.output, plain.output, atol=1e-12)


def test_learning_rate_zero_changes_nothing_and_measures_the_loss():
    problem = Problem()
    before = problem.parameters()
    _, masked_words, loss = problem.train(lr=0)
    problem.assert_equals(before, 0)
    assert loss > masked_words  # six examples each


@pytest.mark.parametrize("scale", [0.01, 1, 10, 100, 1000])
@pytest.mark.parametrize("level", _kernel.cpu_levels())
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_scores_of_any_size_give_the_losses_and_steps_of_the_reference(dtype, tolerance, level, scale):
    problem = Problem(dtype=dtype)
    problem.output *= scale  # scores up to 0.001, 0.1, .. 100
    draws, expected = problem.draws(), problem.parameters()
    *_, loss = problem.train(lr=1e-4 / scale, cpu=level)
    with np.errstate(over="ignore"):  # 1 / inf is what it is to be
        expected_loss = reference.train_chunk(expected, draws, 1e-4 / scale, problem.reference_options())
    assert loss == pytest.approx(expected_loss, rel=tolerance)
    problem.assert_equals(expected, tolerance)


@pytest.mark.parametrize("level", _kernel.cpu_levels())
def test_all_cpu_levels_agree_within_rounding(level):
    problem, base = Problem(dtype=np.float32), Problem(dtype=np.float32)
    problem.train(cpu=level)
    base.train(cpu=_kernel.cpu_levels()[0])
    problem.assert_equals(base.parameters(), 1e-4)


def test_unknown_cpu_level_is_refused():
    with pytest.raises(ValueError, match="this machine runs"):
        Problem(dtype=np.float32).train(cpu="v9")


def test_padding_stays_zero():
    problem = Problem(dim=33, positional_dim=20)
    problem.train()
    assert not problem.input[:, 33:].any()
    assert not problem.output[:, 33:].any()


def test_words_are_kept_at_hand_as_long_as_a_window_needs_them():
    draws = Problem().draws()
    expected = [min([*draws.first[t:].tolist(), len(draws.word)]) for t in range(len(draws.word) + 1)]
    assert draws.needed.tolist() == expected


def test_windows_never_cross_lines_and_are_at_most_c():
    problem = Problem(window=3)
    problem.keep[:] = 1
    draws = problem.draws()
    kept = np.flatnonzero(problem.ids < problem.words)
    line = np.searchsorted(problem.lines, kept, "right")
    line = line[np.isin(line, [each for each in set(line) if (line == each).sum() > 1])]
    assert len(line) == len(draws.word)
    for t in range(len(draws.word)):
        assert t - 3 <= draws.first[t] <= t <= draws.last[t] <= t + 3
        assert line[draws.first[t]] == line[t] == line[draws.last[t]]


def test_windows_shrink_uniformly():
    problem = Problem(window=5)
    problem.keep[:] = 1
    problem.ids, problem.lines = np.zeros(50_000, np.uint32), np.array([0, 50_000], np.uint64)
    draws = problem.draws()
    reach = (draws.last - np.arange(len(draws.last)))[5:-5]
    np.testing.assert_allclose(np.bincount(reach, minlength=6)[1:] / len(reach), 0.2, atol=0.01)


def test_text_positions_count_dropped_words():
    problem = Problem(window=3, positions="text", window_sampling="fixed")
    problem.keep[:] = 1
    out = problem.words
    problem.ids, problem.lines = np.array([1, out, 2, out, out, out, 3, 4], np.uint32), np.array([0, 8], np.uint64)
    draws = problem.draws()
    assert draws.offset.tolist() == [0, 2, 6, 7]
    assert [draws.context(t) for t in range(4)] == [[1], [0], [3], [2]]


def test_words_are_kept_with_their_probability():
    problem = Problem(words=3)
    problem.keep = np.array([0.1, 0.5, 1.0], np.float32)
    problem.ids = np.tile(np.arange(3, dtype=np.uint32), 100_000)
    problem.lines = np.array([0, len(problem.ids)], np.uint64)
    kept = np.bincount(problem.draws().word) / 100_000
    np.testing.assert_allclose(kept, problem.keep, atol=0.01)


def test_negatives_follow_the_alias_table():
    problem = Problem(words=4)
    problem.alias_probability = np.array([0.5, 1, 0.25, 1], np.float32)
    problem.alias = np.array([1, 0, 3, 0], np.uint32)
    problem.keep[:] = 1
    problem.ids, problem.lines = np.zeros(50_000, np.uint32), np.array([0, 50_000], np.uint64)
    drawn = np.bincount(problem.draws().negatives.ravel(), minlength=4)
    np.testing.assert_allclose(drawn / drawn.sum(), [0.125, 0.375, 0.0625, 0.4375], atol=0.005)


def test_stretches_with_different_seeds_draw_different_negatives():
    problem = Problem()
    one, two = problem.draws(seed=1).negatives, problem.draws(seed=2).negatives
    length = min(one.size, two.size)
    assert (one.ravel()[:length] == two.ravel()[:length]).mean() < 0.2


def test_held_out_lines_and_the_others_are_complementary():
    problem = Problem()
    problem.keep[:] = 1
    problem.ids = np.arange(20, dtype=np.uint32).repeat(2) % problem.words
    problem.lines = np.arange(0, 41, 2).astype(np.uint64)
    trainer = problem.trainer()
    held = trainer.draw(problem.ids, problem.lines, 0, 20, 1, 0.3, True)["word"]
    rest = trainer.draw(problem.ids, problem.lines, 0, 20, 1, 0.3, False)["word"]
    assert 0 < len(held) < len(rest)
    assert sorted([*held, *rest]) == sorted(problem.ids)


@pytest.mark.parametrize("change", ["rows", "row_begin", "alias", "lines", "order", "shape"])
def test_arrays_that_do_not_fit_are_refused(change):
    problem = Problem()
    if change == "rows":
        problem.rows[3] = np.array([10_000])
    if change == "row_begin":
        problem.rows[3] = np.array([], int)
    if change == "alias":
        problem.alias[0] = 10_000
    if change == "lines":
        problem.lines[-1] += 1
    if change == "order":
        problem.lines[3] = 1000
    if change == "shape":
        problem.positional = problem.positional[:2]
    with pytest.raises(ValueError, match=r"[a-z]"):
        problem.train()


@pytest.mark.parametrize("level", _kernel.cpu_levels())
def test_negatives_are_those_of_the_alias_table_one_by_one_at_every_level(level):
    problem = Problem(words=1000)
    problem.keep[:] = 1  # no number is drawn for words that are kept anyway
    problem.ids, problem.lines = np.zeros(777, np.uint32), np.array([0, 777], np.uint64)
    state = _mixed(7) + 777 * _STEP  # after the seed and a number for each window
    expected = []
    for _ in range(777 * 5):
        word = (_mixed(state + _STEP) >> 32) * 1000 >> 32
        stays = (_mixed(state + 2 * _STEP) >> 40) * 2**-24 < problem.alias_probability[word]
        expected.append(word if stays else int(problem.alias[word]))
        state += 2 * _STEP
    assert problem.draws(cpu=level).negatives.ravel().tolist() == expected


_STEP = 0x9E3779B97F4A7C15


def _mixed(x):
    """SplitMix64's mix of the bits of a counter."""
    x = (x ^ (x & (2**64 - 1)) >> 30) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    x = (x ^ x >> 27) * 0x94D049BB133111EB & (2**64 - 1)
    return x ^ x >> 31


def test_reused_negatives_follow_the_same_distribution_and_neighbours_do_not_share_them():
    problem = Problem(words=1000, negative_reuse=8)
    problem.alias_probability[:] = 1  # all words equally likely
    problem.keep[:] = 1
    problem.ids, problem.lines = np.zeros(50_000, np.uint32), np.array([0, 50_000], np.uint64)
    negatives = problem.draws().negatives
    assert negatives.shape == (50_000, 5)
    counts = np.bincount(negatives.ravel(), minlength=1000)
    # each of the 31,250 draws serves eight times, so counts spread as if there were an eighth of them
    np.testing.assert_allclose(counts.std() / counts.mean(), np.sqrt((1 + 8) / 250), rtol=0.15)
    shared = [len(set(one) & set(other)) for one, other in zip(negatives[:-1:7], negatives[1::7], strict=True)]
    assert np.mean(shared) < 0.1


def test_every_option_of_the_kernel_is_set_from_the_configuration():
    from posvec.presets import make_config
    from posvec.training.kernel import kernel_options

    names = [name for name in dir(_kernel.KernelOptions) if not name.startswith("_")]
    default = kernel_options(make_config("constrained"))
    changed = kernel_options(
        make_config(
            "constrained",
            window=16,
            negatives=11,
            negative_reuse=9,
            context_mean="words",
            input_gradient="exact",
            positional_gradient="summed",
            train_positions=False,
            window_sampling="fixed",
            positions="text",
            score_limit=1.0,
            precision="float32",
        ),
        threads=2,
    )
    same = [name for name in names if getattr(default, name) == getattr(changed, name)]
    assert same == []
