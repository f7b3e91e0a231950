"""Sentence vectors: by mean, by frequency, by position."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import PosvecError
from posvec.query.sentences import METHODS, without_first_component

SENTENCE = "karan lotek mimol nebis sudun taran"


@pytest.fixture(scope="module")
def trained(lines, small):
    """Each kind of model once, with a window shorter than the sentence."""
    made = {}

    def get(kind, **settings):
        key = (kind, *settings.items())
        if key not in made:
            made[key] = posvec.train(iter(lines), kind, **{**small, **settings})
        return made[key]

    return get


def test_the_mean_is_that_of_the_words_that_have_vectors(trained):
    model = trained("general")
    expected = np.mean([model.vectors["karan"], model.vectors["lotek"], model.vectors["lotek"]], 0)
    np.testing.assert_allclose(model.sentence_vector("Karan lotek, nowhere lotek!"), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.sentence_vector(["karan", "lotek", "lotek"]), expected, rtol=1e-5, atol=1e-7)


def test_sif_weights_a_word_by_a_over_a_plus_its_frequency(trained):
    model = trained("subword")
    frequency = dict(zip(model.vocabulary.words, model.vocabulary.counts / model.vocabulary.total_words, strict=True))
    words = ["karan", "karan", "lotek", "karanlotek"]  # the last is out of vocabulary
    weights = [0.01 / (0.01 + frequency.get(word, 0)) for word in words]
    expected = sum(weight * model.vectors[word] for weight, word in zip(weights, words, strict=True)) / 4
    np.testing.assert_allclose(model.sentence_vector(words, "sif", a=0.01), expected, rtol=1e-5, atol=1e-7)
    assert len(set(np.round(weights, 6))) == 3


@pytest.mark.parametrize("positions", ["kept", "text"])
@pytest.mark.parametrize("kind", ["general", "positional", "constrained"])
@pytest.mark.parametrize(
    "sentence", [SENTENCE, "karan", "karan karan", "karan 쥐 lotek 쥐 쥐", f"쥐 {SENTENCE} {SENTENCE}"]
)
def test_positional_is_the_mean_of_the_context_vectors_of_all_gaps(trained, kind, positions, sentence):
    model = trained(kind, positions=positions)
    words = model.counted_words(sentence.split())
    gaps = []
    for gap in range(len(words) + 1):
        masked = [*words[:gap], "[MASK]", *words[gap:]]
        try:
            gaps.append(model.context_vector(masked))
        except PosvecError:
            assert positions == "text"  # unknown words count as positions, so a context can consist of them only
    found = model.sentence_vector(sentence, "positional")
    np.testing.assert_allclose(found, np.mean(gaps, 0), rtol=1e-4, atol=1e-6)


def test_only_positional_vectors_of_positional_models_depend_on_word_order(trained):
    shuffled = " ".join(reversed(SENTENCE.split()))
    for kind, method, knows in (
        ("constrained", "positional", True),
        ("constrained", "mean", False),
        ("constrained", "sif", False),
    ):
        one, other = (trained(kind).sentence_vector(text, method) for text in (SENTENCE, shuffled))
        assert np.allclose(one, other, rtol=1e-4, atol=1e-6) != knows


@pytest.mark.parametrize("method", METHODS)
def test_batches_equal_single_sentences_and_unknown_words_give_zeros(trained, method):
    model = trained("constrained")
    sentences = [SENTENCE, "", "쥐 쥐", "[MASK] [PAD]", "lotek karan"]
    found = model.sentence_vectors(iter(sentences), method)
    assert found.shape == (5, 16)
    assert found.dtype == np.float32
    for vector, sentence in zip(found, sentences, strict=True):
        assert np.array_equal(vector, model.sentence_vector(sentence, method))
    assert not found[1:4].any()
    assert found[0].any()
    assert model.sentence_vectors([], method).shape == (0, 16)


def test_the_first_principal_component_can_be_removed(trained, lines):
    model = trained("general")
    table = model.sentence_vectors(lines[:50], "sif")
    first = np.linalg.svd(table.astype(np.float64), full_matrices=False)[2][0]
    found = model.sentence_vectors(lines[:50], "sif", remove_component=True)
    np.testing.assert_allclose(found, table - np.outer(table @ first, first), atol=1e-5)
    assert np.abs(found @ first).max() < 1e-5
    with pytest.raises(PosvecError, match=r"needs at least two sentences"):
        without_first_component(table[:1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], "median"), r"unknown method 'median' .*; choose from mean, sif, positional"),
        (("one sentence",), r"use sentence_vector for one"),
        ((["a"], "sif", 0.0), r"a must be greater than 0, not 0\.0"),
        ((["a"], "sif", float("nan")), r"a must be greater than 0, not nan"),
        (([5],), r"a sentence is a string or a list of words, and 5 is neither"),
    ],
)
def test_invalid_arguments_are_refused(trained, arguments, message):
    with pytest.raises(PosvecError, match=message):
        trained("general").sentence_vectors(*arguments)


def test_context_vector_accepts_the_position_of_the_masked_word(trained):
    model = trained("constrained")
    masked = model.context_vector("karan lotek [MASK] nebis sudun taran")
    assert np.array_equal(model.context_vector(SENTENCE, 2), masked)
    assert np.array_equal(model.context_vector(SENTENCE.split(), position=2), masked)
    assert not np.array_equal(model.context_vector(SENTENCE, 3), masked)


@pytest.mark.parametrize(
    ("sentence", "position", "message"),
    [
        (SENTENCE, 6, r"position 6 is not in the sentence, which has 6 words"),
        (SENTENCE, -1, r"position -1 is not in the sentence"),
        ("karan [MASK]", 0, r"already has a \[MASK\]"),
        ("karan", 0, r"no word of the sentence near its \[MASK\]"),
    ],
)
def test_a_position_that_cannot_be_masked_is_refused(trained, sentence, position, message):
    with pytest.raises(PosvecError, match=message):
        trained("constrained").context_vector(sentence, position)
