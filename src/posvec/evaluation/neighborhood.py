"""Maps of neighbourhoods: a word and its nearest neighbours in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posvec.evaluation.lookup import word_vectors
from posvec.evaluation.results import Result, Table
from posvec.query.parsing import parse_integer
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class MapPoint:
    """A word on a map.

    Attributes
    ----------
    word
        The word.
    x, y
        Its coordinates.
    similarity
        The cosine with the word at the center of the neighbourhood.

    Examples
    --------
    >>> from posvec.evaluation.neighborhood import MapPoint
    >>> MapPoint("dog", x=0.5, y=-0.25, similarity=0.75)
    MapPoint(word='dog', x=0.5, y=-0.25, similarity=0.75)
    """

    word: str
    x: float
    y: float
    similarity: float


@dataclass(frozen=True)
class Neighborhood(Result):
    """A word and its neighbours, projected on the first two principal components of their vectors.

    Attributes
    ----------
    word
        The word whose neighbours are shown.
    places
        The points of the map: the word itself, then its neighbours, the nearest first.
    explained
        The fraction of the variance in the first two components.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import neighborhood
    >>> found = neighborhood.find(posvec.load("model"), "cat", topn=2)
    >>> found.word, found.places[1].similarity >= found.places[2].similarity
    ('cat', True)
    """

    word: str
    places: tuple[MapPoint, ...]
    explained: float

    def tables(self) -> list[Table]:
        """Return one table with a row for each word."""
        rows = [(each.word, each.x, each.y, each.similarity) for each in self.places]
        title = f"Neighbourhood of {self.word} ({self.explained:.0%} of the variance)"
        return [Table(title, ("word", "x", "y", "similarity"), rows)]


def find(model: Model | WordVectors, word: str, topn: int = 40, restrict_vocab: int | None = None) -> Neighborhood:
    """Project a word and its nearest neighbours to two dimensions by PCA of their unit vectors.

    Parameters
    ----------
    model
        A model or word vectors.
    word
        A word with a vector.
    topn
        The number of neighbours.
    restrict_vocab
        Search only this many most frequent words; None means all words.

    Returns
    -------
    Neighborhood
        The points of the map.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import neighborhood
    >>> found = neighborhood.find(posvec.load("model"), "cat", topn=5)
    >>> found.places[0].word, len(found.places), 0 < found.explained <= 1
    ('cat', 6, True)
    """
    topn = parse_integer("topn", topn, 1)
    vectors = word_vectors(model)
    near = vectors.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)
    words, similarities = [word, *(each.word for each in near)], [1.0, *(each.similarity for each in near)]
    units = vectors.get_vectors(words, norm=True).astype(np.float64)
    centered = units - units.mean(0)
    # The smaller of the two matrices of products, of the words or of the features. An SVD of the vectors uses several
    # threads that wait for one another, and takes many times as long when many requests run at once.
    by_words = len(centered) <= centered.shape[1]
    squares, components = np.linalg.eigh(centered @ centered.T if by_words else centered.T @ centered)
    squares, components = np.maximum(squares[::-1], 0), components[:, ::-1][:, :2]
    points = components * np.sqrt(squares[:2]) if by_words else centered @ components
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    # The signs of components are arbitrary; choose them so that the word itself has positive coordinates.
    points *= np.where(points[0] < 0, -1, 1)
    total = float(squares.sum())
    return Neighborhood(
        word,
        tuple(
            MapPoint(each, x, y, similarity)
            for each, (x, y), similarity in zip(words, points.tolist(), similarities, strict=True)
        ),
        float(squares[:2].sum()) / total if total else 1.0,
    )
