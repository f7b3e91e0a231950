"""Sentence vectors, computed from the vectors of the words.

``mean``        the mean of u_w over the words.
``sif``         smooth inverse frequency (Arora et al. 2017): the mean of a / (a + p(w)) u_w, where p(w) is the relative
                frequency of w in the corpus, 0 for out-of-vocabulary words. Removing the first principal component of
                a batch is optional; it holds what all sentences have in common.
``positional``  the mean of the model's context vectors u_C over all gaps of the sentence: before its first word,
                between two words, and after its last word. u_C is what the model predicts a word from. Masking words
                instead would remove each of them from a context, and a sentence of one word would have no vector; the
                last gap alone would cover only the last c words.

Words without a vector are skipped. A sentence of only such words has a zero vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.system.arrays import FloatArray

if TYPE_CHECKING:
    from posvec.model import Model

METHODS = ("mean", "sif", "positional")


def sentence_vectors(
    model: Model,
    sentences: Iterable[str | Sequence[str]],
    method: str = "mean",
    a: float = 1e-3,
    remove_component: bool = False,
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
    (2, 16)
    """
    if isinstance(sentences, str):
        raise PosvecError("sentence_vectors takes a list of sentences; use sentence_vector for one")
    if method not in METHODS:
        raise PosvecError(f"unknown method {method!r} for sentence vectors; choose from {', '.join(METHODS)}")
    if not a > 0:
        raise PosvecError(f"a must be greater than 0, not {a}; 0.001 is usual")
    if method == "positional":
        vectors = [_positional(model, model.split(sentence)) for sentence in sentences]
    else:
        frequencies = model.vocabulary.counts / model.vocabulary.total_words
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
    mean: FloatArray = weight @ model.vectors.get_vectors(words) / np.float32(len(words))
    return mean


def _positional(model: Model, words: list[str]) -> FloatArray:
    """The mean of u_C over all gaps whose context has a word with a vector.

    Word j is at position p = j - g of a gap g > j, and at p = j - g + 1 of a gap g <= j. In the context C_g it has the
    weight 1 / |C_g|. Adding the weights up over the gaps first gives one weight per word and position, (n, 2c).
    """
    shape = model.config.model
    words = model.counted_words(words)
    known = np.array([number for number, word in enumerate(words) if model.has_vector(word)], np.intp)
    if not len(known):
        return np.zeros(shape.dim, np.float32)
    offset = known[:, None] - np.arange(len(words) + 1)
    position = np.where(offset < 0, offset, offset + 1)
    word, gap = np.nonzero(np.abs(position) <= shape.window)
    context_size = np.bincount(gap, minlength=len(words) + 1)
    row = offset[word, gap] + shape.window  # of p among the positional vectors; there is no row for p = 0
    weights = np.zeros((len(known), 2 * shape.window), np.float32)
    np.add.at(weights, (word, row), 1 / context_size[gap] / np.count_nonzero(context_size))
    vectors = model.vectors.get_vectors([words[number] for number in known])
    mean: FloatArray = weights.sum(1) @ vectors
    positional = (weights @ model.positional_vectors) * vectors[:, : shape.positional_dim]
    mean[: shape.positional_dim] = positional.sum(0)
    return mean
