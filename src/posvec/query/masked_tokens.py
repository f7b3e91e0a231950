"""Many masked words at once: their context vectors, and the probabilities of all words in blocks of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posvec.config import Config
from posvec.query.contexts import PAD_WORD
from posvec.storage.calibration import Calibration
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray
from posvec.system.mapping import check_mapped
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.model import Model

BATCH = 256
"""Masked words that are scored together."""
_ROWS = 4096  # of the output vectors that are scored together, so that their scores stay in the cache


class MaskedTokens(NamedTuple):
    """Tokens of text that are masked one at a time."""

    ids: IndexArray
    """(n,) The ids of the masked words."""
    context_vectors: FloatArray
    """(n, D)"""
    lengths: IndexArray
    """(n,) N, the number of context words."""

    def batches(self) -> Iterator[MaskedTokens]:
        """Yield :data:`BATCH` tokens at a time."""
        for begin in range(0, len(self.ids), BATCH):
            yield MaskedTokens(*(each[begin : begin + BATCH] for each in self))


class Likelihoods(NamedTuple):
    """What a distribution over the vocabulary says of masked words that are known."""

    log_probabilities: DoubleArray
    """(n,) log P(w | C) of the true words."""
    ranks: IndexArray
    """(n,) The ranks of the true words; 1 is best."""
    confidences: DoubleArray
    """(n,) P of the most probable words."""


def mask_tokens(model: Model, lines: Sequence[Sequence[str]]) -> MaskedTokens:
    """Mask each token of some lines in turn: those that the model can predict and that have a context.

    Parameters
    ----------
    model
        A model with output vectors.
    lines
        Lines of words. [PAD] takes up a position, as in a sentence with a [MASK].

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> tokens = mask_tokens(model, [["the", "cat", "sees"], ["the"]])
    >>> [model.vocabulary.words[i] for i in tokens.ids], tokens.lengths.tolist()
    (['the', 'cat', 'sees'], [2, 2, 2])
    """
    counted = [model.counted_words(line) for line in lines]
    words = [word for line in counted for word in line]
    line_of = np.repeat(np.arange(len(counted)), [len(line) for line in counted])
    known = [word for word in dict.fromkeys(words) if model.has_vector(word)]
    terms, sizes = model.context_terms(known)
    row_of = {word: row for row, word in enumerate(known)}
    rows = np.array([row_of.get(word, -1) for word in words], np.intp)
    ids = np.array([model.vocabulary.index.get(word, -1) if word != PAD_WORD else -1 for word in words], np.intp)
    masked = np.flatnonzero(ids >= 0)
    vectors = np.zeros((len(masked), terms.shape[1]))
    totals = np.zeros((len(masked), sizes.shape[1]))
    lengths = np.zeros(len(masked), np.intp)
    positional = model.config.model.positional_dim
    for position in model.positions:
        context = masked + position
        inside = (context >= 0) & (context < len(words))
        inside[inside] = line_of[context[inside]] == line_of[masked[inside]]
        inside[inside] = rows[context[inside]] >= 0
        chosen = rows[context[inside]]
        added = terms[chosen]
        if positional:
            added[:, :positional] *= model.position(position)
        vectors[inside] += added
        totals[inside] += sizes[chosen]
        lengths[inside] += 1
    vectors /= model.per_feature(totals)
    kept = lengths > 0
    return MaskedTokens(ids[masked[kept]], vectors[kept].astype(np.float32), lengths[kept])


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
    return np.array(calibration.factors) + np.outer(length_terms(config, lengths), calibration.length_factors)


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
    parts = [_batch_likelihoods(model, calibration, batch, priors) for batch in tokens.batches()]
    if not parts:
        return Likelihoods(np.empty(0), np.empty(0, np.intp), np.empty(0))
    return Likelihoods(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _batch_likelihoods(
    model: Model, calibration: Calibration, tokens: MaskedTokens, priors: FloatArray
) -> Likelihoods:
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
        logits[number[here], ids[here] - begin] = true[here]  # the very number, or rounding could make a word beat itself
        greater += np.count_nonzero(logits > true[:, np.newaxis], axis=1)
        highest = np.maximum(best, logits.max(1))
        total *= np.exp(best - highest)
        best = highest
        logits -= best[:, np.newaxis]
        total += np.exp(logits, out=logits).sum(1)
    log_total = best + np.log(total)
    return Likelihoods((true - log_total).astype(np.float64), greater + 1, 1 / total)
