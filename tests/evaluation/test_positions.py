"""Importance of positions: scaled norms, several models, models without positional vectors."""

from __future__ import annotations

import pytest

from posvec import PosvecError
from posvec.evaluation.positions import importance

WORDS = {"a": [1.0, 1.0, 1.0], "b": [1.0, 0.0, 1.0]}


def make(build_model, positional):
    return build_model(WORDS, [[0.0] * 3] * 2, positional)


def test_importance_is_the_norm_scaled_to_the_interval_from_0_to_1(build_model):
    model = make(build_model, [[3, 4], [6, 8], [-15, 0], [0, 10]])  # norms 5, 10, 15, 10
    result = importance(model)
    assert result.models == {"constrained": {-2: 0.0, -1: 0.5, 1: 1.0, 2: 0.5}}
    assert result.to_csv() == "position,constrained\n-2,0.0\n-1,0.5\n+1,1.0\n+2,0.5\n"


def test_models_with_different_windows_share_a_table(build_model):
    models = {"wide": make(build_model, [[1], [2], [3], [5]]), "small": make(build_model, [[7], [9]])}
    (table,) = importance(models).tables()
    assert table.columns == ("position", "wide", "small")
    assert table.rows == [("-2", 0.0, None), ("-1", 0.25, 0.0), ("+1", 0.5, 1.0), ("+2", 1.0, None)]


def test_equal_positions_have_no_importance(build_model):
    assert set(importance(make(build_model, [[1], [1]])).models["constrained"].values()) == {0.0}


def test_the_error_for_a_model_without_positional_vectors_names_models_with_them(build_model):
    with pytest.raises(
        PosvecError, match=r"a general model has no positional vectors; train a positional or constrained model"
    ):
        importance(make(build_model, [[], []]))
