"""spaCy with a model's vectors."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import ConfigError, WordVectors
from posvec.formats.text import write_word2vec_text

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")


@pytest.fixture(scope="module")
def model(corpus, small):
    return posvec.train(corpus, "constrained", **small)


def test_a_vocab_has_the_vectors_and_finds_words_of_either_case(model):
    vocab = model.vectors.to_spacy_vocab("en")
    assert isinstance(vocab, spacy.vocab.Vocab)
    assert vocab.lang == "en"
    assert vocab.vectors.shape == (len(model.vocabulary), 16)
    for word in model.vocabulary.words:
        assert np.array_equal(vocab[word].vector, model.vectors[word])
        assert np.array_equal(vocab[word.title()].vector, model.vectors[word])
    assert not vocab.has_vector("쥐")
    assert vocab["karan"].similarity(vocab["lomol"]) == pytest.approx(
        model.vectors.similarity("karan", "lomol"), abs=1e-6
    )


def test_words_that_are_not_all_lower_case_are_found_as_they_are_written():
    vocab = WordVectors.from_table(["US", "us"], np.eye(2, dtype=np.float32)).to_spacy_vocab("en")
    assert vocab["US"].vector.tolist() == [1, 0]
    assert vocab["us"].vector.tolist() == [0, 1]
    assert not vocab.has_vector("Us")


def test_an_exported_pipeline_opens_with_its_vectors(model, posvec_command, tmp_path):
    model.save(tmp_path / "model")
    arguments = ("export", tmp_path / "model", "--to", "spacy", "-o", tmp_path / "pipeline")
    ended = posvec_command(*arguments, "--language", "en")
    assert ended.code == 0, ended.err
    assert "leaves out the vectors of n-grams, positional vectors, output vectors, which" in ended.err
    pipeline = spacy.load(tmp_path / "pipeline")
    assert pipeline.lang == "en"
    document = pipeline("Karan, lomol!")
    assert [token.text for token in document] == ["Karan", ",", "lomol", "!"]
    assert np.array_equal(document[0].vector, model.vectors["karan"])
    assert np.array_equal(document[2].vector, model.vectors["lomol"])
    assert not document[1].has_vector
    assert posvec_command(*arguments).code == 1
    assert posvec_command(*arguments, "--overwrite").code == 0
    assert spacy.load(tmp_path / "pipeline").lang == "xx"


def test_a_language_that_spacy_does_not_know_is_named(model):
    with pytest.raises(ConfigError, match=r"^spaCy does not know the language 'qqq'; "):
        model.vectors.to_spacy_vocab("qqq")


def test_spacy_init_vectors_reads_the_word2vec_text_that_posvec_writes(model, tmp_path):
    write_word2vec_text(tmp_path / "vectors.txt", model.vectors)
    pipeline = spacy.blank("en")
    # What the command spacy init vectors calls.
    spacy.training.initialize.convert_vectors(pipeline, tmp_path / "vectors.txt", truncate=0, prune=0)
    assert pipeline.vocab.vectors.shape == (len(model.vocabulary), 16)
    for word in model.vocabulary.words:
        np.testing.assert_allclose(pipeline.vocab[word].vector, model.vectors[word], atol=1e-6)
