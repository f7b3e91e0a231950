"""Context vectors and scores of masked words: the same as in training, or the paper's equal weighting."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import ConfigError, Model, PosvecError, Vocabulary
from posvec.evaluation import masked
from posvec.evaluation.compression import compress
from posvec.formats import load_model_or_vectors, write_vectors
from posvec.presets import MODELS
from posvec.training import reference

WORDS = ["the", "cat", "sees", "dogs", "near", "riverbank"]  # different numbers of n-grams
CONTEXT = [("the", -3), ("cat", -1), ("dogs", 1), ("riverbank", 2), ("cat", 4)]
SENTENCE = "the [PAD] cat [MASK] dogs riverbank [PAD] cat"


def make_model(kind, context_mean, **settings):
    """A model with random parameters."""
    config = posvec.make_config(
        kind, dim=12, window=4, buckets=500, min_count=1, context_mean=context_mean, **settings
    )  # fmt: skip
    model = Model.create(config, Vocabulary.from_counts(dict.fromkeys(WORDS, 9), config.vocabulary))
    draw = np.random.default_rng(3)
    model.input_vectors[:] = draw.normal(size=model.input_vectors.shape)
    model.output_vectors[:] = draw.normal(size=model.output_vectors.shape)
    model.positional_vectors[:] = draw.normal(1, 0.5, model.positional_vectors.shape)
    return model


def trained_vector(model, context):
    """The context vector of the reference of training."""
    begin = model.rows.row_begin.astype(int)
    rows = [model.rows.rows[begin[word] : begin[word + 1]] for word in range(len(model.vocabulary))]
    index = dict(model.vocabulary.index)
    for word, _ in context:
        if word not in index:  # a new word of training whose rows are those of its known n-grams
            index[word] = len(rows)
            rows.append(model.rows.rows_of(word))
    parameters = reference.Parameters(model.input_vectors, model.output_vectors, model.positional_vectors, rows)
    options = reference.StepOptions(context_mean=model.config.model.context_mean)
    ids, positions = [index[word] for word, _ in context], [position for _, position in context]
    return reference.context_vector(parameters, ids, positions, options)


@pytest.mark.parametrize("context_mean", ["rows", "words"])
@pytest.mark.parametrize("kind", MODELS)
def test_scores_are_those_of_training(kind, context_mean):
    model = make_model(kind, context_mean)
    expected = trained_vector(model, CONTEXT)
    np.testing.assert_allclose(model.context_vector(SENTENCE), expected, rtol=1e-5, atol=1e-6)
    scores = {each.word: each.score for each in model.predict_masked(SENTENCE, topn=100)}
    for word, score in zip(model.vocabulary.words, (model.output_vectors @ expected).tolist(), strict=True):
        assert scores[word] == pytest.approx(score, rel=1e-5, abs=1e-5)
        assert masked.explain(model, SENTENCE, word).score == pytest.approx(score, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("context_mean", ["rows", "words"])
@pytest.mark.parametrize("kind", ["subword", "constrained"])
def test_a_word_outside_the_vocabulary_counts_by_its_known_ngrams(kind, context_mean):
    model = make_model(kind, context_mean)
    context = [("cats", -2), ("the", -1), ("rivers", 1)]
    assert all(len(model.rows.rows_of(word)) > 0 for word in ("cats", "rivers"))
    np.testing.assert_allclose(
        model.context_vector("cats the [MASK] rivers"), trained_vector(model, context), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("kind", MODELS)
def test_equal_weighting_is_the_mean_of_weighted_word_vectors_for_both_means(kind):
    for context_mean in ("rows", "words"):
        model = make_model(kind, context_mean)
        parts = [model.vectors[word].astype(float) for word, _ in CONTEXT]
        for part, (_, position) in zip(parts, CONTEXT, strict=True):
            part[: model.config.model.positional_dim] *= model.position(position)
        equal = model.context_vector(SENTENCE, weighting="equal")
        np.testing.assert_allclose(equal, np.mean(parts, 0), rtol=1e-5, atol=1e-6)
        assert np.allclose(equal, model.context_vector(SENTENCE), rtol=1e-4) == (kind == "general")


@pytest.mark.parametrize("context_mean", ["rows", "words"])
@pytest.mark.parametrize("method", ["prune", "float16", "int8"])
def test_a_compressed_model_keeps_the_weighting_of_training(method, context_mean):
    model = make_model("constrained", context_mean)
    smaller = compress(model, method, buckets=10)
    assert smaller.rows.pruned
    close = {"rtol": 1e-5, "atol": 1e-5} if method == "prune" else {"rtol": 0.1, "atol": 0.2}
    np.testing.assert_allclose(smaller.context_vector(SENTENCE), model.context_vector(SENTENCE), **close)


def test_a_saved_model_and_a_fasttext_file_have_the_weighting_of_training(tmp_path):
    model = make_model("subword", "rows")
    model.save(tmp_path / "model")
    write_vectors(tmp_path / "model.bin", model, "fasttext-bin")
    for path in (tmp_path / "model", tmp_path / "model.bin"):
        loaded = load_model_or_vectors(path)
        np.testing.assert_allclose(loaded.context_vector(SENTENCE), model.context_vector(SENTENCE), rtol=1e-6)


def test_rows_are_summed_and_counted_whether_or_not_the_table_of_vectors_exists():
    model = make_model("subword", "rows")
    begin = model.rows.row_begin.astype(int)
    for _ in range(2):
        sums, counts = model.vectors.row_sums(WORDS)
        for word, total, count in zip(WORDS, sums, counts, strict=True):
            i = model.vocabulary.index[word]
            rows = model.rows.rows[begin[i] : begin[i + 1]]
            assert count == len(rows)
            np.testing.assert_allclose(total, model.input_vectors[rows].sum(0), rtol=1e-5, atol=1e-6)
        assert len(model.vectors.table) == len(WORDS)


def test_an_unknown_weighting_is_refused():
    model = make_model("subword", "rows")
    for call in (
        lambda: model.context_vector(SENTENCE, weighting="rows"),
        lambda: model.sentence_vectors(["cat"], "positional", weighting="rows"),
        lambda: masked.explain(model, SENTENCE, "cat", weighting="rows"),
    ):
        with pytest.raises(ConfigError, match=r"weighting must be one of trained, equal, not 'rows'"):
            call()


@pytest.mark.parametrize("position", [0, -5, 5, 10**30, -(10**30), 1.0, float("nan"), None, True, "1"])
def test_there_are_no_other_positions_than_those_of_the_window(position):
    model = make_model("positional", "rows")
    with pytest.raises(ConfigError, match=r"there is no position|a position must be an integer"):
        model.position(position)
    for number in model.positions:
        assert np.array_equal(model.position(np.int8(number)), model.positional_vectors[model.positions.index(number)])


def test_requested_features_and_words_are_checked():
    model = make_model("constrained", "rows")
    for features in ([12], [-1], [0.5], [None]):
        with pytest.raises(ConfigError, match=r"a feature "):
            model.predict_masked(SENTENCE, features=features)
    with pytest.raises(PosvecError, match=r"put 'cat' in a list"):
        model.predict_masked(SENTENCE, words="cat")
    for topn in (1.5, float("nan"), "3", None):
        with pytest.raises(ConfigError, match=r"topn must be an integer"):
            model.predict_masked(SENTENCE, topn=topn)


def test_ranks_of_many_words_are_those_of_each(build_model):
    names = [f"w{i}" for i in range(60)]
    draw = np.random.default_rng(1)
    outputs = draw.integers(0, 4, size=(60, 2))  # with ties
    model = build_model({name: [1, i] for i, name in enumerate(names)}, outputs, np.ones((4, 0)), subwords=False)
    together = model.predict_masked("w3 [MASK] w4", words=names)
    assert together == [model.predict_masked("w3 [MASK] w4", words=[name])[0] for name in names]
    assert sorted(together, key=lambda each: each.rank) == model.predict_masked("w3 [MASK] w4", topn=60)


def test_large_finite_parameters_give_finite_scores_and_others_are_named(build_model):
    def model(inputs=1.0, outputs=1.0, positional=1.0):
        words = {"cat": [inputs, 1], "dog": [1, 1], "cow": [1, 0]}
        return build_model(words, [[outputs, 1], [1, 1], [1, 0]], [[positional]] * 2)

    best = model(1e20, 1e20).predict_masked("cat [MASK]", topn=3)
    assert best[0].word == "cat"
    assert best[0].score == pytest.approx(1e40, rel=1e-6)
    for broken, message in (
        (model(np.nan), r"the vector of 'cat' is not finite"),
        (model(positional=np.inf), r"the positional vector of position -1 is not finite"),
        (model(outputs=np.nan), r"the score of 'cat' is not finite"),
        (model(3e38, positional=3e38), r"the context vector is too large"),
    ):
        with pytest.raises(PosvecError, match=message):
            broken.predict_masked("cat [MASK]")
        if "too large" not in message:
            with pytest.raises(PosvecError, match=message):
                masked.explain(broken, "cat [MASK]", "cat")
