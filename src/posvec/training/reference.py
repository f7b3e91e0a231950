"""The training step in NumPy, one function per equation: the oracle of the compiled kernel in floating point.

:func:`train_step` is the step of the paper for one masked word; it reads and writes every row at once.
:func:`train_chunk` is the cached step that ``cpp/kernel/trainer.hpp`` computes, in the same order of operations.
The two agree if no two nearby words share a row and no word occurs twice in a micro-batch. Otherwise the cached step
uses values that are out of date by less than two windows and a micro-batch. :mod:`.reference_fixed16` has the
arithmetic of 16-bit rows. :func:`train_heads` trains all heads of a model (:mod:`posvec.heads`).

Shapes: D features, D' of them positional, c the window, V words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RealArray = NDArray[np.floating[Any]]
MICRO_BATCH = 8  # kMicroBatch of cpp/kernel/scratch.hpp


@dataclass
class Parameters:
    """u (rows, D), v (V, D) and d (2c, D'), updated in place, and the input rows of each word."""

    input_vectors: RealArray
    output_vectors: RealArray
    positional_vectors: RealArray
    rows: Sequence[NDArray[np.integer[Any]]]

    @property
    def window(self) -> int:
        return len(self.positional_vectors) // 2

    @property
    def eager(self) -> int:
        """The features updated within a micro-batch rather than after it: D', rounded up to a multiple of 16."""
        dim, positional_dim = int(self.input_vectors.shape[1]), int(self.positional_vectors.shape[1])
        return min(dim, -(-positional_dim // 16) * 16)

    def weights(self, position: int) -> RealArray:
        """[d_p, 1, ..., 1]: the weight of each of the D features of the word at a position."""
        weights = np.ones(self.input_vectors.shape[1], self.input_vectors.dtype)
        weights[: self.positional_vectors.shape[1]] = self.positional_vectors[position_row(position, self.window)]
        return weights


@dataclass(frozen=True)
class StepOptions:
    """The settings of the step, under their names in :mod:`posvec.config`."""

    context_mean: str = "rows"
    input_gradient: str = "undivided"
    positional_gradient: str = "averaged"
    train_positions: bool = True
    score_limit: float = 0.0


def position_row(position: int, window: int) -> int:
    """The row of the positional vectors that holds position p, which is never 0."""
    return position + window if position < 0 else position + window - 1


def sigmoid(x: RealArray) -> RealArray:
    probabilities: RealArray = 1 / (1 + np.exp(-x))
    return probabilities


def context_size(parameters: Parameters, words: Sequence[int], options: StepOptions) -> int:
    """N"""
    return len(words) if options.context_mean == "words" else sum(len(parameters.rows[word]) for word in words)


def context_vector(
    parameters: Parameters, words: Sequence[int], positions: Sequence[int], options: StepOptions
) -> RealArray:
    """u_C = 1/N sum_m sum_x [d_p, 1] * x"""
    total = np.zeros_like(parameters.input_vectors[0])
    for word, position in zip(words, positions, strict=True):
        total += parameters.weights(position) * parameters.input_vectors[parameters.rows[word]].sum(0)
    mean: RealArray = total / context_size(parameters, words, options)
    return mean


def loss(scores: RealArray) -> float:
    """-log sigma(s(w_t)) - sum_n log sigma(-s(n)), where the score of the masked word comes first."""
    signs = np.where(np.arange(len(scores)) == 0, -1.0, 1.0)
    return float(np.logaddexp(0, signs * scores.astype(np.float64)).sum())


def step_sizes(scores: RealArray, lr: float, options: StepOptions) -> RealArray:
    """g = lr (y - sigma(s)), 0 where the score is beyond the limit."""
    steps: RealArray = lr * ((np.arange(len(scores)) == 0) - sigmoid(scores))
    if options.score_limit:
        steps[np.abs(scores) > options.score_limit] = 0
    return steps


def update_outputs(
    parameters: Parameters,
    masked_word: int,
    negatives: Sequence[int],
    context: RealArray,
    lr: float,
    options: StepOptions,
) -> tuple[RealArray, float]:
    """Compute scores from the old values; then, for every word, e += g v_w and v_w += g u_C. Return e and the loss."""
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
    options: StepOptions,
) -> float:
    """Train on one masked word as in the paper; return the loss before the step."""
    context = context_vector(parameters, words, positions, options)
    error, value = update_outputs(parameters, masked_word, negatives, context, lr, options)
    if options.input_gradient == "exact":
        error = error / context_size(parameters, words, options)
    positional_dim = parameters.positional_vectors.shape[1]
    for word, position in zip(words, positions, strict=True):
        rows = parameters.rows[word]
        total = parameters.input_vectors[rows].sum(0)
        update = parameters.weights(position) * error
        if options.train_positions and positional_dim:
            divisor = 1 if options.positional_gradient == "summed" else len(rows)
            row = position_row(position, parameters.window)
            parameters.positional_vectors[row] += (total * error / divisor)[:positional_dim]
        for each in rows:
            parameters.input_vectors[each] += update
    return value


@dataclass(frozen=True)
class Draws:
    """What the kernel has drawn (``Float64Trainer.draw``): kept words, offsets in the line, windows and negatives."""

    word: NDArray[np.integer[Any]]
    offset: NDArray[np.integer[Any]]
    first: NDArray[np.integer[Any]]
    last: NDArray[np.integer[Any]]
    needed: NDArray[np.integer[Any]]  # the first word in the context of any masked word from t on
    negatives: NDArray[np.integer[Any]]  # (masked words, negatives)

    def context(self, t: int) -> list[int]:
        return [m for m in range(self.first[t], self.last[t] + 1) if m != t]


def train_chunk(parameters: Parameters, draws: Draws, lr: float, options: StepOptions) -> float:
    """Train on all masked words in micro-batches, with cached sums of rows; return the sum of their losses."""
    cache = _RowCache(parameters)
    loaded = evicted = 0
    value = 0.0
    for begin in range(0, len(draws.word), MICRO_BATCH):
        masked = range(begin, min(begin + MICRO_BATCH, len(draws.word)))
        while loaded <= max(draws.last[t] for t in masked):
            cache.load(int(draws.word[loaded]))
            loaded += 1
        value += _train_micro_batch(parameters, draws, masked, cache, lr, options)
        while evicted < draws.needed[masked.stop]:
            cache.evict(int(draws.word[evicted]))
            evicted += 1
    return value


def train_heads(heads: Sequence[Parameters], draws: Draws, lr: float, options: StepOptions) -> float:
    """Train all heads of a model on the same masked words, contexts and negatives; return the mean of their losses.

    With s_h(w) = u_C,h . v_w,h the score of head h, the loss of the model at masked word w_t with negatives n is

        L = sum_h L_h        L_h = -log sigma(s_h(w_t)) - sum_n log sigma(-s_h(n))

    L_h depends on the parameters of head h alone. So the gradient of L with respect to them is that of L_h, and a step
    down L is a step of each head down its own loss.
    """
    return sum(train_chunk(head, draws, lr, options) for head in heads) / len(heads)


class _RowCache:
    """Keeps X, the sum of a word's rows, from the first to the last window that contains the word."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.sums: dict[int, RealArray] = {}  # X
        self.updates: dict[int, RealArray] = {}  # the accumulated update of each row of the word
        self.users: dict[int, int] = {}

    def load(self, word: int) -> None:
        self.users[word] = self.users.get(word, 0) + 1
        if self.users[word] == 1:
            self.sums[word] = self.parameters.input_vectors[self.parameters.rows[word]].sum(0)
            self.updates[word] = np.zeros_like(self.sums[word])

    def evict(self, word: int) -> None:
        self.users[word] -= 1
        if self.users[word] == 0:
            for row in self.parameters.rows[word]:
                self.parameters.input_vectors[row] += self.updates[word]

    def update(self, word: int, features: slice, update: RealArray) -> None:
        """Accumulate an update of each row of the word, and apply all of them to the sum of its rows."""
        self.updates[word][features] += update
        self.sums[word][features] += len(self.parameters.rows[word]) * update


def _train_micro_batch(
    parameters: Parameters,
    draws: Draws,
    masked: range,
    cache: _RowCache,
    lr: float,
    options: StepOptions,
) -> float:
    plain = slice(parameters.eager, None)
    updates = {m: np.zeros_like(parameters.input_vectors[0]) for t in masked for m in draws.context(t)}
    value = 0.0
    for t in masked:
        context = draws.context(t)
        words = [int(draws.word[m]) for m in context]
        if not words:
            continue
        size = context_size(parameters, words, options)
        total = np.zeros_like(parameters.input_vectors[0])
        for m, word in zip(context, words, strict=True):
            total += parameters.weights(_position(draws, m, t)) * cache.sums[word]
            total[plain] += len(parameters.rows[word]) * updates[m][plain]  # of this micro-batch so far
        negatives = [int(word) for word in draws.negatives[t]]
        error, each = update_outputs(parameters, int(draws.word[t]), negatives, total / size, lr, options)
        value += each
        if options.input_gradient == "exact":
            error = error / size
        for m, word in zip(context, words, strict=True):
            updates[m] += error
            _update_positional(parameters, word, _position(draws, m, t), error, cache, options)
    for m, update in updates.items():  # cached sums of plain features are updated after the micro-batch
        cache.update(int(draws.word[m]), plain, update[plain])
    return value


def _update_positional(
    parameters: Parameters,
    word: int,
    position: int,
    error: RealArray,
    cache: _RowCache,
    options: StepOptions,
) -> None:
    eager, positional_dim = slice(parameters.eager), parameters.positional_vectors.shape[1]
    update = (parameters.weights(position) * error)[eager]
    if options.train_positions and positional_dim:
        divisor = 1 if options.positional_gradient == "summed" else len(parameters.rows[word])
        row = position_row(position, parameters.window)
        parameters.positional_vectors[row] += (cache.sums[word] * error / divisor)[:positional_dim]
    cache.update(word, eager, update)


def _position(draws: Draws, m: int, t: int) -> int:
    return int(draws.offset[m]) - int(draws.offset[t])
