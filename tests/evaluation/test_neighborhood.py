"""Maps of neighbourhoods: PCA, similarities, small neighbourhoods."""

from __future__ import annotations

import numpy as np
import pytest

from posvec.errors import ConfigError, UnknownWordError
from posvec.evaluation import neighborhood
from posvec.vectors import WordVectors


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    draw = np.random.default_rng(1)
    return WordVectors.from_table([f"w{i}" for i in range(50)], draw.normal(size=(50, 8)).astype(np.float32))


def test_points_are_the_first_principal_components(vectors: WordVectors) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    found = neighborhood.find(vectors, "w3", topn=20)
    assert [each.word for each in found.places] == ["w3", *(each.word for each in vectors.most_similar("w3", topn=20))]
    units = vectors.get_vectors([each.word for each in found.places], norm=True)
    pca = decomposition.PCA(2, svd_solver="full")
    expected = pca.fit_transform(units.astype(np.float64))
    points = np.array([(each.x, each.y) for each in found.places])
    assert np.allclose(np.abs(points), np.abs(expected), atol=1e-6)
    assert found.explained == pytest.approx(pca.explained_variance_ratio_.sum())
    assert (points[0] >= 0).all()


def test_similarities_are_to_the_word_itself(vectors: WordVectors) -> None:
    found = neighborhood.find(vectors, "w3", topn=5)
    assert found.places[0].similarity == 1
    for point in found.places[1:]:
        assert point.similarity == pytest.approx(vectors.similarity("w3", point.word), abs=1e-6)
    assert [row[0] for row in found.main_table().rows] == [each.word for each in found.places]


def test_small_neighbourhoods_have_a_map_too(vectors: WordVectors) -> None:
    alone = WordVectors.from_table(["a"], np.ones((1, 1), np.float32))
    (point,) = neighborhood.find(alone, "a").places
    assert (point.word, point.x, point.y) == ("a", 0, 0)
    line = WordVectors.from_table(["a", "b"], np.array([[1.0], [-1.0]], np.float32))
    assert [(each.x, each.y) for each in neighborhood.find(line, "a").places] == [(1, 0), (-1, 0)]
    assert neighborhood.find(line, "a").explained == 1


def test_maps_without_neighbours_or_of_unknown_words_are_rejected(vectors: WordVectors) -> None:
    with pytest.raises(ConfigError, match="topn is 0, but must be at least 1"):
        neighborhood.find(vectors, "w3", topn=0)
    with pytest.raises(UnknownWordError, match="no vector for 'nothing'"):
        neighborhood.find(vectors, "nothing")
