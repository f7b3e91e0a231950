"""Masked words: predictions and explanations, on a model small enough to calculate by hand."""

from __future__ import annotations

import math

import pytest
from rich.console import Console

from posvec import PosvecError
from posvec.evaluation import masked
from posvec.evaluation.clusters import FeatureCluster

FIRST = FeatureCluster("antepositional", (0,), (1.0, 2.0, 3.0, 4.0), -1.0)


@pytest.fixture
def model(build_model):
    """c = 2, D = 3, of which D' = 2 are positional."""
    inputs = {"cats": [1, 0, 1], "dogs": [0, 1, 2], "mew": [1, 1, 0], "bark": [2, 0, 0]}
    outputs = [[0, 0, 0], [0, 0, 0], [1, 2, 3], [3, 2, 1]]
    positional = [[1, 10], [2, 20], [3, 30], [4, 40]]  # at -2, -1, +1, +2
    return build_model(inputs, outputs, positional)


def sigmoid(score):
    return 1 / (1 + math.exp(-score))


def test_predictions_come_with_rank_score_and_probability(model):
    # u_C = ([2, 0, 1] + [0, 30, 2]) / 2 = [1, 15, 1.5]
    (predictions,) = masked.predict(model, "cats [MASK] dogs").predictions
    assert [(each.rank, each.word, each.score) for each in predictions] == [
        (1, "mew", 35.5),
        (2, "bark", 34.5),
        (3, "cats", 0.0),
        (4, "dogs", 0.0),
    ]
    assert [each.probability for each in predictions] == pytest.approx([sigmoid(35.5), sigmoid(34.5), 0.5, 0.5])


def test_requested_words_follow_the_best_words_in_the_order_of_their_ranks(model):
    result = masked.predict(model, "cats [MASK] dogs", topn=1, words=["dogs", "bark"])
    assert [(each.rank, each.word) for each in result.predictions[0]] == [(1, "mew"), (2, "bark"), (4, "dogs")]
    alone = masked.predict(model, "cats [MASK] dogs", topn=0, words=["bark", "mew", "bark"])
    assert [(each.rank, each.word) for each in alone.predictions[0]] == [(1, "mew"), (2, "bark")]


def test_a_requested_word_is_not_repeated_if_it_is_among_the_best(model):
    result = masked.predict(model, "cats [MASK] dogs", topn=2, words=["mew"])
    assert [each.word for each in result.predictions[0]] == ["mew", "bark"]


def test_a_pad_holds_a_position_and_contributes_nothing(model):
    near, far = masked.explain(model, "cats [MASK]", "bark"), masked.explain(model, "cats [PAD] [MASK]", "bark")
    assert [(each.word, each.position, each.value) for each in near.contributions] == [("cats", -1, 7.0)]
    assert [(each.word, each.position, each.value) for each in far.contributions] == [("cats", -2, 4.0)]


def test_features_of_a_cluster_alone_enter_the_score(model):
    (predictions,) = masked.predict(model, "cats [MASK] dogs", cluster=FIRST).predictions
    assert [(each.word, each.score) for each in predictions[:2]] == [("bark", 3.0), ("mew", 1.0)]
    explanation = masked.explain(model, "cats [MASK] dogs", "bark", FIRST)
    assert [each.value for each in explanation.contributions] == [3.0, 0.0]
    assert explanation.cluster == "antepositional"


def test_contributions_are_those_of_the_formula_and_add_up_to_the_score(model):
    sentence = "dogs cats [MASK] dogs bark"
    explanation = masked.explain(model, sentence, "mew")
    # (u * [d_p, 1]) . v / N with v = [1, 2, 3]
    assert [(each.word, each.position, each.value) for each in explanation.contributions] == [
        ("dogs", -2, (10 * 2 + 2 * 3) / 4),
        ("cats", -1, (2 * 1 + 1 * 3) / 4),
        ("dogs", 1, (30 * 2 + 2 * 3) / 4),
        ("bark", 2, (8 * 1) / 4),
    ]
    assert sum(each.value for each in explanation.contributions) == explanation.score
    (prediction,) = masked.predict(model, sentence, topn=0, words=["mew"]).predictions[0]
    assert explanation.score == pytest.approx(prediction.score, rel=1e-6)
    assert explanation.probability == pytest.approx(prediction.probability)


def test_sentences_stand_side_by_side_and_are_all_in_the_csv(model):
    result = masked.predict(model, ["cats [MASK]", "dogs [MASK]"], topn=1)
    console = Console(width=80, record=True, markup=False)
    console.print(result)
    assert any("cats [MASK]" in line and "dogs [MASK]" in line for line in console.export_text().splitlines())
    header, *rows = result.to_csv().splitlines()
    assert header == "sentence,rank,word,score,probability"
    assert [row.split(",")[:3] for row in rows] == [["cats [MASK]", "1", "bark"], ["dogs [MASK]", "1", "mew"]]


def test_an_explanation_shows_the_score_below_the_contributions(model):
    (table,) = masked.explain(model, "cats [MASK] dogs", "mew").tables()
    assert table.rows == [("cats", "-1", 2.5), ("dogs", "+1", 33.0), ("score", None, 35.5)]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("cats dogs", r"exactly one \[MASK\] .* not 0"),
        ("[MASK] cats [MASK]", r"exactly one \[MASK\] .* not 2"),
        ("moo [MASK] oink", r"no word of the sentence near its \[MASK\] has a vector"),
        ("[PAD] [MASK]", r"no word of the sentence near its \[MASK\] has a vector"),
    ],
)
def test_invalid_sentences_are_rejected(model, sentence, message):
    for call in (lambda: masked.predict(model, sentence), lambda: masked.explain(model, sentence, "mew")):
        with pytest.raises(PosvecError, match=message):
            call()


def test_an_unknown_cluster_or_masked_word_is_named(model):
    with pytest.raises(
        PosvecError, match=r"there is no cluster 'sideways'; this model has postpositional-1, postpositional-2"
    ):
        masked.predict(model, "cats [MASK]", cluster="sideways")
    with pytest.raises(PosvecError, match=r"cannot predict moo"):
        masked.explain(model, "cats [MASK]", "moo")
