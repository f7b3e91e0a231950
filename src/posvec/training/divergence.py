"""Parameters that training has lost: how it is found out, and which setting to change."""

from __future__ import annotations

import math

import numpy as np

from posvec._kernel import INPUT_BOUND, OUTPUT_BOUND
from posvec.errors import TrainingError
from posvec.model import Model
from posvec.system.arrays import FloatArray

_LONG = 1000  # characters: no word of a language, but a row of letters, or data
_MOST_AT_BOUNDS = 0.01  # of a table's features; one in millions is there after a training that went well


def check_parameters(model: Model) -> None:
    """A good checkpoint must not be replaced by one that has overflowed, or that runs against the bounds of 16 bits."""
    fixed16 = model.config.training.precision == "fixed16"
    input_vectors, output_vectors = model.trained_tables()
    _check_table(model, model.positional_vectors, math.inf)
    _check_table(model, output_vectors, OUTPUT_BOUND if fixed16 else math.inf)
    _check_table(model, input_vectors, INPUT_BOUND if fixed16 else math.inf)


def _check_table(model: Model, table: FloatArray, bound: float) -> None:
    at_bound = 0
    for begin in range(0, len(table), 4096):
        features = np.abs(table[begin : begin + 4096])
        if not np.isfinite(features).all():
            raise TrainingError(f"the parameters have overflowed and were not saved: {overflow_advice(model)}")
        at_bound += int(np.count_nonzero(features >= bound))
    if at_bound > _MOST_AT_BOUNDS * table.size:
        raise TrainingError(
            f"{at_bound / table.size:.0%} of the features have grown to {bound:.0f}, the most that 16 bits can hold, "
            f"and were not saved: {overflow_advice(model)}"
        )


def overflow_advice(overflowed: Model) -> str:
    """Which setting to change when the parameters have overflowed."""
    config = overflowed.config
    training, model = config.training, config.model
    longest = max(map(len, overflowed.vocabulary.words))
    if config.subwords.subwords and longest > _LONG:
        return (
            f"the vocabulary has a word of {longest:,} characters, and steps add up where n-grams repeat in a word; "
            f"raise min_count or take such words out, or lower initial_lr (now {training.initial_lr:g})"
        )
    if model.positional_dim and model.initializer == "identity" and model.dim > 600:
        return f"initializer=identity explodes for dim > 600 (now {model.dim}); use initializer=sqrt_normal"
    advice = f"lower initial_lr (now {training.initial_lr:g})"
    if training.positional_gradient == "summed" and model.positional_dim:
        return f"{advice} or set positional_gradient=averaged"
    if model.context_mean == "words":
        return f"{advice} or set context_mean=rows, whose steps are about twenty times smaller"
    if training.score_limit and model.positional_dim:
        return f"{advice} or set score_limit=0, which lets scores that ran away come back"
    return advice
