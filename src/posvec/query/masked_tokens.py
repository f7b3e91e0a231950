"""Many masked words at once: their context vectors, and the probabilities of all words in blocks of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.query.contexts import PAD_WORD
from posvec.storage.calibration import Calibration
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray
from posvec.system.mapping import check_mapped
from posvec.system.threads import map_in_order
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.model import Model

BATCH = 256
"""Masked words that are scored together."""
_ROWS = 4096  # of the output vectors that are scored together, so that their scores stay in the cache


@dataclass(frozen=True)
class MaskedTokens:
    """Tokens of text that are masked one at a time."""

    ids: IndexArray
    """(n,) The ids of the masked words."""
    context_vectors: FloatArray
    """(n, D)"""
    lengths: IndexArray
    """(n,) N, the number of context words."""
    lines: IndexArray
    """(n,) The numbers of their lines."""
    offsets: IndexArray
    """(n,) Their indices in the lines."""

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, rows: slice | IndexArray | NDArray[np.bool_]) -> MaskedTokens:
        """Return some of the tokens."""
        return MaskedTokens(*(getattr(self, field.name)[rows] for field in fields(self)))

    def batches(self, size: int) -> Iterator[MaskedTokens]:
        """Yield so many tokens at a time."""
        for begin in range(0, len(self), size):
            yield self.select(slice(begin, begin + size))


class Likelihoods(NamedTuple):
    """What a distribution over the vocabulary says of masked words that are known."""

    log_probabilities: DoubleArray
    """(n,) log P(w | C) of the true words."""
    ranks: IndexArray
    """(n,) The ranks of the true words; 1 is best."""
    confidences: DoubleArray
    """(n,) P of the most probable words."""


def mask_tokens(model: Model, lines: Sequence[Sequence[str]], count: int | None = None, seed: int = 1) -> MaskedTokens:
    """Mask each token of some lines in turn: those that the model can predict and that have a context.

    Parameters
    ----------
    model
        A model with output vectors.
    lines
        Lines of words. [PAD] takes up a position, as in a sentence with a [MASK].
    count
        Mask only so many tokens, drawn at random.
    seed
        The seed of the draw.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> tokens = mask_tokens(model, [["the", "cat", "sees"], ["the"]])
    >>> [model.vocabulary.words[i] for i in tokens.ids], tokens.lengths.tolist()
    (['the', 'cat', 'sees'], [2, 2, 2])
    """
    known = {word for line in lines for word in line}
    known = {word for word in known if model.has_vector(word)}
    every = model.config.training.positions != "kept"
    # The words that count as positions, as in :meth:`posvec.Model.counted_words`.
    counted = [[i for i, word in enumerate(line) if every or word == PAD_WORD or word in known] for line in lines]
    words = [line[i] for line, indices in zip(lines, counted, strict=True) for i in indices]
    line_of = np.repeat(np.arange(len(lines)), [len(indices) for indices in counted])
    offset_of = np.array([i for indices in counted for i in indices], np.intp)
    row_of = {word: row for row, word in enumerate(sorted(known))}
    terms, sizes = model.context_terms(row_of)
    rows = np.array([row_of.get(word, -1) for word in words], np.intp)
    ids = np.array([model.vocabulary.index.get(word, -1) for word in words], np.intp)
    # Words with a context word in their window.
    number = np.cumsum(np.concatenate([[0], rows >= 0]))
    first, last = (np.searchsorted(line_of, line_of, side) for side in ("left", "right"))
    here, window = np.arange(len(words)), model.config.model.window
    near = number[np.minimum(here + window + 1, last)] - number[np.maximum(here - window, first)]
    masked = np.flatnonzero((ids >= 0) & (near > (rows >= 0)))
    if count is not None and count < len(masked):
        masked = np.sort(np.random.default_rng(seed).choice(masked, count, replace=False))
    vectors = np.empty((len(masked), terms.shape[1]), np.float32)
    for begin in range(0, len(masked), BATCH):
        part = masked[begin : begin + BATCH]
        sums, totals = np.zeros((len(part), terms.shape[1])), np.zeros((len(part), sizes.shape[1]))
        for position in model.positions:
            context = part + position
            inside = (context >= first[part]) & (context < last[part])
            inside[inside] = rows[context[inside]] >= 0
            chosen = rows[context[inside]]
            added = terms[chosen]
            if model.config.model.positional_dim:
                added[:, : model.config.model.positional_dim] *= model.position(position)
            sums[inside] += added
            totals[inside] += sizes[chosen]
        vectors[begin : begin + BATCH] = sums / model.per_feature(totals)
    return MaskedTokens(ids[masked], vectors, near[masked] - 1, line_of[masked], offset_of[masked])


def log_priors(vocabulary: Vocabulary, calibration: Calibration) -> DoubleArray:
    """Return what the calibration adds to the scores of all words, (V,): logarithms of probabilities.

    Without context words, these would be the probabilities of the words.
    """
    log_frequency, noise = prior_terms(vocabulary)
    priors: DoubleArray = calibration.prior * log_frequency + calibration.noise * noise
    priors -= np.logaddexp.reduce(priors)
    return priors


def prior_terms(vocabulary: Vocabulary) -> tuple[DoubleArray, DoubleArray]:
    """Return log P(w) and log(Pn(w) / (keep(w) P(w))) of all words, (V,) each."""
    counts = vocabulary.counts.astype(np.float64)
    log_frequency = np.log(counts / counts.sum())
    log_noise = np.log(np.maximum(vocabulary.negative_weights(), np.finfo(np.float64).tiny))
    return log_frequency, log_noise - np.log(vocabulary.keep_probabilities().astype(np.float64)) - log_frequency


def length_terms(config: Config, lengths: IndexArray) -> DoubleArray:
    """Return log(N / 2c) of numbers of context words, (n,)."""
    terms: DoubleArray = np.log(lengths / (2 * config.model.window))
    return terms


def factors_of_heads(config: Config, calibration: Calibration, lengths: IndexArray) -> DoubleArray:
    """Return the factors of the scores of each head, (n, heads), in contexts of so many words."""
    factors: DoubleArray = np.array(calibration.factors) + np.outer(
        length_terms(config, lengths), calibration.length_factors
    )
    return factors


def likelihoods(model: Model, calibration: Calibration, tokens: MaskedTokens) -> Likelihoods:
    """Return the probabilities and ranks of masked words under the softmax over the whole vocabulary.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> found = likelihoods(model, model.calibrated, mask_tokens(model, [["the", "cat", "sees", "the", "dog"]]))
    >>> bool((found.log_probabilities <= 0).all()), bool((found.ranks >= 1).all())
    (True, True)
    """
    check_mapped(model.output_vectors)
    priors = log_priors(model.vocabulary, calibration).astype(np.float32)
    # Threads, because only the matrix products use all cores by themselves.
    of_batch = partial(_batch_likelihoods, model, calibration, priors)
    parts = list(map_in_order(of_batch, tokens.batches(BATCH)))
    if not parts:
        return Likelihoods(np.empty(0), np.empty(0, np.intp), np.empty(0))
    return Likelihoods(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _batch_likelihoods(model: Model, calibration: Calibration, priors: FloatArray, tokens: MaskedTokens) -> Likelihoods:
    factors = model.of_features(factors_of_heads(model.config, calibration, tokens.lengths))
    contexts = (tokens.context_vectors * factors).astype(np.float32)
    ids, number = tokens.ids, np.arange(len(tokens.ids))
    true = np.einsum("ij,ij->i", contexts, model.output_vectors[ids]) + priors[ids]
    greater = np.zeros(len(ids), np.intp)
    best = np.full(len(ids), -np.inf, np.float32)
    total = np.zeros(len(ids))
    for begin in range(0, len(priors), _ROWS):
        block = slice(begin, begin + _ROWS)
        logits = contexts @ model.output_vectors[block].T
        logits += priors[block]
        here = (ids >= begin) & (ids < begin + _ROWS)
        # The very number: rounding could make a word beat itself.
        logits[number[here], ids[here] - begin] = true[here]
        greater += np.count_nonzero(logits > true[:, np.newaxis], axis=1)
        highest = np.maximum(best, logits.max(1))
        total *= np.exp(best - highest)
        best = highest
        logits -= best[:, np.newaxis]
        total += np.exp(logits, out=logits).sum(1)
    log_total = best + np.log(total)
    return Likelihoods((true - log_total).astype(np.float64), greater + 1, 1 / total)
