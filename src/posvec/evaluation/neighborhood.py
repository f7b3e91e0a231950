"""A map of a word's neighbourhood: the word and its neighbours in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from posvec.errors import ConfigError
from posvec.evaluation.lookup import word_vectors
from posvec.evaluation.results import Result, Table
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class Place:
    """A word on the map."""

    word: str
    x: float
    y: float
    similarity: float
    """To the word in whose neighbourhood it is."""


@dataclass(frozen=True)
class Neighborhood(Result):
    """A word and its neighbours, the nearest first, at their first two principal components."""

    word: str
    places: tuple[Place, ...]
    explained: float
    """Share of the variance that two dimensions show, 0 to 1."""

    def tables(self) -> list[Table]:
        rows = [(each.word, each.x, each.y, each.similarity) for each in self.places]
        title = f"Neighbourhood of {self.word} ({self.explained:.0%} of the variance)"
        return [Table(title, ("word", "x", "y", "similarity"), rows)]


def find(model: Model | WordVectors, word: str, topn: int = 40, restrict_vocab: int | None = None) -> Neighborhood:
    """The ``topn`` neighbours of a word and the word itself, projected from the sphere of unit vectors by PCA."""
    if topn < 1:
        raise ConfigError(f"a neighbourhood has neighbours, and topn is {topn}; give at least 1")
    vectors = word_vectors(model)
    near = vectors.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)
    words, similarities = [word, *(each.word for each in near)], [1.0, *(each.similarity for each in near)]
    units = vectors.get_vectors(words, norm=True).astype(np.float64)
    centred = units - units.mean(0)
    # By the products of words with words, which are few: to decompose the vectors themselves takes several threads that
    # wait for one another, and many times as long where many ask at once.
    squares, components = np.linalg.eigh(centred @ centred.T)
    squares, components = np.maximum(squares[::-1], 0), components[:, ::-1]
    places = np.pad(components[:, :2] * np.sqrt(squares[:2]), ((0, 0), (0, 2 - len(squares[:2]))))
    # The sign of a component is arbitrary; the word itself lies right of the middle and above it.
    places *= np.where(places[0] < 0, -1, 1)
    total = float(squares.sum())
    return Neighborhood(
        word,
        tuple(Place(each, x, y, near) for each, (x, y), near in zip(words, places.tolist(), similarities, strict=True)),
        float(squares[:2].sum()) / total if total else 1.0,
    )
