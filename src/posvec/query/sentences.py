"""Sentence vectors, computed from the vectors of the words.

``mean``        the mean of u_w over the words.
``sif``         smooth inverse frequency (Arora et al. 2017): the mean of a / (a + p(w)) u_w, where p(w) is the relative
                frequency of w in the corpus, 0 for out-of-vocabulary words. Removing the first principal component of
                a batch is optional; it holds what all sentences have in common.
``positional``  the mean of the model's context vectors u_C over all gaps of the sentence whose context has a word with
                a vector: before the first word, between two words, and after the last word. u_C is what the model
                predicts a word from; it weights context words as in training, or equally, see
                :mod:`posvec.query.masked`. Masking words instead would remove each of them from a context, and a
                sentence of one word would have no vector; the last gap alone would cover only the last c words. Time
                and memory grow linearly with the sentence.

Words without a vector are skipped. A sentence of only such words has a zero vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.query.lookup import not_finite_error
from posvec.query.masked import ContextWeighting, check_weighting
from posvec.query.parsing import parse_number
from posvec.system.arrays import DoubleArray, FloatArray
from posvec.system.mapping import check_mapped

if TYPE_CHECKING:
    from posvec.model import Model

METHODS = ("mean", "sif", "positional")

_NUMBERS = 1 << 20  # weights, and numbers of vectors, that are in memory at a time


def sentence_vectors(
    model: Model,
    sentences: Iterable[str | Sequence[str]],
    method: str = "mean",
    a: float = 1e-3,
    remove_component: bool = False,
    weighting: ContextWeighting = "trained",
) -> FloatArray:
    """Compute the vectors of sentences.

    Parameters
    ----------
    model
        The model whose word vectors are used.
    sentences
        Strings, which the model's tokenizer splits, or lists of words.
    method
        ``mean``, ``sif`` or ``positional``; see :mod:`posvec.query.sentences`.
    a
        The constant of ``sif``; the smaller it is, the lower the weight of frequent words.
    remove_component
        Whether to remove the first principal component of these sentences from their vectors.
    weighting
        The weighting of context words in ``positional``: ``trained`` or ``equal``, see :mod:`posvec.query.masked`.

    Returns
    -------
    numpy.ndarray
        A vector in each row, (n, D).

    Examples
    --------
    >>> import posvec
    >>> from posvec.query.sentences import sentence_vectors
    >>> model = posvec.load("model")
    >>> sentence_vectors(model, ["the cat sees the dog", ["cow", "river"]], method="sif").shape
    (2, 32)
    """
    if isinstance(sentences, str):
        raise PosvecError("sentence_vectors takes a list of sentences; use sentence_vector for one")
    if method not in METHODS:
        raise PosvecError(f"unknown method {method!r} for sentence vectors; choose from {', '.join(METHODS)}")
    check_weighting(weighting)
    if not parse_number("a", a) > 0:
        raise PosvecError(f"a must be greater than 0, not {a}; 0.001 is usual")
    if not isinstance(sentences, Iterable):
        raise PosvecError(f"sentence_vectors takes a list of sentences, not {sentences!r}")
    if method == "positional":
        vectors = [_positional(model, model.split(sentence), weighting) for sentence in sentences]
    else:
        frequencies = model.vocabulary.counts / max(model.vocabulary.total_words, 1)
        weights = a / (a + frequencies) if method == "sif" else np.ones(len(frequencies))
        vectors = [_weighted_mean(model, model.split(sentence), weights) for sentence in sentences]
    table = np.array(vectors, np.float32).reshape(-1, model.config.model.dim)
    return without_first_component(table) if remove_component else table


def without_first_component(vectors: FloatArray) -> FloatArray:
    """Return vectors, (n, D), without their projections on their first principal component (uncentred)."""
    if len(vectors) < 2:
        raise PosvecError(
            "removing the common component needs at least two sentences; give more, or leave out remove_component"
        )
    direction = first_component(vectors)
    return vectors - np.outer(vectors @ direction, direction)


def first_component(vectors: FloatArray) -> FloatArray:
    """Return the first principal component of vectors, (D,), computed without centring them."""
    # From the (D, D) matrix of products, because there may be millions of vectors.
    direction: FloatArray = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    return direction


def _weighted_mean(model: Model, words: list[str], weights: NDArray[np.float64]) -> FloatArray:
    """The mean of the words' vectors, each times the weight of its word; out-of-vocabulary words have weight 1."""
    words = [word for word in words if model.has_vector(word)]
    if not words:
        return np.zeros(model.config.model.dim, np.float32)
    index = model.vocabulary.index
    weight = np.array([weights[index[word]] if word in index else 1.0 for word in words], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        mean: FloatArray = weight @ model.vectors.get_vectors(words) / np.float32(len(words))
    return _checked(model, mean, words)


def _positional(model: Model, words: list[str], weighting: ContextWeighting) -> FloatArray:
    """The mean of u_C over all gaps whose context has a word with a vector; N_g, below, is that of each head.

    Gap g is before word g. Word j is at position p of gap j - p if p < 0, and of gap j - p + 1 if p > 0. A gap divides
    the terms of its context words by N_g, the sum of their sizes. Adding 1 / N_g up over the gaps first gives one
    weight per word and position, which is computed for some words at a time.
    """
    shape, heads = model.config.model, model.config.heads
    words = model.counted_words(words)
    known = [word if model.has_vector(word) else None for word in words]
    distinct = list(dict.fromkeys(filter(None, known)))
    mean = np.zeros(shape.dim)
    if not distinct:
        return mean.astype(np.float32)
    size_of = dict(zip(distinct, model.context_sizes(distinct, weighting), strict=True))
    nothing = np.zeros(len(heads))
    # Beyond the sentence there are neither words nor gaps, so a longer window makes no difference.
    window = min(shape.window, len(words))
    before = np.cumsum([nothing, *(size_of[word] if word else nothing for word in known)], 0)
    gaps = np.arange(len(words) + 1)
    sizes = before[np.minimum(gaps + window, len(words))] - before[np.maximum(gaps - window, 0)]
    inverse = 1 / np.where(sizes > 0, sizes, np.inf) / np.count_nonzero((sizes > 0).any(1))
    inverse = np.pad(inverse, ((window, window), (0, 0)))
    positions = np.array([*range(-window, 0), *range(1, window + 1)])
    gap_of_word = window - positions + (positions > 0)  # in the padded array, for the first word
    check_mapped(model.positional_vectors)
    positional_vectors = model.positional_vectors[positions + shape.window - (positions > 0)]
    together = max(1, _NUMBERS // max(2 * window * len(heads), shape.dim))
    for begin in range(0, len(words), together):
        here = [begin + i for i, word in enumerate(known[begin : begin + together]) if word]
        weights = inverse[np.array(here, np.intp)[:, np.newaxis] + gap_of_word]
        listed = [known[i] or "" for i in here]
        index = {word: i for i, word in enumerate(dict.fromkeys(listed))}
        terms = model.context_terms(index, weighting).terms[[index[word] for word in listed]]
        with np.errstate(over="ignore", invalid="ignore"):
            for head, of_head in zip(heads, np.moveaxis(weights, -1, 0), strict=True):
                plain = slice(head.positional_end, head.end)
                mean[plain] += of_head.sum(1) @ terms[:, plain]
                weighted = (of_head @ positional_vectors[:, head.positional]) * terms[:, head.positional]
                mean[head.positional] += weighted.sum(0)
    return _checked(model, mean, distinct)


def _checked(model: Model, mean: FloatArray | DoubleArray, words: list[str]) -> FloatArray:
    """Return a sentence vector; raise PosvecError that says why if it is not finite."""
    with np.errstate(over="ignore"):
        vector = mean.astype(np.float32)
    if not np.isfinite(vector).all():
        model.check_finite_positions()
        for word in words:
            if not np.isfinite(model.vectors.get_vector(word)).all():
                raise not_finite_error(word)
        raise PosvecError("the sentence vector is too large for float32; train the model again at a lower rate")
    return vector
