"""Scores of sentences, and of candidates for a gap."""

from __future__ import annotations

import json
import math

import pytest

from posvec import ConfigError, UnknownWordError
from posvec.evaluation import masked
from posvec.evaluation.sentence_scores import score


@pytest.fixture
def model(build_model):
    inputs = {"cats": [1, 0, 1], "dogs": [0, 1, 2], "mew": [1, 1, 0], "bark": [2, 0, 0]}
    outputs = [[0.5, 0, 0], [0, 0.2, 0], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    return build_model(inputs, outputs, [[1, 1], [2, 2], [3, 3], [4, 4]])


def test_a_score_is_the_sum_of_the_log_probabilities_of_the_words(model):
    (found,) = score(model, "cats mew dogs bark").sentences
    words = ["cats", "mew", "dogs", "bark"]
    assert [each.word for each in found.words] == words
    for i, each in enumerate(found.words):
        (prediction,) = model.predict_masked([*words[:i], "[MASK]", *words[i + 1 :]], words=[words[i]])
        assert each.log_probability == pytest.approx(math.log(prediction.probability), rel=1e-5)
        assert each.rank == prediction.rank
    assert found.score == pytest.approx(sum(each.log_probability for each in found.words))
    assert found.perplexity == pytest.approx(math.exp(-found.score / 4))


def test_words_that_are_not_predicted_have_no_score(model):
    known, unknown = score(model, ["cats moo mew", "moo"]).sentences
    assert [each.rank is None for each in known.words] == [False, True, False]
    assert known.predicted == 2
    assert (unknown.score, unknown.predicted, unknown.perplexity) == (0, 0, None)


def test_candidates_are_ranked_by_their_probabilities(model):
    found = masked.choose(model, "cats [MASK] dogs", ["mew", "bark", "mew"])
    by_word = {each.word: each for each in model.predict_masked("cats [MASK] dogs")}
    assert {each.word: each.probability for each in found.candidates} == pytest.approx(
        {word: by_word[word].probability for word in ("mew", "bark")}
    )
    one, other = found.candidates
    assert one.rank < other.rank
    assert one.fraction + other.fraction == pytest.approx(1)
    assert one.fraction / other.fraction == pytest.approx(one.probability / other.probability)
    with pytest.raises(UnknownWordError, match="cannot predict moo"):
        masked.choose(model, "cats [MASK] dogs", ["moo"])
    with pytest.raises(ConfigError, match="there are no candidates"):
        masked.choose(model, "cats [MASK] dogs", [])


def test_commands_print_scores_and_candidates(posvec_command, model, tmp_path):
    model.save(tmp_path / "model")
    ended = posvec_command("score", tmp_path / "model", "cats mew", "dogs mew", "--json")
    assert [each["sentence"] for each in json.loads(ended.out)["sentences"]] == ["cats mew", "dogs mew"]
    ended = posvec_command("mask", tmp_path / "model", "cats [MASK]", "--candidates", "mew, bark", "--json")
    assert {each["word"] for each in json.loads(ended.out)["candidates"]} == {"mew", "bark"}
    ended = posvec_command("mask", tmp_path / "model", "cats [MASK]", "--candidates", "mew", "--why", "bark")
    assert "leave out the other options" in ended.err
    ended = posvec_command("mask", tmp_path / "model", "cats [MASK]", "dogs [MASK]", "--candidates", "mew")
    assert "--candidates takes one sentence at a time, not 2" in ended.err
