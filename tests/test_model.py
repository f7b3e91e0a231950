"""Models: what they predict, saving and loading, growing."""

from __future__ import annotations

import json
import mmap
import random

import numpy as np
import pytest

import posvec
from posvec import Model, ModelError, PosvecError
from posvec.presets import MODELS
from posvec.system.arrays import is_padded

MEW, BARK = "unlike dogs cats [MASK]", "unlike cats dogs [MASK]"
TABLES = ("input_vectors", "output_vectors", "positional_vectors")


@pytest.fixture(scope="module")
def sentences():
    """Two sentences that differ in the order of their words alone, and others for the negatives to come from."""
    draw = random.Random(7)
    filler = [one + two for one in ("ka", "lo", "mi", "ne", "su") for two in ("ran", "tek", "mol", "bis")]
    lines = []
    for _ in range(300):
        lines += ["unlike dogs cats mew", "unlike cats dogs bark", " ".join(draw.choices(filler, k=6))]
    return lines


@pytest.fixture(scope="module")
def trained(sentences, small):
    """Each kind of model, trained on the sentences once per seed."""
    made = {}

    def get(kind, seed=1):
        if (kind, seed) not in made:
            settings = {**small, "dim": 24, "window": 5, "epochs": 10, "score_limit": 0.0, "seed": seed}
            if kind == "constrained":
                settings["positional_dim"] = 12
            made[kind, seed] = posvec.train(iter(sentences), kind, **settings)
        return made[kind, seed]

    return get


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", ["positional", "constrained"])
def test_models_with_positions_put_the_right_verb_first(trained, kind, seed):
    model = trained(kind, seed)
    for sentence, right, wrong in ((MEW, "mew", "bark"), (BARK, "bark", "mew")):
        assert model.predict_masked(sentence)[0].word == right
        first, second = model.predict_masked(sentence, words=[right, wrong])
        assert first.rank == 1 < second.rank
        assert first.score > second.score


@pytest.mark.parametrize("kind", ["general", "subword"])
def test_models_without_positions_give_both_sentences_the_very_same_context_vector(trained, kind):
    model = trained(kind)
    assert np.array_equal(model.context_vector(MEW), model.context_vector(BARK))
    assert {p.word for p in model.predict_masked(MEW, topn=2)} == {"mew", "bark"}


def test_with_equal_weighting_a_context_vector_is_the_mean_of_word_vectors_weighted_by_position(trained):
    model = trained("constrained")
    parts = []
    for word, position in (("unlike", -2), ("dogs", -1), ("mew", 2)):
        vector = model.vectors[word].copy()
        vector[:12] *= model.positional_vectors[position + 5 if position < 0 else position + 4]
        parts.append(vector)
    found = model.context_vector("unlike dogs [MASK] [PAD] mew", weighting="equal")
    np.testing.assert_allclose(found, np.mean(parts, 0), rtol=1e-5, atol=1e-7)


def test_words_beyond_the_window_do_not_matter(trained):
    model = trained("positional")
    near = "dogs cats dogs cats dogs [MASK]"
    assert np.array_equal(model.context_vector("mew bark " + near), model.context_vector(near))
    assert not np.array_equal(model.context_vector(near[5:]), model.context_vector(near))


def test_sentences_may_come_in_tokens(trained):
    model = trained("positional")
    assert np.array_equal(model.context_vector(["unlike", "dogs", "cats", "[MASK]"]), model.context_vector(MEW))
    assert np.array_equal(model.context_vector("Unlike dogs, cats [MASK]!"), model.context_vector(MEW))


def test_the_papers_predictions_are_ranked_by_score_and_carry_its_sigmoid(trained):
    predictions = trained("constrained").predict_masked(MEW, topn=1000, ranking="paper")
    assert [p.rank for p in predictions] == list(range(1, 26))
    assert [p.score for p in predictions] == sorted((p.score for p in predictions), reverse=True)
    assert predictions[0].probability == pytest.approx(1 / (1 + np.exp(-predictions[0].score)))


def test_predictions_of_a_model_that_knows_nothing_yet_are_ranked_by_frequency(sentences, small):
    vocabulary = trained_vocabulary(sentences, small)
    model = Model.create(posvec.make_config("general", **small), vocabulary)  # its output vectors are zero
    found = model.predict_masked(MEW, topn=5)
    assert [(p.word, p.rank) for p in found] == [(word, i) for i, word in enumerate(vocabulary.words[:5], 1)]


def test_an_unknown_word_of_a_sentence_counts_only_if_its_ngrams_are_known(trained):
    general, subword = trained("general"), trained("subword")
    assert np.array_equal(general.context_vector("unlike catsdogs [MASK]"), general.context_vector("unlike [MASK]"))
    assert not np.array_equal(subword.context_vector("unlike catsdogs [MASK]"), subword.context_vector("unlike [MASK]"))


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("unlike dogs cats", r"needs exactly one \[MASK\] .*, not 0"),
        ("[MASK] unlike [MASK]", r"needs exactly one \[MASK\] .*, not 2"),
        ("[MASK]", r"no word of the sentence near its \[MASK\] has a vector"),
        ("쥐 [MASK] [PAD]", r"no word of the sentence near its \[MASK\] has a vector"),
        (["unlike", 5, "[MASK]"], r"a sentence is a string or a list of words, and 5 is neither"),
        (5, r"a sentence is a string or a list of words, and 5 is neither"),
    ],
)
def test_a_sentence_that_cannot_be_used_is_refused(trained, sentence, message):
    with pytest.raises(PosvecError, match=message):
        trained("constrained").predict_masked(sentence)


def test_a_word_that_cannot_be_predicted_is_named(trained):
    with pytest.raises(PosvecError, match=r"cannot predict moo: not in its vocabulary"):
        trained("constrained").predict_masked(MEW, words=["mew", "moo"])


def test_importance_of_positions_is_the_scaled_length_of_their_vectors(trained):
    model = trained("positional")
    importance = model.position_importance()
    assert list(importance) == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
    assert (min(importance.values()), max(importance.values())) == (0.0, 1.0)
    lengths = {p: float(np.linalg.norm(model.position(p))) for p in importance}
    assert sorted(importance, key=importance.get) == sorted(lengths, key=lengths.get)
    with pytest.raises(PosvecError, match=r"a subword model has no positional vectors"):
        trained("subword").position_importance()


# ---- saving and loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_model_comes_back_bit_for_bit(trained, kind, tmp_path):
    model = trained(kind)
    model.save(tmp_path / "model")
    loaded = posvec.load(tmp_path / "model", verify=True)
    for name in TABLES:
        assert np.array_equal(getattr(model, name), getattr(loaded, name))
    assert np.array_equal(model.vectors.table, loaded.vectors.table)
    assert np.array_equal(model.context_vector(MEW), loaded.context_vector(MEW))
    assert model.predict_masked(MEW) == loaded.predict_masked(MEW)
    assert model.vectors.most_similar("cats") == loaded.vectors.most_similar("cats")
    assert loaded.vocabulary.words == model.vocabulary.words
    assert np.array_equal(loaded.vocabulary.counts, model.vocabulary.counts)
    assert loaded.config == model.config
    assert loaded.report == model.report
    assert loaded.state is None
    assert repr(loaded) == repr(model)


def test_saving_a_loaded_model_writes_the_same_bytes(trained, tmp_path):
    trained("constrained").save(tmp_path / "one")
    posvec.load(tmp_path / "one").save(tmp_path / "two")
    for pattern in ("model-*", "vocabulary-*"):
        (one,), (two,) = (tmp_path / "one").glob(pattern), (tmp_path / "two").glob(pattern)
        assert one.read_bytes() == two.read_bytes()


def test_tables_of_a_loaded_model_are_mapped_and_cannot_be_written(trained, tmp_path):
    trained("positional").save(tmp_path / "model")
    loaded = posvec.load(tmp_path / "model")
    for name in TABLES:
        table = getattr(loaded, name)
        assert not table.flags.writeable
        assert not table.flags.owndata
        assert any(isinstance(base, mmap.mmap) for base in bases(table))


def test_a_loaded_model_outlives_its_folder(trained, tmp_path):
    trained("subword").save(tmp_path / "model")
    loaded = posvec.load(tmp_path / "model")
    trained("subword", seed=2).save(tmp_path / "model", overwrite=True)
    assert np.array_equal(loaded.input_vectors, trained("subword").input_vectors)


def test_a_model_is_not_saved_over_another_unasked(trained, tmp_path):
    trained("subword").save(tmp_path / "model")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    with pytest.raises(ModelError, match=r"already holds a model; choose another output, or pass --overwrite"):
        trained("general").save(tmp_path / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format_version=99), r"was written by a newer posvec .* upgrade posvec"),
        (lambda c: c["settings"]["model"].update(dim=25), r"does not fit its config.json: input_vectors is "),
        (lambda c: c["settings"]["model"].update(shape=5), r"config.json is damaged \(there is no setting 'shape'"),
        (lambda c: c.pop("settings"), r"config.json is damaged"),
        (lambda c: c.update(report={"loss": 1}), r"config.json is damaged"),
        (lambda c: c["files"].pop("vocabulary.txt"), r"is not a complete model: config.json lists no vocabulary.txt"),
    ],
)
def test_a_model_whose_config_does_not_fit_is_refused(trained, tmp_path, change, message):
    trained("subword").save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match=message):
        posvec.load(tmp_path / "model")


def test_tables_for_training_are_writable_and_aligned(trained, tmp_path):
    trained("constrained").save(tmp_path / "model")
    loaded = posvec.load(tmp_path / "model")
    copy = loaded.trainable()
    for name in TABLES:
        assert np.array_equal(getattr(copy, name), getattr(loaded, name))
        assert getattr(copy, name).flags.writeable
    assert is_padded(copy.input_vectors)
    assert is_padded(copy.output_vectors)
    assert copy.trainable() is copy


# ---- growing --------------------------------------------------------------------------------------------------


def test_a_grown_model_keeps_all_it_knows_and_draws_the_rest(trained, small):
    model = trained("constrained")
    vocabulary = model.vocabulary.merge(trained_vocabulary(["cats purr", "purr purr"], small))
    grown = model.grow(vocabulary, model.config)
    assert set(grown.vocabulary.words) == {*model.vocabulary.words, "purr"}
    for word in model.vocabulary.words:
        assert np.array_equal(grown.vectors[word], model.vectors[word])
        old, new = model.vocabulary.index[word], grown.vocabulary.index[word]
        assert np.array_equal(grown.output_vectors[new], model.output_vectors[old])
    assert np.array_equal(grown.positional_vectors, model.positional_vectors)
    assert grown.vectors["purr"].any()
    assert not grown.output_vectors[grown.vocabulary.index["purr"]].any()
    assert len(grown.rows.bucket_ids) > len(model.rows.bucket_ids)
    assert np.array_equal(grown.context_vector(MEW), model.context_vector(MEW))


@pytest.mark.parametrize(
    "setting", [{"dim": 25}, {"window": 6}, {"context_mean": "words"}, {"buckets": 999}, {"subwords": False}]
)
def test_a_model_cannot_change_its_shape_when_it_grows(trained, setting):
    model = trained("constrained")
    with pytest.raises(ModelError, match=rf"a model keeps its {next(iter(setting))} when it is trained further"):
        model.grow(model.vocabulary, model.config.replace(**setting))


def trained_vocabulary(lines, small):
    from posvec.corpus.sources import open_corpus
    from posvec.vocabulary import Vocabulary

    return Vocabulary.count(open_corpus(iter(lines)), posvec.make_config("general", **small).vocabulary)


def bases(array):
    while array is not None:
        yield array
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
