"""Conversion of word vectors to and from gensim, which gives the same answers."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import PosvecError, WordVectors
from posvec.interop.gensim import from_gensim
from posvec.subwords import subword_buckets

models = pytest.importorskip("gensim.models", reason="gensim is not installed")

# Not in the vocabulary, but each of its n-grams, of up to six characters, is one of tulips's or of xtulip's.
ALL_NGRAMS_KNOWN = "tulip"


@pytest.fixture(scope="module", params=["subword", "general"])
def vectors(request, lines, small):
    words = ["tulips", "xtulip", "ßéλ", "𝒳𝒴"]
    return posvec.train(iter([*lines, *[" ".join(words)] * 9]), request.param, **small).vectors


def same_answers(one, other, words):
    for word in words:
        np.testing.assert_allclose(one[word], other[word], atol=1e-6)


def test_gensim_answers_the_same(vectors):
    keyed = vectors.to_gensim()
    assert list(keyed.index_to_key) == vectors.vocabulary.words
    same_answers(vectors, keyed, keyed.index_to_key)
    assert keyed.get_vecattr("karan", "count") == vectors.vocabulary.counts[vectors.vocabulary.index["karan"]]
    for (word, similarity), near in zip(keyed.most_similar("karan"), vectors.most_similar("karan"), strict=True):
        assert word == near.word
        assert similarity == pytest.approx(near.similarity, abs=1e-6)


def test_an_out_of_vocabulary_word_has_the_same_vector_or_direction_in_gensim(vectors):
    keyed = vectors.to_gensim()
    if not vectors.rows.config.subwords:
        assert type(keyed) is models.KeyedVectors
        return
    assert vectors.oov(ALL_NGRAMS_KNOWN)
    buckets = subword_buckets(ALL_NGRAMS_KNOWN, vectors.rows.config)
    assert set(buckets) <= set(vectors.rows.bucket_ids)
    same_answers(vectors, keyed, [ALL_NGRAMS_KNOWN])
    partly = "karanxq"
    assert 0 < len(vectors.rows.rows_of(partly)) < len(subword_buckets(partly, vectors.rows.config))
    cosine = vectors[partly] @ keyed[partly] / np.linalg.norm(vectors[partly]) / np.linalg.norm(keyed[partly])
    assert cosine == pytest.approx(1, abs=1e-6)


def test_gensim_saves_and_loads_converted_vectors(vectors, tmp_path):
    keyed = vectors.to_gensim()
    keyed.save(str(tmp_path / "vectors"))
    again = type(keyed).load(str(tmp_path / "vectors"))
    same_answers(vectors, again, vectors.vocabulary.words)


def test_changes_of_the_gensim_vectors_do_not_affect_the_originals(vectors):
    before = vectors.table.copy()
    vectors.to_gensim().vectors[:] = 0
    assert np.array_equal(vectors.table, before)


def test_vectors_survive_a_round_trip_through_gensim(vectors):
    again = from_gensim(vectors.to_gensim())
    np.testing.assert_allclose(again.table, vectors.table, atol=1e-6)
    assert again.vocabulary.words == vectors.vocabulary.words
    assert np.array_equal(again.vocabulary.counts, vectors.vocabulary.counts)
    if vectors.rows.config.subwords:
        same_answers(vectors, again, [ALL_NGRAMS_KNOWN])


@pytest.mark.parametrize("kind", ["Word2Vec", "FastText"])
def test_a_model_that_gensim_trained_answers_the_same(lines, kind):
    sentences = [line.split() for line in lines[:100]]
    trained = getattr(models, kind)(
        sentences,
        vector_size=8,
        min_count=1,
        epochs=1,
        workers=1,
        **({"bucket": 500, "min_n": 2, "max_n": 4} if kind == "FastText" else {}),
    )
    for source in (trained, trained.wv):
        vectors = from_gensim(source)
        assert isinstance(vectors, WordVectors)
        same_answers(vectors, trained.wv, trained.wv.index_to_key)
        assert vectors.vocabulary.counts[0] == trained.wv.get_vecattr(trained.wv.index_to_key[0], "count")
        if kind == "FastText":  # n-grams that were never trained, too
            same_answers(vectors, trained.wv, ["karanqx", "qqq"])


def test_plain_vectors_of_gensim_need_no_counts():
    keyed = models.KeyedVectors(3)
    keyed.add_vectors(["one", "two words", "three"], np.arange(9, dtype=np.float32).reshape(3, 3))
    vectors = from_gensim(keyed)
    assert vectors["two words"].tolist() == [3, 4, 5]
    without = models.FastText([["one", "two"]], vector_size=3, min_count=1, max_n=0)
    assert not from_gensim(without).oov("ones")


def test_other_objects_are_refused():
    with pytest.raises(PosvecError, match=r"^from_gensim takes KeyedVectors, .* not a dict$"):
        from_gensim({})
    with pytest.raises(PosvecError, match=r"^these gensim vectors have no words yet; "):
        from_gensim(models.KeyedVectors(3))
    numbered = models.KeyedVectors(3)
    numbered.add_vectors([1, 2], np.ones((2, 3), np.float32))
    with pytest.raises(PosvecError, match=r"^words must be strings, but these gensim vectors have the key 1; "):
        from_gensim(numbered)
