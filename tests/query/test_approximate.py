"""The approximate index: what it finds, where it is saved, and when it is refused."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

import posvec
from posvec import Model, ModelError, PosvecError, Vocabulary, WordVectors
from posvec.query.approximate import INDEX_FILE, NeighborIndex
from posvec.query.indexing import index_model
from posvec.storage.safetensors import read_tensors, write_tensors

pytest.importorskip("usearch")


@pytest.fixture(scope="module")
def clustered():
    """4,000 words in 40 clusters, similar to the distribution of real words."""
    draw = np.random.default_rng(3)
    table = draw.normal(size=(40, 32))[draw.integers(40, size=4000)] + 0.6 * draw.normal(size=(4000, 32))
    return WordVectors.from_table([f"w{i}" for i in range(4000)], (5 * table).astype(np.float32))


@pytest.fixture(scope="module")
def index(clustered):
    return clustered.build_index()


@pytest.fixture
def model(corpus, small, tmp_path):
    """A saved model, loaded."""
    posvec.train(corpus, "subword", **small, output=tmp_path / "model")
    return posvec.load(tmp_path / "model")


def test_it_finds_nearly_all_of_the_ten_nearest_words_with_their_true_similarities(clustered, index):
    words = clustered.index_to_key[::8]
    exact, found = clustered.most_similar_batch(words), clustered.most_similar_batch(words, index=index)
    hits = 0
    for one, other in zip(exact, found, strict=True):
        similarities = dict(one)
        hits += len({word for word, _ in one} & {word for word, _ in other})
        assert [each.similarity for each in other] == sorted((each.similarity for each in other), reverse=True)
        for word, similarity in other:
            assert similarity == pytest.approx(similarities.get(word, similarity), abs=1e-5)
    assert hits / (10 * len(words)) > 0.95


def test_it_answers_analogies_and_vectors_without_the_words_given(clustered, index):
    found = clustered.most_similar(["w1", "w2"], ["w3"], topn=5, index=index)
    assert len(found) == 5
    assert not {"w1", "w2", "w3"} & {word for word, _ in found}
    assert clustered.most_similar(clustered["w9"], topn=1, index=index)[0].word == "w9"
    assert clustered.most_similar("w9", topn=0, index=index) == []
    assert clustered.most_similar_batch([], index=index) == []


def test_it_returns_every_word_if_topn_is_large_enough(model):
    index = model.vectors.build_index()
    assert len(index) == len(model.vocabulary)
    word = model.vocabulary.words[0]
    assert {each.word for each in model.vectors.most_similar(word, topn=10**6, index=index)} == set(
        model.vocabulary.words[1:]
    )


def test_a_saved_index_is_mapped_and_gives_the_same_answers(model):
    built = model.vectors.build_index()
    path = built.save()
    assert path == model.origin.path / INDEX_FILE
    again = posvec.load(model.origin.path)
    opened = again.vectors.open_index()
    word = model.vocabulary.words[3]
    assert again.vectors.most_similar(word, index=opened) == model.vectors.most_similar(word, index=built)
    with pytest.raises(ModelError, match=r"exists already; pass --overwrite"):
        built.save()
    built.save(overwrite=True)
    posvec.load(model.origin.path, verify=True)


def test_an_opened_index_answers_without_the_table_of_all_words(small, tmp_path):
    vocabulary = Vocabulary.from_counts({f"word{i}": 5 for i in range(1000)})
    Model.create(posvec.make_config("subword", **small), vocabulary).save(tmp_path / "model")
    index_model(tmp_path / "model")
    vectors = posvec.load(tmp_path / "model").vectors
    found = vectors.most_similar("word77", topn=5, index=vectors.open_index())
    assert "table" not in vectors.__dict__
    exact = dict(vectors.most_similar("word77", topn=1000))
    for word, similarity in found:
        assert similarity == pytest.approx(exact[word], abs=1e-5)


def test_it_is_found_in_a_copy_of_its_model(model, tmp_path):
    index_model(model.origin.path)
    shutil.copytree(model.origin.path, tmp_path / "copy")
    assert len(posvec.load(tmp_path / "copy").vectors.open_index()) == len(model.vocabulary)


def test_after_further_training_the_old_index_is_refused_and_can_be_replaced(model, corpus, small):
    path = model.origin.path
    index_model(path)
    posvec.train(corpus, "subword", **{**small, "epochs": 2}, output=path, overwrite=True)
    trained = posvec.load(path)
    with pytest.raises(ModelError, match=r"was not built from the current vectors of the model; rebuild it with: "):
        trained.vectors.open_index()
    with pytest.raises(ModelError, match=r"has changed since its vectors were loaded"):
        model.vectors.build_index().save(overwrite=True)
    index_model(path, overwrite=True)
    trained.vectors.open_index()


def test_an_index_of_other_vectors_is_refused(clustered, index, model):
    other = WordVectors.from_table(clustered.index_to_key, clustered.table.copy())
    with pytest.raises(PosvecError, match=r"was built from other vectors; build one for these"):
        other.most_similar("w1", index=index)
    with pytest.raises(PosvecError, match=r"was built from other vectors; build one for these"):
        model.vectors.most_similar(model.vocabulary.words[0], index=index)


def test_an_index_of_vectors_without_a_saved_model_cannot_be_saved(clustered, index):
    for call in (index.save, clustered.open_index):
        with pytest.raises(PosvecError, match=r"save the model and open it with posvec\.load"):
            call()


def test_without_an_index_the_remedy_is_named(model):
    with pytest.raises(ModelError, match=r"has no index of neighbours; build it with: posvec index "):
        model.vectors.open_index()


def test_restricting_the_vocabulary_of_an_index_is_refused(clustered, index):
    with pytest.raises(PosvecError, match=r"leave out restrict_vocab, or the index"):
        clustered.most_similar("w1", restrict_vocab=10, index=index)


@pytest.mark.parametrize("setting", [{"connectivity": 1}, {"effort": 0}, {"threads": -1}])
def test_invalid_settings_are_refused(clustered, setting):
    with pytest.raises(PosvecError, match=rf"^{next(iter(setting))} of an index must be"):
        clustered.build_index(**setting)


def test_damaged_files_are_refused_in_one_sentence(model):
    path = index_model(model.origin.path)
    tensors, metadata = read_tensors(path)
    intact, content = path.read_bytes(), np.array(tensors["index"])
    for damaged in (content[:64], content[: len(content) // 2], content[:0], np.zeros(500, np.uint8)):
        write_tensors(path, {"index": damaged}, metadata)
        with pytest.raises(ModelError, match=r"is damaged; rebuild it with: posvec index "):
            model.vectors.open_index()
    write_tensors(path, {"other": content}, metadata)
    with pytest.raises(ModelError, match=r"is not an index of neighbours; rebuild it"):
        model.vectors.open_index()
    for data in (intact[: len(intact) // 2], b"", b"junk" * 100):
        path.write_bytes(data)
        with pytest.raises(ModelError):
            model.vectors.open_index()


def test_progress_is_reported(clustered):
    reported = []
    NeighborIndex.build(clustered, 4, 8, 0, reported.append)
    assert reported[-1] == 1.0


def test_without_usearch_the_extra_is_named(clustered, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(PosvecError, match=r'needs usearch.* pip install "posvec\[ann\]"'):
        clustered.build_index()
