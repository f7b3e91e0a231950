"""Maps of neighbourhoods."""

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


def test_places_are_the_first_principal_components(vectors: WordVectors) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    found = neighborhood.find(vectors, "w3", topn=20)
    assert [each.word for each in found.places] == ["w3", *(each.word for each in vectors.most_similar("w3", topn=20))]
    units = vectors.get_vectors([each.word for each in found.places], norm=True)
    pca = decomposition.PCA(2, svd_solver="full")
    expected = pca.fit_transform(units.astype(np.float64))
    places = np.array([(each.x, each.y) for each in found.places])
    assert np.allclose(np.abs(places), np.abs(expected), atol=1e-6)
    assert found.explained == pytest.approx(pca.explained_variance_ratio_.sum())
    assert (places[0] >= 0).all()


def test_similarities_are_to_the_word_itself(vectors: WordVectors) -> None:
    found = neighborhood.find(vectors, "w3", topn=5)
    assert found.places[0].similarity == 1
    for place in found.places[1:]:
        assert place.similarity == pytest.approx(vectors.similarity("w3", place.word), abs=1e-6)
    assert [row[0] for row in found.main_table().rows] == [each.word for each in found.places]


def test_small_neighbourhoods_have_a_map_too(vectors: WordVectors) -> None:
    alone = WordVectors.from_table(["a"], np.ones((1, 1), np.float32))
    (place,) = neighborhood.find(alone, "a").places
    assert (place.word, place.x, place.y) == ("a", 0, 0)
    line = WordVectors.from_table(["a", "b"], np.array([[1.0], [-1.0]], np.float32))
    assert [(each.x, each.y) for each in neighborhood.find(line, "a").places] == [(1, 0), (-1, 0)]
    assert neighborhood.find(line, "a").explained == 1


def test_what_cannot_be_mapped_is_refused(vectors: WordVectors) -> None:
    with pytest.raises(ConfigError, match="topn is 0"):
        neighborhood.find(vectors, "w3", topn=0)
    with pytest.raises(UnknownWordError, match="no vector for 'nothing'"):
        neighborhood.find(vectors, "nothing")
