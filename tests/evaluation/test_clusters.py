"""Clusters of positional features, on positional vectors whose sides are known."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from posvec import PosvecError
from posvec.evaluation.clusters import find

LEFT, RIGHT, BOTH = [0, 0, 9, 0, 0, 0], [0, 0, 0, 9, 0, 0], [5, 5, 5, 5, 5, 5]  # over -3, -2, -1, +1, +2, +3


def make(build_model, *features, more=0):
    """A model with these positional features, signs alternating, and ``more`` features that are not positional."""
    draw = np.random.default_rng(1)
    positional = np.array(features, np.float32).T + draw.uniform(0, 0.1, (len(features[0]), len(features)))
    positional[:, ::2] *= -1
    words = {word: [1.0] * (len(features) + more) for word in ("a", "b")}
    return build_model(words, list(words.values()), positional)


def parts(result):
    return {cluster.name: cluster.features for cluster in result}


def test_features_of_a_constrained_model_form_a_cluster_for_each_side(build_model):
    model = make(build_model, RIGHT, LEFT, LEFT, RIGHT, LEFT, more=1)
    result = find(model)
    assert parts(result) == {"antepositional": (1, 2, 4), "postpositional": (0, 3)}
    assert result["antepositional"].difference < 0 < result["postpositional"].difference
    assert result.silhouette > 0.9


def test_a_positional_model_has_informational_features_beside_them(build_model):
    result = find(make(build_model, RIGHT, BOTH, LEFT, BOTH, RIGHT, LEFT, BOTH))
    assert parts(result) == {"antepositional": (2, 5), "postpositional": (0, 4), "informational": (1, 3, 6)}
    assert result.names == ["antepositional", "postpositional", "informational"]


def test_the_curve_of_a_cluster_is_the_mean_of_absolute_weights(build_model):
    model = make(build_model, LEFT, RIGHT, LEFT, more=1)
    curve = find(model)["antepositional"].curve
    np.testing.assert_allclose(curve, np.abs(model.positional_vectors)[:, [0, 2]].mean(1), rtol=1e-6)
    assert find(model)["antepositional"].mean == pytest.approx(np.mean(curve))


def test_distances_are_compared_from_the_masked_word_outwards(build_model):
    near, far = [0, 0, 9, 0, 0, 0], [9, 0, 0, 0, 0, 0]
    differences = [find(make(build_model, side, RIGHT, more=1))["antepositional"] for side in (near, far)]
    assert [each.features for each in differences] == [(0,), (0,)]
    # mirror images on both sides cancel out
    mirrored = [9, 0, 0, 0, 0, 9]
    assert abs(find(make(build_model, mirrored, more=1), count=1).clusters[0].difference) < 0.1


def test_two_clusters_of_one_side_are_numbered_the_larger_first(build_model):
    far = [9, 9, 0, 0, 0, 0]
    result = find(make(build_model, far, LEFT, LEFT, LEFT, more=1))
    assert parts(result) == {"antepositional-1": (1, 2, 3), "antepositional-2": (0,)}


def test_the_number_of_clusters_can_be_given(build_model):
    model = make(build_model, LEFT, RIGHT, BOTH, LEFT, more=1)
    assert len(find(model, 3)) == 3
    assert len(find(model, 4)) == 4
    assert parts(find(model, 1)) == {"antepositional": (0, 1, 2, 3)}
    assert find(model, 1).silhouette is None


@pytest.mark.parametrize(("kinds", "expected"), [((LEFT, RIGHT), 2), ((LEFT, RIGHT, BOTH), 3)])
def test_the_number_of_clusters_can_be_chosen_by_silhouette(build_model, kinds, expected):
    model = make(build_model, *kinds * 4, more=1)
    assert len(find(model, "auto")) == expected


def test_the_partition_is_that_of_ward_in_scipy(build_model):
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    draw = np.random.default_rng(3)
    model = make(build_model, *draw.normal(size=(40, 6)), more=1)
    weights = np.abs(model.positional_vectors)
    differences = np.stack([weights[3 + k] - weights[2 - k] for k in range(3)], 1)
    for count in (2, 3, 7):
        labels = hierarchy.fcluster(hierarchy.linkage(differences, "ward"), count, "maxclust")
        expected = {tuple(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
        assert set(parts(find(model, count)).values()) == expected


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (5, r"4 positional features cannot form 5 clusters; use fewer"),
        (0, r"the number of clusters is 0, but must be at least 1; or give 'auto'"),
        ("many", r"the number of clusters must be an integer, not 'many'; or give 'auto'"),
        (float("nan"), r"the number of clusters must be an integer, not nan"),
    ],
)
def test_an_invalid_number_of_clusters_is_rejected(build_model, count, message):
    with pytest.raises(PosvecError, match=message):
        find(make(build_model, LEFT, RIGHT, LEFT, RIGHT, more=1), count)


def test_too_few_features_to_choose_a_number_are_named(build_model):
    with pytest.raises(PosvecError, match=r"needs at least 3 positional features, and the model has 2"):
        find(make(build_model, LEFT, RIGHT, more=1), "auto")


def test_a_model_without_positional_vectors_is_rejected(build_model):
    with pytest.raises(PosvecError, match=r"a general model has no positional vectors; train a positional or"):
        find(build_model({"a": [1.0]}, [[1.0]], [[], []]))


def test_a_missing_library_is_named_with_its_extra(build_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(PosvecError, match=r'pip install "posvec\[plots\]"'):
        find(make(build_model, LEFT, RIGHT, more=1))


def test_results_carry_sizes_curves_and_features(build_model):
    result = find(make(build_model, RIGHT, LEFT, LEFT, more=1))
    assert result.to_csv().splitlines()[0] == "cluster,size,mean |d|,right − left,features"
    assert result.to_csv().splitlines()[1].split(",")[::4] == ["antepositional", "1 2"]
    assert result.to_dict()["clusters"][0]["features"] == [1, 2]
    assert "weights" not in result.to_dict()  # they are in the model
    assert [table.columns[0] for table in result.tables()] == ["cluster", "position", "cluster"]
