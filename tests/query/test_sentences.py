"""Sentence vectors: by mean, by frequency, by position."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

import posvec
from posvec import PosvecError
from posvec.query import sentences
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


def quadratic(model, words, weighting):
    """The mean of the context vectors of all gaps, with every pair of a word and a gap in memory."""
    shape = model.config.model
    words = model.counted_words(words)
    known = np.array([number for number, word in enumerate(words) if model.has_vector(word)])
    offset = known[:, None] - np.arange(len(words) + 1)
    position = np.where(offset < 0, offset, offset + 1)
    word, gap = np.nonzero(np.abs(position) <= shape.window)
    terms, sizes = model.context_terms([words[number] for number in known], weighting)
    context_size = np.bincount(gap, sizes[word, 0], minlength=len(words) + 1)
    weights = np.zeros((len(known), 2 * shape.window))
    share = 1 / context_size[gap] / np.count_nonzero(context_size)
    np.add.at(weights, (word, offset[word, gap] + shape.window), share)
    mean = weights.sum(1) @ terms
    mean[: shape.positional_dim] = ((weights @ model.positional_vectors) * terms[:, : shape.positional_dim]).sum(0)
    return mean


@pytest.mark.parametrize("weighting", ["trained", "equal"])
@pytest.mark.parametrize(
    "settings", [{}, {"context_mean": "words"}, {"positions": "text"}, {"window": 1}, {"window": 40}], ids=str
)
@pytest.mark.parametrize("kind", ["general", "subword", "positional", "constrained"])
def test_positional_has_the_values_of_the_quadratic_formula(trained, lines, kind, settings, weighting, monkeypatch):
    model = trained(kind, **settings)
    draw = random.Random(4)
    for length in (1, 2, 3, 7, 30, 200):
        words = draw.choices([*" ".join(lines[:3]).split(), "쥐", "karanlotek"], k=length)
        if not any(map(model.has_vector, words)):
            continue
        expected = quadratic(model, words, weighting)
        for numbers in (1 << 20, 100):  # at once, and a few words at a time
            monkeypatch.setattr(sentences, "_NUMBERS", numbers)
            found = sentences.sentence_vectors(model, [words], "positional", weighting=weighting)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("window", [15, 500])
def test_positional_takes_memory_linear_in_the_line(trained, lines, window):
    model = trained("constrained", window=window)
    words = random.Random(4).choices(" ".join(lines[:100]).split(), k=64_000)
    peaks = []
    for length in (16_000, 64_000):
        tracemalloc.start()
        model.sentence_vector(words[:length], "positional")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]
    assert peaks[1] < 60e6  # all pairs of words and gaps would take 32 GB


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
    texts = [SENTENCE, "", "쥐 쥐", "[MASK] [PAD]", "lotek karan"]
    found = model.sentence_vectors(iter(texts), method)
    assert found.shape == (5, 16)
    assert found.dtype == np.float32
    for vector, sentence in zip(found, texts, strict=True):
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
        ((["a"], "sif", float("inf")), r"a must be a finite number, not inf"),
        ((["a"], "sif", 10**400), r"a must be a finite number, not 1000"),
        ((5,), r"takes a list of sentences, not 5"),
        ((["a"], "sif", float("nan")), r"a must be a finite number, not nan"),
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
