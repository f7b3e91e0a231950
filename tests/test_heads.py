"""Models with two heads, from training to every use of their vectors."""

from __future__ import annotations

import os
import signal
from functools import partial

import numpy as np
import pytest

import posvec
from posvec import formats
from posvec.errors import ConfigError, ModelError, PosvecError
from posvec.evaluation import clusters, context_words, examples
from posvec.evaluation.compression import METHODS, compress
from posvec.heads import split_heads
from posvec.model import ModelTables
from posvec.query.head_weights import DEFAULT_SPELLING, OUTPUT_WEIGHT
from posvec.query.masked import WEIGHTINGS
from posvec.query.one_head import one_head

SETTINGS = {"dim": 40, "positional_dim": 40, "word_dim": 16}
UNSEEN = "karanlotek"  # made of the n-grams of two words


@pytest.fixture(scope="module")
def model(lines, small):
    return posvec.train(iter(lines), "positional", **{**small, **SETTINGS})


def tables(model):
    return [np.array(table) for table in (*model.trained_tables(), model.positional_vectors)]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


# ---- settings -------------------------------------------------------------------------------------------------------


def test_the_heads_are_ranges_of_features_of_which_the_first_are_positional():
    assert [head.name for head in split_heads(40, 16, 40, subwords=True)] == ["word", "spelling"]
    sizes = {d: [head.positional_dim for head in split_heads(40, 16, d, subwords=True)] for d in (0, 10, 16, 20, 40)}
    assert sizes == {0: [0, 0], 10: [10, 0], 16: [16, 0], 20: [16, 4], 40: [16, 24]}
    assert [head.name for head in split_heads(40, 0, 7, subwords=True)] == ["spelling"]
    assert [head.name for head in split_heads(40, 0, 7, subwords=False)] == ["word"]


def test_all_features_in_the_word_head_are_a_model_without_ngrams():
    config = posvec.make_config("subword", dim=40, word_dim=40)
    assert (config.subwords.subwords, config.model.word_dim, config.kind) == (False, 0, "general")
    assert posvec.make_config("general", dim=40, word_dim=16).model.word_dim == 0


@pytest.mark.parametrize(("word_dim", "said"), [(48, "greater than dim"), (20, "multiple of 16"), (-16, "at least 0")])
def test_sizes_that_cannot_be_are_refused(word_dim, said):
    with pytest.raises(ConfigError, match=said):
        posvec.make_config("subword", dim=40, word_dim=word_dim)


# ---- training -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "fixed16"])
def test_each_head_learns_what_a_model_of_one_head_learns(lines, small, precision):
    settings = {**small, "precision": precision, "epochs": 3, "positional_dim": 0, "spelling_rate": 1.0}
    both = posvec.train(iter(lines), "subword", **{**settings, "dim": 40, "word_dim": 16})
    losses = [
        posvec.train(iter(lines), kind, **{**settings, "dim": dim}).report.loss
        for kind, dim in (("general", 16), ("subword", 24))
    ]
    assert both.report.loss == pytest.approx(np.mean(losses), rel=0.02)


class InterruptAtOnce:
    done = False

    def on_chunk(self, progress):
        if not self.done:
            os.kill(os.getpid(), signal.SIGINT)
        self.done = True

    def on_epoch(self, progress):
        pass


def test_resumed_training_gives_the_same_bits(lines, small, tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    settings = {**small, **SETTINGS, "epochs": 3}
    whole = posvec.train(tmp_path / "corpus.txt", "positional", **settings)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            posvec.train(
                tmp_path / "corpus.txt",
                "positional",
                **settings,
                output=tmp_path / "model",
                callbacks=[InterruptAtOnce()],
            )
    finally:
        signal.signal(signal.SIGINT, before)
    resumed = posvec.resume(tmp_path / "model")
    for one, other in zip(tables(whole), tables(resumed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_is_trained_further_with_new_words(model, lines):
    further = posvec.train([*lines[:20], "newword otherword newword"], start=model, min_count=1)
    assert "newword" in further.vocabulary
    assert further.word_head.shape == (len(further.vocabulary), 16)
    assert not np.array_equal(further.vectors["karan"], model.vectors["karan"])
    with pytest.raises(ModelError, match="keeps its word_dim"):
        posvec.train(lines[:20], start=model, word_dim=0)


def test_a_saved_model_is_the_same(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = posvec.load(tmp_path / "model")
    for one, other in zip(tables(model), tables(loaded), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(loaded.vectors.table, model.vectors.table)
    assert "W=16" in repr(loaded)


# ---- vectors --------------------------------------------------------------------------------------------------------


def test_vectors_are_the_heads_scaled_to_length_1_and_weighted(model):
    number = model.vocabulary.index["karan"]
    rows = model.rows.rows_of_known(number)
    word, spelling = model.word_head[number], model.input_vectors[rows[1:]].mean(0)  # without the word's own row
    meaning = unit(word) + OUTPUT_WEIGHT * unit(model.output_vectors[number, :16])
    expected = np.concatenate([unit(meaning), DEFAULT_SPELLING * unit(spelling)])
    np.testing.assert_allclose(model.vectors["karan"], unit(expected), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(model.vectors.table, axis=1), 1, rtol=1e-5)
    unweighted = model.vectors.unweighted["karan"]
    np.testing.assert_array_equal(unweighted[:16], word)
    np.testing.assert_allclose(unweighted[16:], model.input_vectors[rows].mean(0), rtol=1e-4, atol=1e-6)


def test_vectors_are_the_same_whether_the_table_exists(model):
    single = {word: model.vectors.with_spelling(1.2)[word] for word in model.vocabulary.words[:20]}
    table = model.vectors.with_spelling(1.2)
    assert len(table.table) == len(model.vocabulary)
    for word, vector in single.items():
        np.testing.assert_array_equal(table[word], vector)


def test_meaning_of_words_out_of_vocabulary_is_predicted_from_their_spelling(model):
    assert model.vectors.oov(UNSEEN)
    spelling = unit(model.vectors.unweighted[UNSEEN][16:])
    for weight in (0.5, 1.0, 2.0):
        vectors = model.vectors.with_spelling(weight)
        vector = vectors[UNSEEN] * np.hypot(1, weight)
        np.testing.assert_allclose(vector[16:], weight * spelling, rtol=1e-5)
        np.testing.assert_allclose(vector[:16], spelling @ vectors.meaning_weights, rtol=1e-4, atol=1e-6)
    assert not model.vectors.unweighted[UNSEEN][:16].any()


def test_the_prediction_of_meaning_is_a_ridge_regression(model):
    words = model.vocabulary.words
    table = model.vectors.table
    x, y = (np.array([unit(row) for row in part]) for part in (table[:, :16], table[:, 16:]))
    expected = np.linalg.solve(y.T @ y + 0.005 * len(words) * np.eye(24), y.T @ x)
    np.testing.assert_allclose(model.vectors.meaning_weights, expected, rtol=1e-3, atol=1e-4)
    assert ((x - y @ expected) ** 2).sum() < (x**2).sum()  # better than no prediction


def test_the_weight_of_spelling_trades_the_similarity_of_one_head_against_that_of_the_other(model):
    one, other = model.vectors[["karan", "lotek"]]
    meaning, spelling = (float(unit(one[head]) @ unit(other[head])) for head in (slice(16), slice(16, None)))
    for weight in (0, 0.5, 1, 3):
        expected = (meaning + weight**2 * spelling) / (1 + weight**2)
        assert model.vectors.with_spelling(weight).similarity("karan", "lotek") == pytest.approx(expected, abs=1e-5)
    for weight in (-1, float("nan"), "much"):
        with pytest.raises(ConfigError, match="spelling"):
            model.vectors.with_spelling(weight)


def test_contributions_of_rows_add_up_to_the_vector(model):
    own, *ngrams = [each.fraction for each in model.vectors.with_spelling(2).subword_contributions("karan")]
    assert own == pytest.approx(1 / 5, abs=1e-5)
    assert sum(ngrams) == pytest.approx(4 / 5, abs=1e-5)
    assert sum(each.fraction or 0 for each in model.vectors.subword_contributions(UNSEEN)) == pytest.approx(1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["word_head", "input_vectors"])
@pytest.mark.filterwarnings("error")
def test_vectors_that_are_not_finite_are_named(model, name, value):
    changed = model.with_tables(
        ModelTables(*(table.copy() for table in model.trained_tables())), model.positional_vectors
    )
    word, other = changed.vocabulary.words[5:7]
    getattr(changed, name)[5, 3] = value
    questions = {
        "contributions": lambda: changed.vectors.subword_contributions(word),
        "similarity": lambda: changed.vectors.similarity(word, other),
        "neighbours": lambda: changed.vectors.most_similar(other),
        "unweighted neighbours": lambda: changed.vectors.unweighted.most_similar(other),
        "context vector": lambda: changed.context_vector([word, "[MASK]"]),
        "masked word": lambda: changed.predict_masked([word, "[MASK]"]),
        "context words": lambda: context_words.top(changed),
        "examples": lambda: examples.find(changed),
        **{
            f"sentence vector, {method}": partial(changed.sentence_vectors, [[word, other]], method)
            for method in ("mean", "sif", "positional")
        },
    }
    for question, answer in questions.items():
        with pytest.raises(PosvecError, match=f"the vector of '{word}' is not finite"):
            pytest.fail(f"{question}: {answer()}")
    assert np.isfinite(changed.vectors.get_vector(other)).all()


# ---- contexts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", ["rows", "words"])
def test_context_vectors_are_those_of_training_in_each_head(lines, small, mean):
    model = posvec.train(iter(lines[:50]), "positional", **{**small, **SETTINGS, "context_mean": mean})
    context = model.context("karan lotek [MASK] mimol nebis")
    expected = np.zeros(40)
    rows = words = 0
    for word, position in context:
        number = model.vocabulary.index[word]
        of_word = model.rows.rows_of_known(number)
        expected[:16] += model.position(position)[:16] * model.word_head[number]
        expected[16:] += model.position(position)[16:] * model.input_vectors[of_word].sum(0)
        rows, words = rows + len(of_word), words + 1
    expected[:16] /= words
    expected[16:] /= rows if mean == "rows" else words
    np.testing.assert_allclose(model.context_vector("karan lotek [MASK] mimol nebis"), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_positional_sentence_vectors_are_means_of_context_vectors(model, weighting):
    words = ["karan", "lotek", UNSEEN, "mimol", "nebis"]
    gaps = [model.context_vector([*words[:i], "[MASK]", *words[i:]], weighting=weighting) for i in range(6)]
    found = model.sentence_vectors([words], "positional", weighting=weighting)[0]
    np.testing.assert_allclose(found, np.mean(gaps, 0), rtol=1e-4, atol=1e-6)


def test_a_context_of_words_out_of_vocabulary_alone_has_no_word_head(model):
    vector = model.context_vector([UNSEEN, "[MASK]"])
    assert not vector[:16].any()
    assert vector[16:].any()


def test_scores_are_the_sums_of_those_of_the_heads(model):
    context = model.context_vector("karan lotek [MASK] mimol nebis")
    best = model.predict_masked("karan lotek [MASK] mimol nebis", topn=1, ranking="paper")[0]
    output = model.output_vectors[model.masked_id(best.word)]
    assert best.score == pytest.approx(float(context[:16] @ output[:16] + context[16:] @ output[16:]), rel=1e-4)


def test_positions_are_explained(model, lines):
    found = clusters.find(model)
    assert sum(len(each.features) for each in found) <= 40
    top = context_words.top(model, topn=3, clusters=found)
    assert sum(top.class_sizes.values()) == len(model.vocabulary)
    made = examples.find(model, corpus=iter(lines[:30]), topn=1, clusters=found)
    assert made.examples
    for example in made.examples:
        for sentence, probability in zip(example.sentences, example.model_probabilities, strict=True):
            predicted = model.predict_masked(sentence, words=[example.masked_word], ranking="paper")[0]
            assert predicted.probability == pytest.approx(probability, abs=1e-5)


# ---- other formats --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.5, DEFAULT_SPELLING])
def test_one_head_has_the_same_vectors(model, weight):
    vectors = model.vectors.with_spelling(weight)
    plain = one_head(vectors)
    np.testing.assert_allclose(plain.table, vectors.table, atol=1e-5)
    np.testing.assert_allclose(unit(plain[UNSEEN]), unit(vectors[UNSEEN]), atol=1e-5)
    assert one_head(plain) is plain


def test_fasttext_reads_the_same_vectors(model, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    formats.write_vectors(tmp_path / "model.bin", model, "fasttext-bin")
    theirs = fasttext.load_model(str(tmp_path / "model.bin"))
    table = np.array([theirs.get_word_vector(word) for word in model.vocabulary.words])
    np.testing.assert_allclose(table, model.vectors.table, atol=1e-5)
    np.testing.assert_allclose(unit(theirs.get_word_vector(UNSEEN)), unit(model.vectors[UNSEEN]), atol=1e-5)
    for word in (UNSEEN, "karanlo", "nebismimol"):  # the same direction; fastText does not scale them to one length
        np.testing.assert_allclose(unit(theirs.get_word_vector(word)), unit(model.vectors[word]), atol=1e-5)
        assert not np.isclose(
            np.linalg.norm(theirs.get_word_vector(word)), np.linalg.norm(model.vectors[word]), rtol=0.01
        )
    with (tmp_path / "model.bin").open("rb") as file:
        words, size = model.vocabulary.words, file.seek(0, 2)
    # Settings, dictionary, and both tables, which have all features and a row for every bucket.
    header = 8 + 12 * 4 + 8 + 3 * 4 + 2 * 8 + sum(len(word.encode()) + 10 for word in words)
    rows = 2 * len(words) + model.config.subwords.buckets
    assert size == header + 2 * 17 + rows * model.config.model.dim * 4
    back = formats.load_model_or_vectors(tmp_path / "model.bin")
    np.testing.assert_allclose(back.vectors.table, model.vectors.table, atol=1e-5)
    formats.write_vectors(tmp_path / "vectors.bin", model.vectors.with_spelling(0), "fasttext-bin")
    back = formats.load_model_or_vectors(tmp_path / "vectors.bin")
    np.testing.assert_allclose(back.vectors.table, model.vectors.with_spelling(0).table, atol=1e-5)


def test_gensim_gets_the_same_vectors(model):
    pytest.importorskip("gensim")
    theirs = model.vectors.to_gensim()
    np.testing.assert_allclose(theirs["karan"], model.vectors["karan"], atol=1e-6)
    np.testing.assert_allclose(unit(theirs[UNSEEN]), unit(model.vectors[UNSEEN]), atol=1e-5)


def test_spacy_and_sentence_transformers_get_the_same_vectors(model, tmp_path):
    pytest.importorskip("spacy")
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.models import StaticEmbedding

    from posvec.interop.sentence_transformers import save_static_embedding
    from posvec.interop.spacy import to_spacy

    pipeline = to_spacy(model.vectors, "xx")
    np.testing.assert_array_equal(pipeline.vocab["karan"].vector, model.vectors["karan"])
    save_static_embedding(model.vectors, tmp_path / "embedding", "word")
    static = StaticEmbedding.from_model2vec(str(tmp_path / "embedding"))
    np.testing.assert_array_equal(static.embedding.weight.detach().numpy()[:-1], model.vectors.table)


def test_word2vec_files_have_the_same_vectors(model, tmp_path):
    formats.write_vectors(tmp_path / "vectors.bin", model, "word2vec-bin")
    np.testing.assert_array_equal(formats.load_vectors(tmp_path / "vectors.bin").table, model.vectors.table)


@pytest.mark.parametrize("method", METHODS)
def test_a_compressed_model_has_almost_the_same_vectors(model, method, tmp_path):
    words = 100 if method == "prune" else None
    small = compress(model, method, words=words, buckets=None if method != "prune" else 300)
    small.save(tmp_path / "small")
    loaded = posvec.load(tmp_path / "small")
    cosines = (loaded.vectors.table * model.vectors.table[: len(loaded.vocabulary)]).sum(1)
    # Where n-grams were removed, words have their own row again, which stands for the lost ones.
    assert cosines.min() > {"pq": 0.9, "prune": 0.5}.get(method, 0.999)
    np.testing.assert_array_equal(loaded.vectors.table, small.vectors.table)
    assert loaded.predict_masked("karan lotek [MASK] mimol nebis", topn=1)[0].rank == 1


def test_a_model_without_output_vectors_keeps_its_word_vectors(model, tmp_path):
    small = compress(model, "float16", vectors_only=True)
    small.save(tmp_path / "small")
    loaded = posvec.load(tmp_path / "small")
    assert loaded.vectors.word_head_outputs is None
    np.testing.assert_allclose(loaded.vectors.table, model.vectors.table, atol=2e-3)


# ---- the command line -----------------------------------------------------------------------------------------------


def test_commands_take_the_weight_of_spelling(model, tmp_path, posvec_command):
    path = tmp_path / "model"
    model.save(path)
    weighted = model.vectors.with_spelling(3)
    shown = posvec_command("similarity", path, "karan", "lotek", "--spelling", "3")
    assert float(shown.out) == pytest.approx(weighted.similarity("karan", "lotek"), abs=1e-5)
    shown = posvec_command("neighbors", path, "karan", "--tsv", "-n", "3", "--spelling", "3")
    near = weighted.most_similar("karan", topn=3)
    assert [line.split("\t")[1] for line in shown.out.splitlines()] == [each.word for each in near]
    shown = posvec_command("vector", path, "karan", "--spelling", "3")
    np.testing.assert_allclose([float(number) for number in shown.out.split()[1:]], weighted["karan"], rtol=1e-4)
    assert "W = 16" in posvec_command("info", path).out or "W=16" in posvec_command("info", path).out


def test_the_help_names_the_default_weight_of_spelling(posvec_command):
    assert f"[default: {DEFAULT_SPELLING:g}]" in " ".join(posvec_command("neighbors", "--help").out.split())


def test_the_weight_of_spelling_needs_two_heads(lines, small, tmp_path, posvec_command):
    posvec.train(iter(lines[:50]), "subword", **small, output=tmp_path / "model")
    refused = posvec_command("neighbors", tmp_path / "model", "karan", "--spelling", "2")
    assert refused.code == 1
    assert "model=two-heads" in refused.err


# ---- the explorer ---------------------------------------------------------------------------------------------------


def test_the_explorer_answers_about_models_with_two_heads(model):
    client = pytest.importorskip("fastapi.testclient")
    from posvec.explorer.application import make_application
    from posvec.explorer.loaded_models import LoadedModel

    loaded = LoadedModel("two", model)
    for step in loaded.warm_up_steps():
        step()
    page = client.TestClient(make_application({"two": loaded}), "http://127.0.0.1:8000")

    def answer(path, **parameters):
        response = page.get(f"/api/{path}", params={"model": "two", **parameters})
        assert response.status_code == 200, (path, response.text)
        return response.json()

    details = answer("model")
    assert {each["name"]: each["value"] for each in details["settings"]}["word_dim"] == 16
    assert details["bytes"] == 4 * sum(table.size for table in (*model.trained_tables(), model.positional_vectors))
    sentence = "karan lotek [MASK] mimol nebis"
    assert answer("masked", sentence=sentence)
    assert answer("explanation", sentence=sentence, word="karan")
    for view in ("positions", "clusters", "context-words", "examples"):
        assert answer(view)
    for word in ("karan", UNSEEN):
        assert answer("word", word=word)
        assert answer("neighbors", word=word)
    assert answer("similarity", first="karan", second="lotek")
    assert answer("analogy", a="karan", b="lotek", c="mimol")
    assert answer("map", word="karan")
