"""Detect parameters that training has destroyed, and say which setting to change."""

from __future__ import annotations

import math

import numpy as np

from posvec.errors import TrainingError
from posvec.model import Model
from posvec.training.tables import training_tables

_DESTROYED = 0.25  # of a table's features are saturated: steps were so large that nothing has been learnt
_LONG_WORD = 1000  # characters: not a word of a language, but a row of letters, or data
# Times log 2 per word, the loss of an untrained model: training does not recover from there. With a score_limit such
# scores give no update, so that parameters can diverge without ever overflowing.
_DIVERGED = 1000
# The loss has diverged if its mean over many words is this much above that of an untrained model, and above the lowest.
_ABOVE_UNTRAINED, _ABOVE_LOWEST = 1.25, 2.0
MIN_MASKED_WORDS = 1000
"""The number of masked words of a mean loss from which divergence is concluded."""


def check_loss(model: Model, mean: float, epoch: int, words: int) -> None:
    """Raise TrainingError if the mean loss of a chunk shows that training has diverged."""
    _check_loss(model, mean, _DIVERGED * untrained_loss(model), epoch, words)


def check_mean_loss(model: Model, mean: float, lowest: float, epoch: int, words: int) -> None:
    """Raise TrainingError if the mean loss over at least MIN_MASKED_WORDS shows that training has diverged.

    ``lowest`` is the lowest mean loss so far.
    """
    untrained = untrained_loss(model)
    limit = max(_ABOVE_UNTRAINED * untrained, _ABOVE_LOWEST * min(lowest, untrained))
    _check_loss(model, mean, limit, epoch, words)


def untrained_loss(model: Model) -> float:
    """Return the loss per masked word of a model whose scores are all 0."""
    return (1 + model.config.training.negatives) * math.log(2)


def _check_loss(model: Model, mean: float, limit: float, epoch: int, words: int) -> None:
    if not mean < limit:  # not >=: the mean may be NaN
        what = f"the loss grew to {mean:.3g}" if math.isfinite(mean) else "the parameters overflowed"
        raise TrainingError(
            f"{what} in epoch {epoch} after {words:,} words, and training stopped: {overflow_advice(model)}"
        )


def check_parameters(model: Model) -> None:
    """Raise TrainingError if parameters have overflowed or are saturated, before they replace a good checkpoint.

    A few saturated features do no harm: training then goes on in float32 (:mod:`posvec.training.supervision`).
    """
    for table in (model.positional_vectors, *model.trained_tables()):
        for begin in range(0, len(table), 4096):
            if not np.isfinite(table[begin : begin + 4096]).all():
                raise TrainingError(f"the parameters have overflowed and were not saved: {overflow_advice(model)}")
    saturated = training_tables(model).saturated()
    if saturated > _DESTROYED:
        raise TrainingError(
            f"{saturated:.0%} of the features have grown to the most that 16 bits can hold, and were not saved: "
            f"{overflow_advice(model)}"
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
        return (
            f"with initializer=identity and dim > 600 (now {shape.dim}), steps are too large at this learning rate; "
            f"lower initial_lr (now {training.initial_lr:g}) or set initializer=sqrt_normal_as_run"
        )
    advice = f"lower initial_lr (now {training.initial_lr:g})"
    if training.positional_gradient == "summed" and shape.positional_dim:
        return f"{advice} or set positional_gradient=averaged"
    if shape.context_mean == "words":
        return f"{advice} or set context_mean=rows, whose steps are about twenty times smaller"
    if training.score_limit:
        return f"{advice} or set score_limit=0, which lets large scores recover"
    return advice
