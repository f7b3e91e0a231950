"""Vectors of sentences, made of the vectors of their words.

``mean``        the mean of u_w over the words.
``sif``         smooth inverse frequency (Arora et al. 2017): the mean of a / (a + p(w)) u_w, where p(w) is the share of
                w in the corpus; a word outside the vocabulary has p = 0. Optionally without the first principal
                component of the batch, which carries what all sentences have in common.
``positional``  the model's own context vector, averaged over the gaps of the sentence: before its first word, between
                any two, after its last. In each gap, u_C is what the model would predict a word from. Over gaps rather
                than masked words, so that no context lacks a word of the sentence and a single word has a vector too;
                over all of them rather than only the one after the last word, which knows only the last c words.

Words without a vector are passed over, and a sentence of only such words has a vector of zeros.
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
    """The vector of each sentence, (n, D)."""
    if isinstance(sentences, str):
        raise PosvecError("sentence_vectors takes a list of sentences; use sentence_vector for one")
    if method not in METHODS:
        raise PosvecError(f"there is no method {method!r} for sentence vectors; choose {', '.join(METHODS)}")
    if not a > 0:
        raise PosvecError(f"a, which weights frequent words, is above 0, and {a} is not; 0.001 is usual")
    if method == "positional":
        vectors = [_positional(model, model.split(sentence)) for sentence in sentences]
    else:
        share = model.vocabulary.counts / model.vocabulary.total_words
        weights = a / (a + share) if method == "sif" else np.ones(len(share))
        vectors = [_weighted(model, model.split(sentence), weights) for sentence in sentences]
    table = np.array(vectors, np.float32).reshape(-1, model.config.model.dim)
    return without_first_component(table) if remove_component else table


def without_first_component(vectors: FloatArray) -> FloatArray:
    """The vectors less their projections on the direction in which they are longest together."""
    if len(vectors) < 2:
        raise PosvecError("a common component is that of several sentences, and here is one; give more, or keep it")
    direction = first_component(vectors)
    return vectors - np.outer(vectors @ direction, direction)


def first_component(vectors: FloatArray) -> FloatArray:
    """The direction in which vectors are longest together, (D,)."""
    # Of the (D, D) products rather than of the vectors, which may be millions.
    direction: FloatArray = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    return direction


def _weighted(model: Model, words: list[str], weights: NDArray[np.float64]) -> FloatArray:
    """The mean of the words' vectors, each times the weight of its word."""
    words = [word for word in words if model.has_vector(word)]
    if not words:
        return np.zeros(model.config.model.dim, np.float32)
    index = model.vocabulary.index
    weight = np.array([weights[index[word]] if word in index else 1.0 for word in words], np.float32)
    mean: FloatArray = weight @ model.vectors.get_vectors(words) / np.float32(len(words))
    return mean


def _positional(model: Model, words: list[str]) -> FloatArray:
    """The mean of u_C over all gaps whose context has a word.

    Word j is at p = j - g of a gap g > j, and at p = j - g + 1 of a gap g <= j, where it counts 1 / |C_g| of its
    product with d_p. Summed over gaps first, that is a weight of each position for each word, (n, 2c).
    """
    shape = model.config.model
    places = model.places(words)
    at = np.array([place for place, word in enumerate(places) if model.has_vector(word)], np.intp)
    if not len(at):
        return np.zeros(shape.dim, np.float32)
    offset = at[:, None] - np.arange(len(places) + 1)
    position = np.where(offset < 0, offset, offset + 1)
    word, gap = np.nonzero(np.abs(position) <= shape.window)
    size = np.bincount(gap, minlength=len(places) + 1)
    row = offset[word, gap] + shape.window  # of p in the table of positional vectors, which has none for p = 0
    weights = np.zeros((len(at), 2 * shape.window), np.float32)
    np.add.at(weights, (word, row), 1 / size[gap] / np.count_nonzero(size))
    vectors = model.vectors.get_vectors([places[place] for place in at])
    mean: FloatArray = weights.sum(1) @ vectors
    positional = (weights @ model.positional_vectors) * vectors[:, : shape.positional_dim]
    mean[: shape.positional_dim] = positional.sum(0)
    return mean
