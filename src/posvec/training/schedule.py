"""The schedule of training: how many chunks, in which order, at which learning rate, and the seed of each."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.corpus.encoding import Chunk
from posvec.training.chunks import ChunkedCorpus

_GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


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


def chunks_to_train(config: Config, chunks: int) -> int:
    """Return the number of chunks to train, over all epochs, of a corpus of so many chunks."""
    training = config.training
    return (training.epochs - 1) * chunks + max(1, round(training.last_epoch * chunks))


def chunk_index(config: Config, chunks: int, number: int) -> int:
    """Return which chunk of the corpus is trained as that of a number, which counts over all epochs.

    Epochs follow the corpus. If the last one is cut short, its chunks are spread over the corpus: chunk i comes in the
    order of the fractional part of i times the golden ratio, so that wherever training ends, it has been everywhere.

    Examples
    --------
    >>> import posvec
    >>> config = posvec.make_config(epochs=2, last_epoch=0.5)
    >>> [chunk_index(config, 10, number) for number in (0, 1, 2, 10, 11, 12, 13, 14)]
    [0, 1, 2, 0, 5, 2, 7, 4]
    """
    index = number % chunks
    return int(_spread(chunks)[index]) if _is_cut_short(config, number // chunks) else index


def epochs_before(config: Config, corpus: ChunkedCorpus, number: int, chunk: Chunk) -> float:
    """Return how many epochs of a corpus are trained before a chunk, which is that of the number."""
    epoch, index = divmod(number, corpus.chunks)
    part = index / corpus.chunks if _is_cut_short(config, epoch) else chunk.tokens_before / corpus.tokens
    return epoch + part


def chunk_seed(seed: int, number: int) -> int:
    """Return a seed that is different for every chunk of every run; the kernel mixes its bits."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) % 2**64


def _is_cut_short(config: Config, epoch: int) -> bool:
    training = config.training
    return training.last_epoch < 1 and epoch >= training.epochs - 1


@functools.lru_cache(maxsize=4)
def _spread(chunks: int) -> NDArray[np.intp]:
    return np.argsort(np.arange(chunks) * _GOLDEN_RATIO % 1)
