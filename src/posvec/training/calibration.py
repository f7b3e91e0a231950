"""Calibration at the end of training, on lines of the corpus that are held out of it.

So many lines are held out as calibration needs, in a corpus where they are few among many. If ``validation`` holds out
lines anyway, calibration uses them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.model import Model
from posvec.query.calibrating import LEAST_MASKED_WORDS, fit
from posvec.query.contexts import PAD_WORD
from posvec.query.masked_tokens import mask_tokens
from posvec.storage.calibration import Calibration
from posvec.training.chunks import ChunkedCorpus

LINES = 1_000
"""The number of lines, about, on which models are calibrated."""
LEAST_LINES = 50 * LINES
"""Of shorter corpora no lines are held out for calibration."""
MASKED_WORDS = 2_000
"""The number of words of these lines that are masked."""


def held_out_fraction(config: Config, corpus: ChunkedCorpus) -> float:
    """Return the fraction of lines that are not trained.

    Examples
    --------
    >>> import posvec
    >>> from posvec.corpus.encoding import encode
    >>> corpus = posvec.corpus.open_corpus("corpus.txt")
    >>> encoded = encode(corpus, posvec.Vocabulary.count(corpus))
    >>> held_out_fraction(posvec.make_config(validation=0.1), encoded)
    0.1
    >>> held_out_fraction(posvec.make_config(), encoded)  # a short corpus
    0.0
    """
    training = config.training
    if training.validation or not training.calibrate or len(corpus) < LEAST_LINES:
        return training.validation
    return LINES / len(corpus)


def calibrate(model: Model, corpus: ChunkedCorpus) -> Calibration | None:
    """Fit the calibration of a model to held-out lines of its corpus; None if there are too few."""
    fraction = min(held_out_fraction(model.config, corpus), LINES / len(corpus))
    if not fraction or not model.config.training.calibrate:
        return None
    tokens = mask_tokens(model, _held_out_lines(model, corpus, fraction), MASKED_WORDS, model.config.training.seed)
    if len(tokens) < LEAST_MASKED_WORDS:
        return None
    return fit(model, tokens)


def _held_out_lines(model: Model, corpus: ChunkedCorpus, fraction: float) -> list[list[str]]:
    words = [*model.vocabulary.words, PAD_WORD]  # the id of words outside the vocabulary is V
    keep = model.config.training.positions == "text"
    lines = []
    for index in range(corpus.chunks):
        chunk = corpus.chunk(index)
        numbers = np.arange(chunk.begin, chunk.end, dtype=np.uint64)
        for line in numbers[is_held_out(numbers + np.uint64(chunk.first_line), fraction)].tolist():
            ids = chunk.ids[int(chunk.lines[line]) : int(chunk.lines[line + 1])].tolist()
            lines.append([words[i] for i in ids if keep or i < len(words) - 1])
    return lines


def is_held_out(lines: NDArray[np.uint64], fraction: float) -> NDArray[np.bool_]:
    """Return which lines, by their numbers in the corpus, the kernel does not train (cpp/kernel/sampling.hpp).

    Examples
    --------
    >>> bool(abs(is_held_out(np.arange(10_000, dtype=np.uint64), 0.1).mean() - 0.1) < 0.01)
    True
    """
    x = lines + np.uint64(1)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    chosen: NDArray[np.bool_] = (x >> np.uint64(11)).astype(np.float64) * 2.0**-53 < fraction
    return chosen
