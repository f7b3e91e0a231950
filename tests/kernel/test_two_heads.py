"""Models with two heads in the kernel: against the reference, numerical gradients, and two models of one head each."""

from __future__ import annotations

import numpy as np
import pytest

from posvec import _kernel
from posvec.heads import split_heads
from posvec.training import reference
from test_fixed16 import OUTPUT_UNIT, UNIT, encoded
from test_kernel import Problem, busy_rows


class TwoHeads(Problem):
    """A problem whose first ``word_dim`` features are those of a word head."""

    def __init__(self, word_dim=16, **options):
        super().__init__(**options)
        self.split = split_heads(self.dim, word_dim, self.positional_dim, subwords=True)
        self.word_head = self.part_of(self.input[: self.words], self.split[0])
        self.input = self.part_of(self.input, self.split[1])

    def part_of(self, table, head):
        """The features of a head, in a padded table of their own."""
        problem = Problem(dim=head.dim, words=self.words, dtype=self.dtype, seed=1)
        part = problem.table(len(table))
        part[:, : head.dim] = table[:, head.features]
        return part

    def words_alone(self):
        return np.arange(self.words + 1, dtype=np.uint64), np.arange(self.words, dtype=np.uint32)

    def heads(self, kind=None, tables=None):
        kind = kind or (_kernel.Float32Head if self.dtype == np.float32 else _kernel.Float64Head)
        word_head, spelling_head, output = tables or (self.word_head, self.input, self.output)
        arrays = [(word_head, self.words_alone()), (spelling_head, self.word_rows())]
        return [
            kind(
                table,
                output[:, head.begin :][:, : table.shape[1]],
                self.positional[:, head.positional],
                *rows,
                head.dim,
            )
            for head, (table, rows) in zip(self.split, arrays, strict=True)
        ]

    def parameters(self):
        """Those of each head, for the reference."""
        rows = [[np.array([w]) for w in range(self.words)], self.rows]
        return [
            reference.Parameters(
                table[:, : head.dim].copy(),
                self.output[:, head.features].copy(),
                self.positional[:, head.positional].copy(),
                rows_of_words,
            )
            for head, table, rows_of_words in zip(self.split, (self.word_head, self.input), rows, strict=True)
        ]

    def assert_equals(self, parameters, tolerance):
        for head, table, expected in zip(self.split, (self.word_head, self.input), parameters, strict=True):
            for ours, theirs in [
                (table[:, : head.dim], expected.input_vectors),
                (self.output[:, head.features], expected.output_vectors),
                (self.positional[:, head.positional], expected.positional_vectors),
            ]:
                np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


SIZES = [(16, 0), (16, 10), (16, 16), (16, 25), (16, 40), (32, 40)]  # W and D'; D = 40


@pytest.mark.parametrize(
    "options", [{}, {"context_mean": "words", "input_gradient": "exact", "score_limit": 0.5}], ids=str
)
@pytest.mark.parametrize(("word_dim", "positional_dim"), SIZES)
def test_kernel_equals_the_reference(word_dim, positional_dim, options):
    problem = TwoHeads(word_dim=word_dim, positional_dim=positional_dim, **options)
    draws, expected = problem.draws(), problem.parameters()
    loss = reference.train_heads(expected, draws, 0.1, problem.reference_options())
    tokens, masked_words, measured = problem.train()
    assert (tokens, masked_words) == (len(problem.ids), sum(bool(draws.context(t)) for t in range(len(draws.word))))
    assert measured == pytest.approx(loss)
    problem.assert_equals(expected, 1e-12)


@pytest.mark.parametrize("words", [600, 2000])
def test_kernel_equals_the_reference_where_a_thread_has_copies_of_busy_rows(words):
    problem = busy_rows(TwoHeads(words=words, threads=2))
    draws, expected = problem.draws(), problem.parameters()
    reference.train_heads(expected, draws, 0.1, problem.reference_options())
    problem.train()
    problem.assert_equals(expected, 1e-12)


def test_exact_step_descends_the_numerical_gradient_of_the_sum_of_the_losses():
    problem = TwoHeads(positional_dim=30, input_gradient="exact", positional_gradient="summed")
    problem.ids, problem.lines = np.array([11, 12], np.uint32), np.array([0, 2], np.uint64)
    draws, options = problem.draws(), problem.reference_options()
    before = problem.parameters()

    def loss():
        total = 0.0
        for t, m in ((0, 1), (1, 0)):
            words = [int(draws.word[t]), *(int(n) for n in draws.negatives[t] if n != draws.word[t])]
            for head in before:
                context = reference.context_vector(head, [int(draws.word[m])], [m - t], options)
                total += reference.loss(head.output_vectors[words] @ context)
        return total

    lr = 1e-7
    problem.train(lr=lr)
    after = problem.parameters()
    checked = 0
    for old, new in zip(before, after, strict=True):
        for name in ("input_vectors", "output_vectors", "positional_vectors"):
            table = getattr(old, name)
            step = (getattr(new, name) - table) / -lr
            for index in [*zip(*np.nonzero(np.abs(step) > 1e-4), strict=True)][::11]:
                original = table[index]
                table[index] = original + 1e-5
                high = loss()
                table[index] = original - 1e-5
                low = loss()
                table[index] = original
                assert step[index] == pytest.approx((high - low) / 2e-5, rel=1e-4, abs=1e-6), (name, index)
                checked += 1
    assert checked > 40


def test_heads_in_16_bits_are_two_models_of_one_head_each():
    """The spelling head is rounded with the next seed, so that its rounding errors are independent."""
    problem = TwoHeads(dtype=np.float32, dim=48, positional_dim=48, word_dim=16)
    tables = [(problem.word_head, UNIT), (problem.input, UNIT), (problem.output, OUTPUT_UNIT)]
    codes = [encoded(*each) for each in tables]
    positional = problem.positional.copy()
    arguments = problem.keep, problem.alias_probability, problem.alias, problem.kernel_options()
    text = problem.ids, problem.lines, 0, len(problem.lines) - 1, 0.1, 7
    trainer = _kernel.Fixed16Trainer(problem.heads(_kernel.Fixed16Head, codes), *arguments)
    result = trainer.train(_kernel.Workspace(), *text)

    alone = [encoded(*each) for each in tables]
    problem.positional[:] = positional
    word, _ = problem.heads(_kernel.Fixed16Head, alone)
    other = _kernel.Fixed16Trainer([word], *arguments).train(_kernel.Workspace(), *text)
    assert other[:2] == result[:2]
    np.testing.assert_array_equal(alone[0], codes[0])
    np.testing.assert_array_equal(alone[2][:, :16], codes[2][:, :16])
    assert (alone[2][:, 16:] != codes[2][:, 16:]).any()  # which the word head alone does not train
    float32 = TwoHeads(dtype=np.float32, dim=48, positional_dim=48, word_dim=16)
    assert float32.train()[2] == pytest.approx(result[2], rel=1e-2)


def test_tables_that_do_not_fit_are_refused():
    problem = TwoHeads()
    arguments = problem.keep, problem.alias_probability, problem.alias, problem.kernel_options()
    with pytest.raises(ValueError, match="at least one head"):
        _kernel.Float64Trainer([], *arguments)
    other = TwoHeads(words=20)
    with pytest.raises(ValueError, match="differ in their number of words"):
        _kernel.Float64Trainer([problem.heads()[0], other.heads()[1]], *arguments)
    with pytest.raises(ValueError, match="not padded"):
        _kernel.Float64Head(
            problem.input, problem.output, problem.positional, *problem.word_rows(), problem.split[1].dim
        )
