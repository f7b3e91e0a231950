"""The learning-rate schedule, and the seed of each chunk."""

from __future__ import annotations

from posvec.config import Config


def learning_rate(config: Config, fraction: float) -> float:
    """Return the learning rate after a fraction of training.

    The rate falls linearly from ``initial_lr`` to ``final_lr_ratio * initial_lr``.

    Parameters
    ----------
    config
        The configuration of the model.
    fraction
        How much of training is done, over all epochs, from 0 to 1.

    Examples
    --------
    >>> import posvec
    >>> config = posvec.make_config(initial_lr=0.1, final_lr_ratio=0.2)
    >>> round(learning_rate(config, 0.5), 6)
    0.06
    """
    training = config.training
    return training.initial_lr * (1 - (1 - training.final_lr_ratio) * fraction)


def chunk_seed(seed: int, number: int) -> int:
    """Return a seed that is different for every chunk of every run; the kernel mixes its bits."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) % 2**64
