"""Fitting the calibration of a model: maximum likelihood over the whole vocabulary by Newton's method.

The log-likelihood is concave in the parameters (:mod:`posvec.storage.calibration`), because the logits are linear in
them. Its gradient is the sum of f(w) - E[f], and its Hessian the negative sum of the covariances of f, where f are the
features of a word: its scores, the same times log(N / 2c), and the two terms of the prior. A weak pull towards the
parameters of theory decides where the text does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posvec.query.masked_tokens import MaskedTokens, length_terms, prior_terms
from posvec.storage.calibration import Calibration
from posvec.system.arrays import DoubleArray
from posvec.system.mapping import check_mapped

if TYPE_CHECKING:
    from posvec.model import Model

LEAST_MASKED_WORDS = 200
"""With fewer masked words the parameters are those of theory."""

_FEW = 256  # masked words of the first steps, which need no precision
_STEPS = 12  # at most
_TOLERANCE = 1e-3  # of the gain of a step, in nats per masked word
_PULL = 1.0  # how many masked words' worth of evidence the parameters of theory are
_DIGITS = 3
_SCORES = 1 << 24  # in memory at a time


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
    few = tokens.select(slice(_FEW))
    found = _maximize(model, tokens, start, _maximize(model, few, start, start))
    # Rounded, so that other libraries of linear algebra give the same parameters.
    *factors, prior, noise = (round(value, _DIGITS) for value in found.tolist())
    return Calibration(tuple(factors[:heads]), tuple(factors[heads:]), prior, noise, len(tokens))


def _maximize(model: Model, tokens: MaskedTokens, theory: DoubleArray, parameters: DoubleArray) -> DoubleArray:
    """Return the parameters of the highest likelihood, from given ones on."""
    value, gradient, hessian = _derivatives(model, tokens, theory, parameters)
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian, gradient)
        gain = float(step @ gradient) / 2
        if gain < _TOLERANCE * len(tokens):
            break
        for _ in range(_STEPS):  # halve a step that is too long
            tried = _derivatives(model, tokens, theory, parameters + step)
            if tried[0] > value:
                break
            step = step / 2
        else:
            break
        parameters, (value, gradient, hessian) = parameters + step, tried
    return parameters


def _derivatives(
    model: Model, tokens: MaskedTokens, theory: DoubleArray, parameters: DoubleArray
) -> tuple[float, DoubleArray, DoubleArray]:
    """Return the penalized log-likelihood, its gradient and its negative Hessian."""
    difference = parameters - theory
    value = -_PULL / 2 * float(difference @ difference)
    gradient = -_PULL * difference
    hessian = _PULL * np.eye(len(parameters))
    priors = np.array(prior_terms(model.vocabulary))
    fixed = np.stack([*priors, priors[0] ** 2, priors[0] * priors[1], priors[1] ** 2]).astype(np.float32)
    together = max(1, _SCORES // len(model.vocabulary))
    for batch in tokens.batches(together):
        of_batch = _batch_derivatives(model, batch, parameters, fixed)
        value, gradient, hessian = value + of_batch[0], gradient + of_batch[1], hessian + of_batch[2]
    return value, gradient, hessian


def _batch_derivatives(
    model: Model, tokens: MaskedTokens, parameters: DoubleArray, fixed: np.ndarray
) -> tuple[float, DoubleArray, DoubleArray]:
    heads, ids, number = model.config.heads, tokens.ids, np.arange(len(tokens))
    count, lengths = len(heads), length_terms(model.config, tokens.lengths)
    scores = [
        tokens.context_vectors[:, head.features] @ model.output_vectors[:, head.features].T for head in heads
    ]
    factors = parameters[:count] + np.outer(lengths, parameters[count : 2 * count])
    logits = parameters[-2:].astype(np.float32) @ fixed[:2] + np.zeros((len(ids), 1), np.float32)
    for head, of_head in enumerate(scores):
        logits += factors[:, head, np.newaxis].astype(np.float32) * of_head
    highest = logits.max(1, keepdims=True)
    true = (logits[number, ids] - highest[:, 0]).astype(np.float64)
    logits -= highest
    probabilities = np.exp(logits, out=logits)
    totals = probabilities.sum(1, dtype=np.float64)
    probabilities /= totals[:, np.newaxis].astype(np.float32)
    # The means and second moments of the scores and of the two terms of the prior, (n, count + 2[, count + 2]).
    means = np.empty((len(ids), count + 2))
    moments = np.empty((len(ids), count + 2, count + 2))
    means[:, count:] = probabilities @ fixed[:2].T
    second = probabilities @ fixed[2:].T
    moments[:, count, count], moments[:, count + 1, count + 1] = second[:, 0], second[:, 2]
    moments[:, count, count + 1] = moments[:, count + 1, count] = second[:, 1]
    values = np.empty((len(ids), count + 2))
    values[:, count:] = fixed[:2, ids].T
    for head, of_head in enumerate(scores):
        values[:, head] = of_head[number, ids]
        weighted = probabilities * of_head
        means[:, head] = weighted.sum(1)
        moments[:, head, count:] = moments[:, count:, head] = weighted @ fixed[:2].T
        for other in range(head + 1):
            moments[:, head, other] = moments[:, other, head] = np.einsum("ij,ij->i", weighted, scores[other])
    covariances = moments - means[:, :, np.newaxis] * means[:, np.newaxis]
    # From the features of a word to those of the parameters: the scores come once more, times log(N / 2c).
    spread = np.zeros((len(ids), 2 * count + 2, count + 2))
    spread[:, range(count), range(count)] = 1
    spread[:, range(count, 2 * count), range(count)] = lengths[:, np.newaxis]
    spread[:, -2:, -2:] = np.eye(2)
    gradient = np.einsum("iab,ib->a", spread, values - means)
    hessian = np.einsum("iab,ibc,idc->ad", spread, covariances, spread)
    return float((true - np.log(totals)).sum()), gradient, hessian
