"""Importance of context words, on word vectors whose classes are known."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import PosvecError
from posvec.evaluation.clusters import find
from posvec.evaluation.context_words import importance, top

# Features 0 and 1 are weighted towards the left, feature 2 towards the right, and feature 3 is not positional.
POSITIONAL = [[9, 8, 0], [0, 0, 9]]
INPUTS = {
    "in": [4, -4, 1, 0],
    "for": [-3, 3, 0, 9],
    "of": [3, 3, 0, 1],
    "ago": [0, 1, -7, 0],
    "else": [1, 1, 2, 0],
    "cat": [0, 0, 0, 5],
}


@pytest.fixture
def model(build_model):
    return build_model(INPUTS, [[0.0] * 4] * len(INPUTS), POSITIONAL)


def words(listed):
    return {name: [each.word for each in found] for name, found in listed.items()}


def test_each_class_lists_its_words_by_importance_and_ties_by_frequency(model):
    result = top(model)
    # "cat" has no importance in both clusters; ties go to the first cluster, and by frequency ("for" before "of")
    assert words(result.top) == {"antepositional": ["in", "for", "of", "cat"], "postpositional": ["ago", "else"]}
    assert result.class_sizes == {"antepositional": 4, "postpositional": 2}
    assert result.top["antepositional"][0].importance == {"antepositional": 4.0, "postpositional": 1.0}


def test_topn_and_restrict_vocab_limit_what_is_listed(model):
    assert words(top(model, topn=1).top) == {"antepositional": ["in"], "postpositional": ["ago"]}
    limited = top(model, restrict_vocab=3)
    assert words(limited.top) == {"antepositional": ["in", "for", "of"], "postpositional": []}
    assert limited.class_sizes == {"antepositional": 3, "postpositional": 0}


def test_words_can_be_ordered_by_how_much_they_prefer_their_cluster(model):
    # ratios: in 4/1, for 3/0, of 3/0; ago 7/0.5, else 2/1; "cat" has no importance at all
    listed = words(top(model, order="ratio").top)
    assert listed == {"antepositional": ["for", "of", "in", "cat"], "postpositional": ["ago", "else"]}


def test_the_class_of_a_given_word_is_reported(model):
    result = top(model, words=["else", "in"], restrict_vocab=1)
    assert [(each.word, each.cluster) for each in result.words] == [
        ("else", "postpositional"),
        ("in", "antepositional"),
    ]
    main, _ = result.tables()
    assert main.rows == [("else", "postpositional", 1.0, 2.0), ("in", "antepositional", 4.0, 1.0)]


def test_a_word_without_a_vector_is_named(model):
    with pytest.raises(PosvecError, match=r"there is no vector for 'moo'"):
        top(model, words=["moo"])


def test_words_outside_the_vocabulary_have_a_class_through_their_subwords(corpus, small):
    model = posvec.train(corpus, "constrained", **{**small, "positional_dim": 6})
    clusters = find(model)
    word = model.vocabulary.words[0] + "x"
    (found,) = top(model, clusters, words=[word]).words
    expected = importance(model.vectors[word][np.newaxis], clusters)[0]
    assert list(found.importance.values()) == expected.tolist()
    assert found.cluster == clusters.names[int(expected.argmax())]
