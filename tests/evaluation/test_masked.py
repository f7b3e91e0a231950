"""Masked words: predictions and explanations, on a model small enough to calculate by hand."""

from __future__ import annotations

import math

import pytest
from rich.console import Console

from posvec import PosvecError
from posvec.evaluation import masked
from posvec.evaluation.clusters import FeatureCluster
from posvec.storage.calibration import Calibration

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


def test_the_papers_predictions_come_with_rank_score_and_probability(model):
    # u_C = ([2, 0, 1] + [0, 30, 2]) / 2 = [1, 15, 1.5]
    (predictions,) = masked.predict(model, "cats [MASK] dogs", ranking="paper").predictions
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
    near, far = (
        masked.explain(model, sentence, "bark", ranking="paper") for sentence in ("cats [MASK]", "cats [PAD] [MASK]")
    )
    assert [(each.word, each.position, each.value) for each in near.contributions] == [("cats", -1, 7.0)]
    assert [(each.word, each.position, each.value) for each in far.contributions] == [("cats", -2, 4.0)]


def test_features_of_a_cluster_alone_enter_the_score(model):
    (predictions,) = masked.predict(model, "cats [MASK] dogs", cluster=FIRST, ranking="paper").predictions
    assert [(each.word, each.score) for each in predictions[:2]] == [("bark", 3.0), ("mew", 1.0)]
    explanation = masked.explain(model, "cats [MASK] dogs", "bark", FIRST, ranking="paper")
    assert [each.value for each in explanation.contributions] == [3.0, 0.0]
    assert explanation.cluster == "antepositional"


def test_contributions_are_those_of_the_formula_and_add_up_to_the_score(model):
    sentence = "dogs cats [MASK] dogs bark"
    explanation = masked.explain(model, sentence, "mew", ranking="paper")
    # (u * [d_p, 1]) . v / N with v = [1, 2, 3]
    assert [(each.word, each.position, each.value) for each in explanation.contributions] == [
        ("dogs", -2, (10 * 2 + 2 * 3) / 4),
        ("cats", -1, (2 * 1 + 1 * 3) / 4),
        ("dogs", 1, (30 * 2 + 2 * 3) / 4),
        ("bark", 2, (8 * 1) / 4),
    ]
    assert sum(each.value for each in explanation.contributions) == explanation.score
    (prediction,) = masked.predict(model, sentence, topn=0, words=["mew"], ranking="paper").predictions[0]
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
    (table,) = masked.explain(model, "cats [MASK] dogs", "mew", ranking="paper").tables()
    assert table.rows == [("cats", "-1", 2.5), ("dogs", "+1", 33.0), ("score", None, 35.5)]


# ---- probabilities --------------------------------------------------------------------------------------------------


def softmax(logits):
    powers = [math.exp(each - max(logits)) for each in logits]
    return [each / sum(powers) for each in powers]


def log_odds(model):
    """What theory adds to the scores: log(Pn(w) / keep(w))."""
    keep = model.vocabulary.keep_probabilities()
    return [math.log(n / k) for n, k in zip(model.vocabulary.negative_weights(), keep, strict=True)]


def test_probabilities_are_the_softmax_of_scores_and_prior(model):
    scores = [0.0, 0.0, 35.5, 34.5]
    expected = softmax([score + odds for score, odds in zip(scores, log_odds(model), strict=True)])
    (predictions,) = masked.predict(model, "cats [MASK] dogs").predictions
    assert sum(each.probability for each in predictions) == pytest.approx(1)
    assert [each.rank for each in predictions] == [1, 2, 3, 4]
    found = {each.word: each.probability for each in predictions}
    assert [found[word] for word in model.vocabulary.words] == pytest.approx(expected)


def test_a_fitted_calibration_scales_scores_and_prior(model):
    model.calibration = Calibration((0.1,), (0.05,), prior=2.0, noise=0.5, masked_words=1000)
    factor = 0.1 + 0.05 * math.log(2 / 4)  # two context words of at most four
    counts = model.vocabulary.counts / model.vocabulary.counts.sum()
    priors = [2 * math.log(p) + 0.5 * (odds - math.log(p)) for p, odds in zip(counts, log_odds(model), strict=True)]
    expected = softmax([factor * score + prior for score, prior in zip([0, 0, 35.5, 34.5], priors, strict=True)])
    predictions = model.predict_masked("cats [MASK] dogs", words=model.vocabulary.words)
    assert [each.probability for each in predictions] == pytest.approx(expected)


def test_prior_and_contributions_add_up_to_the_log_probability(model):
    sentence = "dogs cats [MASK] dogs bark"
    for word in model.vocabulary.words:
        explanation = masked.explain(model, sentence, word)
        (prediction,) = model.predict_masked(sentence, words=[word])
        assert math.exp(explanation.total) == pytest.approx(prediction.probability)
        assert explanation.probability == pytest.approx(prediction.probability)
        assert explanation.prior == pytest.approx(
            log_odds(model)[model.vocabulary.index[word]] - math.log(sum(map(math.exp, log_odds(model))))
        )


def test_a_context_word_that_says_the_same_of_all_words_contributes_nothing(build_model):
    inputs = {"cats": [1, 0], "dogs": [0, 1], "mew": [1, 1], "bark": [2, 1]}
    outputs = [[1, 0], [1, 0], [1, 2], [1, -1]]  # the first feature does not tell words apart
    model = build_model(inputs, outputs, [[1.0], [1.0]])
    cats, dogs = masked.explain(model, "cats [MASK] dogs", "mew").contributions
    assert cats.value == pytest.approx(0, abs=1e-6)
    assert dogs.value > 0.5


def test_an_explanation_shows_the_prior_above_and_the_log_probability_below(model):
    explanation = masked.explain(model, "cats [MASK] dogs", "mew")
    (table,) = explanation.tables()
    assert table.rows[0] == ("prior", None, explanation.prior)
    assert table.rows[-1] == ("log-probability", None, explanation.total)
    assert len(table.rows) == 4


def test_an_unknown_ranking_is_refused(model):
    for call in (masked.predict, masked.explain):
        with pytest.raises(PosvecError, match="ranking must be one of calibrated, paper, not 'best'"):
            call(model, "cats [MASK]", *(["mew"] if call is masked.explain else []), ranking="best")


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
