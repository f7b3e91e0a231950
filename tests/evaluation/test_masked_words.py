"""Accuracy of masked words: measures, groups, calibration, and n-grams against counts by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import posvec
from posvec import ConfigError, CorpusError, Vocabulary
from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from posvec.evaluation import masked_words
from posvec.evaluation.function_words import FUNCTION_WORDS, function_words_of
from posvec.evaluation.ngrams import Bigrams, unigram_likelihoods

TEXT = [
    "the cat sees the dog",
    "the dog hears the cat",
    "a cat hears",
    "the xyz sees a cat",
    "dog",
    "a dog sees the dog",
]


@pytest.fixture(scope="module")
def corpus():
    """Text in which the word after an animal mostly says which animal it was."""
    draw = np.random.default_rng(5)
    animals, verbs = ["cat", "dog", "cow", "hen"], ["mews", "barks", "moos", "clucks"]
    lines = []
    for _ in range(3000):
        one, other, noise = draw.integers(4, size=3)
        verb = noise if draw.random() < 0.3 else other
        lines.append(f"the {animals[one]} {verbs[one]} and a {animals[other]} {verbs[verb]}")
    return lines


@pytest.fixture(scope="module")
def model(corpus):
    settings = {"subwords": False, "dim": 16, "sample": 0, "negative_exponent": 1, "threads": 1, "epochs": 5}
    return posvec.train(corpus, "positional", window=3, window_sampling="fixed", min_count=1, **settings)


def test_all_predictors_and_groups_are_measured(model, corpus):
    result = masked_words.evaluate(model, corpus[:300], words=0, baseline=corpus)
    assert result.masked_words == 7 * 300
    assert [each.predictor for each in result.accuracies[:4]] == ["model", "unigram", "bigram", "two-sided"]
    assert {each.group for each in result.accuracies} == {"all", "1–100", "function words", "other words"}
    sizes = {each.group: each.masked_words for each in result.accuracies}
    assert sizes["function words"] == 3 * 300
    assert sizes["function words"] + sizes["other words"] == sizes["all"] == sizes["1–100"]
    by_model, by_unigram = result.accuracies[:2]
    assert by_model.perplexity.high < by_unigram.perplexity.low
    assert by_model.top1.value > 0.8
    assert by_model.top1.low <= by_model.top1.value <= by_model.top1.high
    assert sum(each.masked_words for each in result.calibration) == result.masked_words
    assert 0 <= result.calibration_error.value < 0.2
    assert result.words_per_second > 0


def test_measures_are_those_of_single_predictions(model, corpus):
    lines = [line.split() for line in corpus[:4]]
    result = masked_words.evaluate(model, lines, words=0)
    probabilities, ranks = [], []
    for line in lines:
        for i, word in enumerate(line):
            (found,) = model.predict_masked([*line[:i], "[MASK]", *line[i + 1 :]], words=[word])
            probabilities.append(found.probability)
            ranks.append(found.rank)
    accuracy = result.accuracies[0]
    assert accuracy.masked_words == len(ranks)
    assert accuracy.perplexity.value == pytest.approx(math.exp(-np.log(probabilities).mean()), rel=1e-3)
    assert accuracy.top1.value == pytest.approx(np.mean(np.array(ranks) == 1))
    assert accuracy.median_rank.value == np.median(ranks)
    assert accuracy.reciprocal_rank.value == pytest.approx(np.mean(1 / np.array(ranks)))


def test_the_draw_of_masked_words_follows_from_the_seed(model, corpus):
    one, same, other = (masked_words.evaluate(model, corpus, words=100, seed=seed).accuracies[0] for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_results_are_tables(model, corpus):
    result = masked_words.evaluate(model, corpus[:50], words=0)
    overall, groups, calibration = result.tables()
    assert [row[0] for row in overall.rows] == ["model", "unigram"]
    assert {row[0] for row in groups.rows} == {each.group for each in result.accuracies} - {"all"}
    assert calibration.title.startswith("Calibration: expected error")
    header, first, *_ = result.to_csv().splitlines()
    assert header.startswith("group,predictor,masked_words,top1,top1_low,top1_high,")
    assert first.startswith("all,model,350,")


def test_text_without_words_to_mask_is_refused(model):
    with pytest.raises(CorpusError, match="has no word to mask"):
        masked_words.evaluate(model, [["unknown", "words"]])
    with pytest.raises(ConfigError, match="words is -1"):
        masked_words.evaluate(model, TEXT, words=-1)


# ---- n-grams --------------------------------------------------------------------------------------------------------


def kneser_ney(lines, vocabulary):
    """P(w | l) of every pair, from the formula of the module, with dictionaries."""
    unknown, end = len(vocabulary), len(vocabulary) + 1
    pairs = Counter()
    for line in lines:
        ids = [end, *(vocabulary.index.get(word, unknown) for word in line.split()), end]
        pairs.update(itertools.pairwise(ids))
    counts = Counter(pairs.values())
    discount = counts[1] / (counts[1] + 2 * counts[2])
    symbols = range(len(vocabulary) + 2)
    follows = {w: sum(right == w for _, right in pairs) + 0.5 for w in symbols}
    continuation = {w: follows[w] / sum(follows.values()) for w in symbols}

    def probability(word, left):
        total = sum(n for (one, _), n in pairs.items() if one == left)
        if not total:
            return continuation[word]
        distinct = sum(one == left for one, _ in pairs)
        seen = max(pairs[left, word] - discount, 0) / total
        return seen + discount * distinct / total * continuation[word]

    return probability


@pytest.fixture(scope="module")
def bigrams():
    vocabulary = Vocabulary.from_counts({"the": 6, "cat": 4, "dog": 5, "sees": 3, "hears": 2, "a": 3, "cow": 1}, None)
    vocabulary = Vocabulary([*vocabulary.words, "cow"], np.append(vocabulary.counts, 1), 24)
    with open_corpus(TEXT) as opened:
        return vocabulary, Bigrams(encode(opened, vocabulary), len(vocabulary))


def test_bigrams_are_those_of_the_formula(bigrams):
    vocabulary, model = bigrams
    probability, words = kneser_ney(TEXT, vocabulary), len(vocabulary)
    for left in range(words + 2):
        expected = np.array([probability(word, left) for word in range(words)])
        expected /= expected.sum()
        found = model.likelihoods(np.arange(words), np.full(words, left))
        np.testing.assert_allclose(np.exp(found.log_probabilities), expected, rtol=1e-9)
        assert found.ranks.tolist() == [1 + (expected > value * (1 + 1e-12)).sum() for value in expected]
        assert found.confidences == pytest.approx(expected.max())


def test_the_two_sided_model_multiplies_both_sides(bigrams):
    vocabulary, model = bigrams
    probability, words = kneser_ney(TEXT, vocabulary), len(vocabulary)
    for left, right in itertools.product(range(words + 2), repeat=2):
        expected = np.array([probability(word, left) * probability(right, word) for word in range(words)])
        expected /= expected.sum()
        found = model.likelihoods(np.arange(words), np.full(words, left), np.full(words, right))
        np.testing.assert_allclose(np.exp(found.log_probabilities), expected, rtol=1e-9)
        assert found.ranks.tolist() == [1 + (expected > value * (1 + 1e-9)).sum() for value in expected]


def test_unigrams_are_frequencies():
    vocabulary = Vocabulary.from_counts({"the": 50, "cat": 30, "dog": 20})
    found = unigram_likelihoods(vocabulary, np.array([2, 0]))
    assert np.exp(found.log_probabilities) == pytest.approx([0.2, 0.5])
    assert found.ranks.tolist() == [3, 1]
    assert found.confidences.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("english", "the cat is in the house"),
        ("czech", "kočka je v domě a pes se na ni dívá"),
        ("german", "die Katze ist im Haus und der Hund auch"),
    ],
)
def test_the_language_of_function_words_is_found(language, sentence):
    assert function_words_of(sentence.split()) == (language, FUNCTION_WORDS[language])
