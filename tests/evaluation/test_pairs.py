"""Minimal pairs: what the rules make, and the accuracy of models with and without positions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import posvec
from posvec import ConfigError, UnknownWordError
from posvec.evaluation import pairs
from posvec.evaluation.pair_rules import MinimalPair, Rule, minimal_pairs
from posvec.query.contexts import MASK

SETTINGS = {"preset": "small", "subwords": False, "dim": 16, "min_count": 1, "window": 3, "threads": 1, "sample": 0}
PAIRS = [
    MinimalPair("english", category, (f"{x} [MASK] or {y}", f"{y} [MASK] or {x}"), words)
    for category, x, y, words in [
        ("article", "a", "an", ("house", "apple")),
        ("article", "a", "an", ("book", "egg")),
        ("preposition", "in", "on", ("april", "monday")),
    ]
]


@pytest.fixture(scope="module")
def lines():
    draw = np.random.default_rng(2)
    words = {"a": ["house", "book"], "an": ["apple", "egg"], "in": ["january", "april"], "on": ["monday", "tuesday"]}
    lines = []
    for _ in range(4000):
        one, other = draw.choice(["a an", "in on"]).split()[:: draw.choice([1, -1])]
        lines.append(f"{one} {draw.choice(words[one])} or {other} {draw.choice(words[other])}")
    return lines


def test_every_pair_differs_in_the_order_of_its_words_alone():
    everything = minimal_pairs()
    assert len(everything) > 1000
    assert min(Counter(pair.language for pair in everything).values()) > 300
    assert len({(pair.sentences, pair.words) for pair in everything}) == len(everything)
    for pair in everything:
        one, other = (sentence.split() for sentence in pair.sentences)
        assert sorted(one) == sorted(other)
        assert one != other
        assert one.count(MASK) == 1
        assert pair.words[0] != pair.words[1]
        assert all(word == word.lower() for word in (*one, *pair.words) if word != MASK)


def test_words_that_go_with_both_cues_are_left_out():
    rule = Rule("english", "noun and verb", "unlike {y} {x} [MASK]", {"birds": "fly sing", "singers": "sing talk"})
    assert [(pair.sentences, pair.words) for pair in rule.pairs()] == [
        (("unlike singers birds [MASK]", "unlike birds singers [MASK]"), ("fly", "talk"))
    ]


def test_a_model_with_positions_gets_pairs_right(lines):
    result = pairs.evaluate(posvec.train(lines, "positional", **SETTINGS), pairs=PAIRS)
    assert [(each.category, each.pairs) for each in result.categories] == [
        ("all", 3),
        ("article", 2),
        ("preposition", 1),
    ]
    assert result.categories[0].accuracy.value == 1
    assert result.categories[0].interaction > 1
    assert result.p_value == 0.125
    assert result.skipped == 0


def test_without_positions_every_interaction_is_zero(lines):
    model = posvec.train(lines, "general", **SETTINGS)
    assert [pairs.interaction(model, pair) for pair in PAIRS] == [0, 0, 0]
    result = pairs.evaluate(model, pairs=PAIRS)
    assert result.categories[0].accuracy.value == 0.5
    assert result.p_value == 1


def test_the_interaction_is_that_of_log_probabilities(lines):
    model = posvec.train(lines, "positional", **SETTINGS)
    for pair in PAIRS:
        logs = [
            [np.log(model.predict_masked(sentence, words=[word])[0].probability) for word in pair.words]
            for sentence in pair.sentences
        ]
        expected = logs[0][0] - logs[0][1] - logs[1][0] + logs[1][1]
        assert pairs.interaction(model, pair) == pytest.approx(expected, rel=1e-4)


def test_pairs_with_unknown_words_are_skipped(lines):
    model = posvec.train(lines, "positional", **SETTINGS)
    result = pairs.evaluate(model)  # of the pairs of the rules, this model knows some English ones
    assert result.language == "english"
    assert result.categories[0].pairs + result.skipped == sum(pair.language == "english" for pair in minimal_pairs())
    assert result.skipped > result.categories[0].pairs > 0
    with pytest.raises(UnknownWordError, match="knows the words of no pair of czech"):
        pairs.evaluate(model, "czech")
    with pytest.raises(ConfigError, match="language must be one of english, czech, german, not 'latin'"):
        pairs.evaluate(model, "latin")


def test_posvec_evaluate_pairs_prints_a_table(posvec_command, lines, tmp_path):
    posvec.train(lines, "positional", **SETTINGS).save(tmp_path / "model")
    ended = posvec_command("evaluate", "pairs", tmp_path / "model", "--language", "english")
    assert ended.code == 0, ended.err
    assert "Minimal pairs, english" in ended.out
