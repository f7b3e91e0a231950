"""Fitting the calibration of a model by maximum likelihood.

The log-likelihood is concave in the parameters (:mod:`posvec.storage.calibration`), because the logits are linear in
them. Its gradient is the sum of f(w) - E[f], and its Hessian the negative sum of the covariances of f, where f are the
features of a word: its scores, the same times log(N / 2c), and the two terms of the prior. Newton's method needs few
steps. A weak pull towards the parameters of theory decides where the text does not.

The sums over the vocabulary are those of a sample of words, drawn for each masked word and weighted by the inverse of
their probabilities of being drawn. One half is drawn from what theory predicts and the other from the prior, which
between them are close to whatever is fitted, so that all words have to be scored only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from posvec.query.masked_tokens import MaskedTokens, factors_of_heads, length_terms, log_priors, prior_terms
from posvec.storage.calibration import Calibration
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray
from posvec.system.mapping import check_mapped

if TYPE_CHECKING:
    from posvec.model import Model

LEAST_MASKED_WORDS = 200
"""With fewer masked words the parameters are those of theory."""

_DRAWN = 512  # words from each of both distributions, for each masked word
_STEPS = 20  # at most
_TOLERANCE = 1e-6  # of the gain of a step, in nats per masked word
_PULL = 1.0  # how many masked words' worth of evidence the parameters of theory are
_DIGITS = 3
_SCORES = 1 << 23  # in memory at a time
_BLOCK = 128  # masked words whose drawn words are in memory at a time


def fit(model: Model, tokens: MaskedTokens) -> Calibration:
    """Fit the calibration of a model to masked words of text that it was not trained on.

    Parameters
    ----------
    model
        A model with output vectors.
    tokens
        The masked words; the more diverse their texts, the better.

    Returns
    -------
    Calibration
        The parameters of the highest likelihood; those of theory if there are too few masked words.

    Examples
    --------
    >>> import posvec
    >>> from posvec.query.masked_tokens import mask_tokens
    >>> model = posvec.load("model")
    >>> fit(model, mask_tokens(model, [["the", "cat", "sees", "the", "dog"]])).masked_words
    0
    """
    heads = len(model.config.heads)
    theory = Calibration.of_theory(heads)
    if len(tokens) < LEAST_MASKED_WORDS:
        return theory
    check_mapped(model.output_vectors)
    start = np.array([*theory.factors, *theory.length_factors, theory.prior, theory.noise])
    found = _maximize(_sample(model, theory, tokens), start)
    # Rounded, so that other libraries of linear algebra give the same parameters.
    *factors, prior, noise = (round(value, _DIGITS) for value in found.tolist())
    return Calibration(tuple(factors[:heads]), tuple(factors[heads:]), prior, noise, len(tokens))


class _Sample(NamedTuple):
    """The features of masked words, (n, features), and of words that were drawn for them, (n, drawn, features)."""

    masked: DoubleArray
    drawn: FloatArray
    log_weights: DoubleArray
    """(n, drawn)"""


def _sample(model: Model, theory: Calibration, tokens: MaskedTokens) -> _Sample:
    """Draw words for each masked word, with weights by which sums over them estimate those over the vocabulary."""
    random = np.random.default_rng(1)
    priors = log_priors(model.vocabulary, theory)
    terms = np.stack(prior_terms(model.vocabulary), axis=1)
    cumulated_prior = np.cumsum(np.exp(priors))
    parts = []
    for batch in tokens.batches(max(1, _SCORES // len(priors))):
        number = np.arange(len(batch))[:, np.newaxis]
        factors = model.of_features(factors_of_heads(model.config, theory, batch.lengths))
        logits = (batch.context_vectors * factors).astype(np.float32) @ model.output_vectors[:].T
        logits += priors.astype(np.float32)
        logits -= logits.max(1, keepdims=True)
        cumulated = np.cumsum(np.exp(logits, out=logits), axis=1, dtype=np.float64)
        uniform = random.random((len(batch), 2 * _DRAWN))
        drawn = np.empty(uniform.shape, np.intp)
        for row, (sums, values) in enumerate(zip(cumulated, uniform, strict=True)):
            drawn[row, :_DRAWN] = np.searchsorted(sums, values[:_DRAWN] * sums[-1], "right")
        drawn[:, _DRAWN:] = np.searchsorted(cumulated_prior, uniform[:, _DRAWN:] * cumulated_prior[-1], "right")
        drawn = np.minimum(drawn, len(priors) - 1)
        predicted = logits[number, drawn] / cumulated[:, -1:]
        log_weights = -np.log(predicted + np.exp(priors[drawn]))
        features = [_features(model, batch, words, terms) for words in (batch.ids, drawn)]
        parts.append(_Sample(features[0], features[1].astype(np.float32), log_weights))
    return _Sample(*map(np.concatenate, zip(*parts, strict=True)))


def _features(model: Model, tokens: MaskedTokens, words: IndexArray, terms: DoubleArray) -> DoubleArray:
    """Return what the parameters multiply, of a word or of several words for each masked word."""
    scores = []
    for head in model.config.heads:
        contexts = tokens.context_vectors[:, head.features]
        products = (model.output_vectors[ids, head.features] @ u for ids, u in zip(words, contexts, strict=True))
        scores.append(np.stack(list(products)))
    lengths = length_terms(model.config, tokens.lengths).reshape(-1, *([1] * (words.ndim - 1)))
    return np.stack([*scores, *(lengths * each for each in scores), *np.moveaxis(terms[words], -1, 0)], axis=-1)


def _maximize(sample: _Sample, theory: DoubleArray) -> DoubleArray:
    """Return the parameters of the highest likelihood."""
    parameters = theory
    value, gradient, hessian = _derivatives(sample, theory, parameters)
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian, gradient)
        if float(step @ gradient) < _TOLERANCE * len(sample.masked):
            break
        for _ in range(_STEPS):  # halve a step that is too long
            tried = _derivatives(sample, theory, parameters + step)
            if tried[0] > value:
                break
            step = step / 2
        else:
            break
        parameters, (value, gradient, hessian) = parameters + step, tried
    return parameters


def _derivatives(
    sample: _Sample, theory: DoubleArray, parameters: DoubleArray
) -> tuple[float, DoubleArray, DoubleArray]:
    """Return the penalized log-likelihood, its gradient and its negative Hessian."""
    difference = parameters - theory
    value = -_PULL / 2 * float(difference @ difference)
    gradient, hessian = -_PULL * difference, _PULL * np.eye(len(parameters))
    for begin in range(0, len(sample.masked), _BLOCK):
        masked, drawn, log_weights = (part[begin : begin + _BLOCK] for part in sample)
        logits = drawn @ parameters + log_weights
        highest = logits.max(1, keepdims=True)
        probabilities = np.exp(logits - highest)
        totals = probabilities.sum(1, keepdims=True)
        probabilities /= totals
        means = np.einsum("ij,ijk->ik", probabilities, drawn)
        centered = drawn - means[:, np.newaxis]
        value += float((masked @ parameters - (highest + np.log(totals))[:, 0]).sum())
        gradient += (masked - means).sum(0)
        weighted = (centered * probabilities[:, :, np.newaxis]).reshape(-1, len(parameters))
        hessian += weighted.T @ centered.reshape(-1, len(parameters))
    return value, gradient, hessian
