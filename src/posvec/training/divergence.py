"""Detect parameters that training has destroyed, and say which setting to change."""

from __future__ import annotations

import math

import numpy as np

from posvec._kernel import INPUT_BOUND, OUTPUT_BOUND
from posvec.errors import TrainingError
from posvec.model import Model
from posvec.system.arrays import FloatArray

_LONG_WORD = 1000  # characters: not a word of a language, but a row of letters, or data
_MAX_SATURATED = 0.01  # of a table's features; after successful training, one in millions has reached the bound
# Times log 2 per word, the loss of an untrained model: training does not recover from there. With a score_limit such
# scores give no update, so that parameters can diverge without ever overflowing.
_DIVERGED = 1000


def check_loss(model: Model, mean: float, epoch: int, words: int) -> None:
    """Raise TrainingError if the mean loss of a chunk shows that training has diverged."""
    if not mean < _DIVERGED * (1 + model.config.training.negatives) * math.log(2):  # not >=: the mean may be NaN
        what = f"the loss grew to {mean:.3g}" if math.isfinite(mean) else "the parameters overflowed"
        raise TrainingError(
            f"{what} in epoch {epoch} after {words:,} words, and training stopped: {overflow_advice(model)}"
        )


def check_parameters(model: Model) -> None:
    """Raise TrainingError if parameters have overflowed or are saturated, before they replace a good checkpoint."""
    fixed16 = model.config.training.precision == "fixed16"
    tables = model.trained_tables()
    _check_table(model, model.positional_vectors, math.inf)
    _check_table(model, tables.output_vectors, OUTPUT_BOUND if fixed16 else math.inf)
    for table in (tables.input_vectors, tables.word_head):
        _check_table(model, table, INPUT_BOUND if fixed16 else math.inf)


def _check_table(model: Model, table: FloatArray, bound: float) -> None:
    saturated = 0
    for begin in range(0, len(table), 4096):
        features = np.abs(table[begin : begin + 4096])
        if not np.isfinite(features).all():
            raise TrainingError(f"the parameters have overflowed and were not saved: {overflow_advice(model)}")
        saturated += int(np.count_nonzero(features >= bound))
    if saturated > _MAX_SATURATED * table.size:
        raise TrainingError(
            f"{saturated / table.size:.0%} of the features have grown to {bound:.0f}, the most that 16 bits can hold, "
            f"and were not saved: {overflow_advice(model)}"
        )


def overflow_advice(model: Model) -> str:
    """Return which setting to change when the parameters have overflowed."""
    config = model.config
    training, shape = config.training, config.model
    longest = max(map(len, model.vocabulary.words))
    if config.subwords.subwords and longest > _LONG_WORD:
        return (
            f"the vocabulary has a word of {longest:,} characters, and steps add up where n-grams repeat in a word; "
            f"raise min_count or take such words out, or lower initial_lr (now {training.initial_lr:g})"
        )
    if shape.positional_dim and shape.initializer == "identity" and shape.dim > 600:
        return f"initializer=identity explodes for dim > 600 (now {shape.dim}); use initializer=sqrt_normal"
    advice = f"lower initial_lr (now {training.initial_lr:g})"
    if training.positional_gradient == "summed" and shape.positional_dim:
        return f"{advice} or set positional_gradient=averaged"
    if shape.context_mean == "words":
        return f"{advice} or set context_mean=rows, whose steps are about twenty times smaller"
    if training.score_limit and shape.positional_dim:
        return f"{advice} or set score_limit=0, which lets large scores recover"
    return advice
