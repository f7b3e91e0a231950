"""The training step in NumPy, one function per equation: slow, readable, the oracle of the compiled kernel.

:func:`train_step` is the step of the paper for one masked word, every row read and written at once.
:func:`train_block` is the block-cached step that ``cpp/kernel.hpp`` computes, in the same order of operations.
The two agree where no two words of a block share a row and no word stands twice in a micro-batch: only then is the
block-cached step behind, by less than a block.

Shapes: D features, D' of them positional, c the window, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
MICRO_BATCH = 8  # kMicroBatch of cpp/problem.hpp


@dataclass
class Parameters:
    """u (rows, D), v (V, D) and d (2c, D'), updated in place, and the input rows of each word."""

    input_vectors: Floats
    output_vectors: Floats
    positional_vectors: Floats
    rows: Sequence[NDArray[np.integer[Any]]]

    @property
    def window(self) -> int:
        return len(self.positional_vectors) // 2

    @property
    def eager(self) -> int:
        """Features updated within a micro-batch rather than after it: the positional ones, filled up to 16."""
        dim, positional_dim = int(self.input_vectors.shape[1]), int(self.positional_vectors.shape[1])
        return min(dim, -(-positional_dim // 16) * 16)

    def weights(self, position: int) -> Floats:
        """[d_p, 1, ..., 1]: the weight of each of the D features of the word at a position."""
        weights = np.ones(self.input_vectors.shape[1], self.input_vectors.dtype)
        weights[: self.positional_vectors.shape[1]] = self.positional_vectors[position_row(position, self.window)]
        return weights


@dataclass(frozen=True)
class Options:
    """The options of method and arithmetic, by the names of :mod:`posvec.config`."""

    context_mean: str = "rows"
    input_gradient: str = "undivided"
    positional_gradient: str = "averaged"
    train_positions: bool = True
    score_limit: float = 0.0


def position_row(position: int, window: int) -> int:
    """The row of the positional vectors that holds position p, which is never 0."""
    return position + window if position < 0 else position + window - 1


def sigmoid(x: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-x))
    return probabilities


def context_size(parameters: Parameters, words: Sequence[int], options: Options) -> int:
    """N"""
    return len(words) if options.context_mean == "words" else sum(len(parameters.rows[word]) for word in words)


def context_vector(parameters: Parameters, words: Sequence[int], positions: Sequence[int], options: Options) -> Floats:
    """u_C = 1/N sum_m sum_x [d_p, 1] * x"""
    total = np.zeros_like(parameters.input_vectors[0])
    for word, position in zip(words, positions, strict=True):
        total += parameters.weights(position) * parameters.input_vectors[parameters.rows[word]].sum(0)
    mean: Floats = total / context_size(parameters, words, options)
    return mean


def loss(scores: Floats) -> float:
    """-log sigma(s(w_t)) - sum_n log sigma(-s(n)), the score of the masked word standing first."""
    signs = np.where(np.arange(len(scores)) == 0, -1.0, 1.0)
    return float(np.logaddexp(0, signs * scores.astype(np.float64)).sum())


def step_sizes(scores: Floats, lr: float, options: Options) -> Floats:
    """g = lr (y - sigma(s)), none where the score is beyond the limit."""
    steps: Floats = lr * ((np.arange(len(scores)) == 0) - sigmoid(scores))
    if options.score_limit:
        steps[np.abs(scores) > options.score_limit] = 0
    return steps


def update_outputs(
    parameters: Parameters, masked_word: int, negatives: Sequence[int], context: Floats, lr: float, options: Options
) -> tuple[Floats, float]:
    """Scores from the old values; then, word after word, e += g v_w and v_w += g u_C. Returns e and the loss."""
    words = [masked_word, *(word for word in negatives if word != masked_word)]
    v = parameters.output_vectors
    scores = v[words] @ context
    error = np.zeros_like(context)
    for word, step in zip(words, step_sizes(scores, lr, options), strict=True):
        error += step * v[word]
        v[word] += step * context
    return error, loss(scores)


def train_step(
    parameters: Parameters,
    masked_word: int,
    words: Sequence[int],
    positions: Sequence[int],
    negatives: Sequence[int],
    lr: float,
    options: Options,
) -> float:
    """One masked word, as the paper has it. Returns the loss before the step."""
    context = context_vector(parameters, words, positions, options)
    error, value = update_outputs(parameters, masked_word, negatives, context, lr, options)
    if options.input_gradient == "exact":
        error = error / context_size(parameters, words, options)
    positional_dim = parameters.positional_vectors.shape[1]
    for word, position in zip(words, positions, strict=True):
        rows = parameters.rows[word]
        total = parameters.input_vectors[rows].sum(0)
        move = parameters.weights(position) * error
        if options.train_positions and positional_dim:
            share = 1 if options.positional_gradient == "summed" else len(rows)
            row = position_row(position, parameters.window)
            parameters.positional_vectors[row] += (total * error / share)[:positional_dim]
        for each in rows:
            parameters.input_vectors[each] += move
    return value


@dataclass(frozen=True)
class Draws:
    """What the kernel drew (``Trainer.draw``): kept words, their places, windows, negatives and blocks."""

    word: NDArray[np.integer[Any]]
    place: NDArray[np.integer[Any]]
    first: NDArray[np.integer[Any]]
    last: NDArray[np.integer[Any]]
    negatives: NDArray[np.integer[Any]]  # (masked words, negatives)
    blocks: NDArray[np.integer[Any]]  # (blocks, 4): begin, end, first, last

    def context(self, t: int) -> list[int]:
        return [m for m in range(self.first[t], self.last[t] + 1) if m != t]


def train_block(parameters: Parameters, draws: Draws, block: int, lr: float, options: Options) -> float:
    """All masked words of a block on cached sums of rows. Returns the sum of their losses."""
    begin, end, first, last = (int(value) for value in draws.blocks[block])
    words = [int(word) for word in draws.word[first : last + 1]]
    counts = {word: len(parameters.rows[word]) for word in words}
    sums = {word: parameters.input_vectors[parameters.rows[word]].sum(0) for word in counts}  # X
    owed = {word: np.zeros_like(total) for word, total in sums.items()}  # G
    value = 0.0
    for start in range(begin, end, MICRO_BATCH):
        masked = range(start, min(end, start + MICRO_BATCH))
        value += _train_micro_batch(parameters, draws, masked, sums, owed, lr, options)
    for word, gradient in owed.items():
        for row in parameters.rows[word]:
            parameters.input_vectors[row] += gradient
    return value


def _train_micro_batch(
    parameters: Parameters,
    draws: Draws,
    masked: range,
    sums: dict[int, Floats],
    owed: dict[int, Floats],
    lr: float,
    options: Options,
) -> float:
    plain = slice(parameters.eager, None)
    counts = {word: len(parameters.rows[word]) for word in sums}
    moves = {m: np.zeros_like(parameters.input_vectors[0]) for t in masked for m in draws.context(t)}
    value = 0.0
    for t in masked:
        context = draws.context(t)
        words = [int(draws.word[m]) for m in context]
        if not words:
            continue
        size = context_size(parameters, words, options)
        total = np.zeros_like(parameters.input_vectors[0])
        for m, word in zip(context, words, strict=True):
            total += parameters.weights(_position(draws, m, t)) * sums[word]
            total[plain] += counts[word] * moves[m][plain]  # what this micro-batch has done to it so far
        negatives = [int(word) for word in draws.negatives[t]]
        error, each = update_outputs(parameters, int(draws.word[t]), negatives, total / size, lr, options)
        value += each
        if options.input_gradient == "exact":
            error = error / size
        for m, word in zip(context, words, strict=True):
            moves[m] += error
            _update_positional(parameters, word, _position(draws, m, t), error, sums, owed, options)
    for m, move in moves.items():  # the cached sums of plain features follow when the micro-batch is over
        word = int(draws.word[m])
        owed[word][plain] += move[plain]
        sums[word][plain] += counts[word] * move[plain]
    return value


def _update_positional(
    parameters: Parameters,
    word: int,
    position: int,
    error: Floats,
    sums: dict[int, Floats],
    owed: dict[int, Floats],
    options: Options,
) -> None:
    eager, positional_dim = slice(parameters.eager), parameters.positional_vectors.shape[1]
    count = len(parameters.rows[word])
    old_sum = sums[word].copy()
    move = (parameters.weights(position) * error)[eager]
    if options.train_positions and positional_dim:
        share = 1 if options.positional_gradient == "summed" else count
        row = position_row(position, parameters.window)
        parameters.positional_vectors[row] += (old_sum * error / share)[:positional_dim]
    owed[word][eager] += move
    sums[word][eager] += count * move


def _position(draws: Draws, m: int, t: int) -> int:
    return int(draws.place[m]) - int(draws.place[t])
