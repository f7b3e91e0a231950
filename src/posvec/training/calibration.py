"""Calibration at the end of training, on lines of the corpus that are held out of it.

So many lines are held out as calibration needs, in a corpus where they are few among many. If ``validation`` holds out
lines anyway, calibration uses them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.corpus.sources import Corpus, Source
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import CorpusError
from posvec.model import Model
from posvec.query.calibrating import LEAST_MASKED_WORDS, fit
from posvec.query.contexts import PAD_WORD
from posvec.query.masked_tokens import mask_tokens
from posvec.storage.calibration import Calibration
from posvec.training.chunks import ChunkedCorpus
from posvec.training.sources import open_source

LINES = 1_000
"""The number of lines, about, on which models are calibrated."""
LARGEST_FRACTION = 0.02
"""The fraction of lines that are held out at most."""
LEAST_LINES = 10_000
"""Of shorter corpora no lines are held out for calibration."""
MASKED_WORDS = 2_000
"""The number of words of these lines that are masked."""

_MAX_SCORES = 1 << 28  # with a larger vocabulary, fewer words are masked
_LEAST_OF_LARGE = 500
_MAX_WORDS = 2_000_000


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
    return min(LARGEST_FRACTION, LINES / len(corpus))


def calibrate(model: Model, corpus: ChunkedCorpus) -> Calibration | None:
    """Fit the calibration of a model to held-out lines of its corpus; None if there are too few."""
    fraction = min(held_out_fraction(model.config, corpus), LINES / len(corpus))
    if not fraction or not model.config.training.calibrate:
        return None
    words = min(MASKED_WORDS, max(_LEAST_OF_LARGE, _MAX_SCORES // len(model.vocabulary)))
    lines = _cut(model, _held_out_lines(model, corpus, fraction))
    tokens = mask_tokens(model, lines, words, model.config.training.seed)
    if len(tokens) < LEAST_MASKED_WORDS:
        return None
    return fit(model, tokens)


def calibrate_on_text(model: Model, text: Source, words: int = MASKED_WORDS, seed: int = 1) -> Calibration:
    """Fit the calibration of a model to text that it was not trained on.

    The model has it from then on; :meth:`posvec.Model.save` saves it.

    Parameters
    ----------
    model
        A model with output vectors.
    text
        Files, or an iterable of sentences or lists of words.
    words
        The number of words to mask, drawn at random from the first two million words.
    seed
        The seed of the draw.

    Returns
    -------
    Calibration
        What was fitted.

    Raises
    ------
    CorpusError
        If the text has fewer than 200 words to mask.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> calibrate_on_text(model, "corpus.txt", words=500).masked_words
    500
    """
    model.require_outputs()
    with open_source(text, model.config) as opened:
        name, lines = opened.name, list(first_lines(opened))
    tokens = mask_tokens(model, _cut(model, lines), max(words, LEAST_MASKED_WORDS), seed)
    if len(tokens) < LEAST_MASKED_WORDS:
        raise CorpusError(
            f"{name} has {len(tokens):,} words that {model!r} can predict, but calibration needs {LEAST_MASKED_WORDS}; "
            "give more text"
        )
    model.calibration = fit(model, tokens)
    return model.calibration


def first_lines(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the words of the lines of a corpus, up to two million words."""
    tokenizer, total = get_tokenizer(corpus.tokenizer), 0
    for block in corpus.blocks():
        for line in tokenizer.split(block):
            total += len(line)
            yield line
            if total >= _MAX_WORDS:
                return


def _cut(model: Model, lines: list[list[str]]) -> list[list[str]]:
    """Cut every second line into pieces of c + 1 words, because people also ask about short sentences."""
    length = model.config.model.window + 1
    pieces = [line[begin : begin + length] for line in lines[::2] for begin in range(0, len(line), length)]
    return [*lines[1::2], *pieces]


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
