"""Example sentences, compared with a search of everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import posvec
from posvec import CorpusError, Model, Vocabulary
from posvec.datasets import EMBEDDED_CORPORA
from posvec.evaluation import masked
from posvec.evaluation.clusters import find as find_clusters
from posvec.evaluation.context_words import top
from posvec.evaluation.examples import find

NAMES = [one + two for one in ("ka", "lo", "mi") for two in ("ran", "tek", "molen", "bi")]


@pytest.fixture(scope="module", params=["kept", "text", "subwords, rows", "subwords, words"])
def model(build_model, request):
    """Six positional features of eight, three for each side, c = 3; 12 words, some of them longer than others."""
    draw = np.random.default_rng(5)
    positional = np.abs(draw.normal(0, 0.3, (6, 6)))
    positional[:3, :3] += 1
    positional[3:, 3:] += 1
    inputs, outputs = draw.normal(size=(12, 8)), draw.normal(size=(12, 8))
    if request.param in ("kept", "text"):
        rows = {name: row.tolist() for name, row in zip(NAMES, inputs, strict=True)}
        return build_model(rows, outputs, positional, positions=request.param)
    config = posvec.make_config(
        "constrained", dim=8, positional_dim=6, window=3, min_count=1, max_n=4, context_mean=request.param.split()[1]
    )
    made = Model.create(config, Vocabulary.from_counts({name: 99 - i for i, name in enumerate(NAMES)}))
    made.input_vectors[:] = draw.normal(size=made.input_vectors.shape) / 4
    made.output_vectors[:], made.positional_vectors[:] = outputs, positional
    return made


def change(model, sentences, masked_word, cluster):
    one, other = (
        masked.explain(model, sentence, masked_word, cluster, ranking="paper").probability for sentence in sentences
    )
    return abs(one - other)


def alone(word, position):
    pads = ["[PAD]"] * (abs(position) - 1)
    return " ".join([word, *pads, "[MASK]"] if position < 0 else ["[MASK]", *pads, word])


def test_from_words_the_greatest_change_of_all_is_found(model):
    clusters = find_clusters(model)
    listed = top(model, clusters, topn=12).top
    found = find(model, clusters, topn=1).examples
    assert [example.cluster for example in found] == clusters.names
    for example in found:
        cluster = clusters[example.cluster]
        expected = max(
            change(model, (alone(context.word, one), alone(context.word, other)), masked_word, cluster)
            for context in listed[cluster.name]
            for masked_word in NAMES
            if masked_word != context.word
            for one, other in itertools.combinations(model.positions, 2)
        )
        assert example.change == pytest.approx(expected, abs=1e-6)
        assert example.sentences == tuple(alone(example.context_word, each) for each in example.positions)
        assert example.probabilities[0] > example.probabilities[1]


def test_probabilities_are_those_that_the_sentences_get(model):
    clusters = find_clusters(model)
    for corpus in (None, iter(["karan lotek mimolen kabi lomolen", "mitek lobi karan katek"])):
        for example in find(model, clusters, corpus).examples:
            for sentence, by_cluster, by_model in zip(
                example.sentences, example.probabilities, example.model_probabilities, strict=True
            ):
                for probability, cluster in ((by_cluster, clusters[example.cluster]), (by_model, None)):
                    found = masked.predict(
                        model, sentence, 0, [example.masked_word], cluster, ranking="paper"
                    ).predictions[0][0]
                    assert probability == pytest.approx(found.probability, abs=1e-6)


def test_from_sentences_the_greatest_change_by_a_swap_is_found(model):
    draw = np.random.default_rng(7)
    lines = [draw.choice([*NAMES, "unknown"], 9).tolist() for _ in range(6)]
    clusters = find_clusters(model)
    listed = {name: {each.word for each in words} for name, words in top(model, clusters, topn=12).top.items()}
    found = find(model, clusters, iter(lines), topn=1).examples
    for example in found:
        expected = 0.0
        for line in lines:
            seen = [word if word in NAMES else "[PAD]" for word in line]
            if model.config.training.positions == "kept":
                seen = [word for word in seen if word != "[PAD]"]
            for gap, one, other in itertools.permutations(range(len(seen)), 3):
                near = max(abs(one - gap), abs(other - gap)) <= 3
                if not near or "[PAD]" in (seen[gap], seen[one], seen[other]):
                    continue
                if seen[one] not in listed[example.cluster]:
                    continue
                before = [*seen[:gap], "[MASK]", *seen[gap + 1 :]]
                after = list(before)
                after[one], after[other] = after[other], after[one]
                expected = max(expected, change(model, (before, after), seen[gap], clusters[example.cluster]))
        assert example.change == pytest.approx(expected, abs=1e-6)
        assert example.context_word in listed[example.cluster]
        first, second = (sentence.split() for sentence in example.sentences)
        gap = first.index("[MASK]")
        assert sorted(first) == sorted(second)
        assert first[gap + example.positions[0]] == second[gap + example.positions[1]] == example.context_word


def test_each_context_word_and_each_sentence_appears_once_and_the_greatest_change_first(model):
    clusters = find_clusters(model)
    built = find(model, clusters, topn=4).examples
    read = find(model, clusters, iter(["karan lotek mimolen kabi lomolen", "mitek lobi karan katek"])).examples
    for examples in (built, read):
        for name in clusters.names:
            changes = [each.change for each in examples if each.cluster == name]
            assert changes == sorted(changes, reverse=True)
    assert len({(each.cluster, each.context_word) for each in built}) == len(built)
    assert len(read) <= 2 * len(clusters)


def test_rare_words_are_left_out(model):
    for example in find(model, restrict_vocab=5).examples:
        assert {example.context_word, example.masked_word} <= set(NAMES[:5])
    for example in find(model, corpus=iter([" ".join(NAMES)]), restrict_vocab=5).examples:
        assert {example.context_word, example.masked_word} <= set(NAMES[:5])


def test_the_number_of_sentences_to_search_is_limited(model):
    lines = ["karan lotek mimolen", "mitek lobi karan katek"]
    found = find(model, corpus=iter(lines), sentences=1).examples
    assert {word for each in found for word in each.sentences[0].split()} <= {"karan", "lotek", "mimolen", "[MASK]"}


@pytest.mark.parametrize("line", ["nothing known here", "karan", "karan lotek"])
def test_a_corpus_without_a_usable_sentence_is_named(model, line):
    with pytest.raises(CorpusError, match=r"no sentence of .* has enough words that the model knows"):
        find(model, corpus=iter([line]))


def test_an_embedded_corpus_is_known_by_its_name(model, monkeypatch):
    monkeypatch.setitem(EMBEDDED_CORPORA, "tiny", lambda: iter(["karan lotek mimolen kabi lomolen"]))
    assert find(model, corpus="tiny").corpus == "tiny"
