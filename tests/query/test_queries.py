"""Queries to word vectors; gensim is the oracle, on random vectors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from posvec import PosvecError, UnknownWordError, WordVectors

keyedvectors = pytest.importorskip("gensim.models.keyedvectors")

SIZE, DIM = 3000, 20
WORDS = [f"w{i}" for i in range(SIZE)]


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(5)
    return (draw.normal(size=(SIZE, DIM)) * draw.uniform(0.1, 3, size=(SIZE, 1))).astype(np.float32)


@pytest.fixture(scope="module")
def ours(table):
    return WordVectors.from_table(WORDS, table)


@pytest.fixture(scope="module")
def theirs(table):
    vectors = keyedvectors.KeyedVectors(DIM)
    vectors.add_vectors(WORDS, table)
    return vectors


def same(found, expected):
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-6, atol=1e-6)


A_VECTOR = np.random.default_rng(6).normal(size=DIM).astype(np.float32)


@pytest.mark.parametrize(
    "question",
    [
        {"positive": "w7"},
        {"positive": ["w7"], "topn": 1},
        {"positive": ["w7", "w12"], "negative": ["w1500"]},
        {"positive": "w7", "negative": "w2999"},
        {"negative": ["w3"]},
        {"positive": ["w7", "w8"], "topn": 50, "restrict_vocab": 100},
        {"positive": ["w2000"], "restrict_vocab": 5},
        {"positive": A_VECTOR},
        {"positive": [A_VECTOR, "w3"], "negative": [2 * A_VECTOR[::-1]]},
        {"positive": [("w7", 0.3), "w8"], "negative": [("w9", -0.2), "w10"]},
        {"positive": [(A_VECTOR, 1.5), ("w4", -2.0)]},
        {"positive": ["w1"], "topn": 0},
        {"positive": ["w1", "w2", "w3"], "topn": 5000},
    ],
)
def test_most_similar_words_are_those_of_gensim(ours, theirs, question):
    same(ours.most_similar(**question), theirs.most_similar(**question))


@pytest.mark.parametrize(
    "question",
    [
        {"positive": ["w7", "w12"], "negative": ["w1500"]},
        {"positive": "w7", "negative": "w8", "topn": 3},
        {"positive": ["w7"], "topn": 40},
        {"positive": ["w7", "w2", "w3"], "negative": ["w5", "w6"]},
    ],
)
@pytest.mark.filterwarnings("ignore:Call to deprecated")
def test_3cosmul_is_that_of_gensim(ours, theirs, question):
    same(ours.most_similar_cosmul(**question), theirs.most_similar_cosmul(**question))


def test_3cosmul_can_be_restricted_to_frequent_words(ours):
    everything = ours.most_similar_cosmul(["w7", "w12"], ["w1500"], topn=SIZE)
    frequent = [each for each in everything if int(each.word[1:]) < 50]
    same(ours.most_similar_cosmul(["w7", "w12"], ["w1500"], topn=SIZE, restrict_vocab=50), frequent)


def test_neighbors_of_words_and_vectors_are_those_of_gensim(ours, theirs):
    same(ours.similar_by_word("w9", 5, 1000), theirs.similar_by_word("w9", 5, 1000))
    same(ours.similar_by_vector(A_VECTOR, 5), theirs.similar_by_vector(A_VECTOR, 5))


def test_pairs_and_sets_are_compared_as_by_gensim(ours, theirs):
    near = {"rel": 1e-6, "abs": 1e-6}
    assert ours.similarity("w1", "w2") == pytest.approx(theirs.similarity("w1", "w2"), **near)
    assert ours.distance("w1", "w2") == pytest.approx(theirs.distance("w1", "w2"), **near)
    one, other = ["w1", "w2", "w3"], ["w9", "w8"]
    assert ours.n_similarity(one, other) == pytest.approx(theirs.n_similarity(one, other), **near)
    np.testing.assert_allclose(ours.distances("w5"), theirs.distances("w5"), atol=1e-6)
    np.testing.assert_allclose(ours.distances("w5", other), theirs.distances("w5", other), atol=1e-6)
    np.testing.assert_allclose(ours.distances(A_VECTOR, other), theirs.distances(A_VECTOR, other), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_odd_one_out_ranks_and_closer_words_are_those_of_gensim(ours, theirs, seed):
    words = np.random.default_rng(seed).choice(WORDS, 6, replace=False).tolist()
    assert ours.doesnt_match(words) == theirs.doesnt_match(words)
    assert ours.rank(*words[:2]) == theirs.rank(*words[:2])
    assert ours.closer_than(*words[:2]) == theirs.closer_than(*words[:2])
    nearest = ours.most_similar(words[0])[1].word
    assert ours.rank(words[0], nearest) == 2
    assert ours.closer_than(words[0], nearest) == [ours.most_similar(words[0])[0].word]


@pytest.mark.parametrize(
    "options",
    [{}, {"weights": [1.0, -2.0, 0.5]}, {"pre_normalize": False}, {"post_normalize": True, "weights": np.ones(3)}],
)
def test_mean_vectors_are_those_of_gensim(ours, theirs, options):
    keys = ["w1", A_VECTOR, "w3"]
    found = ours.get_mean_vector(keys, **options)
    np.testing.assert_allclose(found, theirs.get_mean_vector(keys, **options), rtol=1e-6, atol=1e-6)
    missing = ours.get_mean_vector(["w1", "nowhere"])
    np.testing.assert_allclose(missing, theirs.get_mean_vector(["w1", "nowhere"]), rtol=1e-6, atol=1e-6)


def test_lookup_has_the_names_and_results_of_gensim(ours, theirs):
    assert ours.key_to_index == theirs.key_to_index
    assert ours.index_to_key == theirs.index_to_key
    assert ours.vector_size == theirs.vector_size
    assert len(ours) == len(theirs)
    assert "w5" in ours
    assert "nowhere" not in ours
    assert np.array_equal(ours["w5"], theirs["w5"])
    assert np.array_equal(ours[["w5", "w6"]], theirs[["w5", "w6"]])
    np.testing.assert_allclose(ours.get_vector("w5", norm=True), theirs.get_vector("w5", norm=True), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(ours.get_vectors(WORDS[:9], norm=True), axis=1), 1, rtol=1e-6)
    with pytest.raises(KeyError):
        theirs["nowhere"]
    with pytest.raises(KeyError):
        ours["nowhere"]


def test_batches_give_the_answers_of_single_queries(ours):
    words, others = WORDS[:300:7], WORDS[1000:1300:7]
    for found, word in zip(ours.most_similar_batch(words), words, strict=True):
        same(found, ours.most_similar(word))
    for found, word in zip(ours.most_similar_batch(ours.get_vectors(words), topn=4), words, strict=True):
        same(found, ours.similar_by_vector(ours[word], 4))
    positive, negative = [["w1", "w2"], "w3", [A_VECTOR]], ["w5", None, ["w6", "w7"]]
    asked = list(zip(positive, negative, strict=True))
    for found, (plus, minus) in zip(ours.most_similar_batch(positive, negative), asked, strict=True):
        same(found, ours.most_similar(plus, minus))
    for found, (plus, minus) in zip(ours.most_similar_cosmul_batch(positive, negative), asked, strict=True):
        same(found, ours.most_similar_cosmul(plus, minus))
    pairs = list(zip(words, others, strict=True))
    np.testing.assert_allclose(ours.similarity_batch(words, others), [ours.similarity(*pair) for pair in pairs], 1e-5)
    assert ours.rank_batch(words, others) == [ours.rank(*pair) for pair in pairs]
    assert ours.closer_than_batch(words, others) == [ours.closer_than(*pair) for pair in pairs]
    np.testing.assert_allclose(ours.distances_batch(words)[3], ours.distances(words[3]), atol=1e-6)
    assert ours.distances_batch(words, others).shape == (len(words), len(others))
    lists = [words[:4], others[:6]]
    assert ours.doesnt_match_batch(lists) == [ours.doesnt_match(each) for each in lists]
    assert ours.n_similarity_batch(lists, lists[::-1])[0] == ours.n_similarity(*lists)
    assert np.array_equal(ours.get_mean_vector_batch(lists)[1], ours.get_mean_vector(lists[1]))
    assert ours.most_similar_batch([]) == []


def test_a_memory_mapped_table_is_searched_without_a_copy(ours, table, tmp_path):
    np.save(tmp_path / "table.npy", table)
    mapped = WordVectors.from_table(WORDS, np.load(tmp_path / "table.npy", mmap_mode="r"))
    same(mapped.most_similar("w1"), ours.most_similar("w1"))
    assert np.shares_memory(mapped.table, mapped.input_vectors)


def test_a_search_allocates_less_than_the_size_of_the_table():
    table = np.random.default_rng(0).normal(size=(40_000, 100)).astype(np.float32)  # 16 MB
    vectors = WordVectors.from_table([f"w{i}" for i in range(40_000)], table)
    tracemalloc.start()
    vectors.most_similar_batch(["w1", "w2", "w3"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < table.nbytes / 4


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (lambda v: v.most_similar(), r"needs at least one word"),
        (lambda v: v.most_similar("nowhere"), r"there is no vector for 'nowhere'"),
        (lambda v: v.most_similar(np.zeros(3, np.float32)), r"vectors of 20 numbers, not of an array of shape \(3,\)"),
        (lambda v: v.most_similar(np.full(DIM, np.nan, np.float32)), r"not finite"),
        (lambda v: v.most_similar([0.5, 0.5]), r"vectors of 20 numbers, not of 0\.5"),
        (lambda v: v.most_similar(5), r"a query must be a word, a vector or a list of them, not 5"),
        (lambda v: v.most_similar("w1", topn=None), r"topn must be an integer, not None"),
        (lambda v: v.most_similar("w1", restrict_vocab=0), r"restrict_vocab is 0, but must be at least 1"),
        (lambda v: v.most_similar_batch("w1"), r"put a single query in a list"),
        (lambda v: v.most_similar_batch(["w1", "w2"], ["w3"]), r"must have the same length, not 2 and 1"),
        (lambda v: v.most_similar_cosmul(negative="w1"), r"most_similar_cosmul needs at least one word"),
        (lambda v: v.most_similar_cosmul([("w1", 2.0)]), r"3CosMul has no weights"),
        (lambda v: v.similarity("w1", "nowhere"), r"there is no vector for 'nowhere'"),
        (lambda v: v.similarity("w1", 5), r"words must be strings, not 5"),
        (lambda v: v.n_similarity([], ["w1"]), r"give at least one"),
        (lambda v: v.n_similarity(["w1"], ["nowhere"]), r"there is no vector for 'nowhere'"),
        (lambda v: v.doesnt_match([]), r"give at least one"),
        (lambda v: v.doesnt_match("w1"), r"needs a list of words"),
        (lambda v: v.rank("w1", "nowhere"), r"there is no vector for 'nowhere'"),
        (lambda v: v.rank_batch("w1", ["w2"]), r"put it in a list"),
        (lambda v: v.get_mean_vector([]), r"give at least one"),
        (lambda v: v.get_mean_vector(["w1"], [1, 2]), r"must have the same length, not 1 and 2"),
        (lambda v: v.get_vectors("w1"), r"use get_vector\('w1'\)"),
    ],
)
def test_invalid_queries_are_refused_in_one_sentence(ours, query, message):
    with pytest.raises(PosvecError, match=message) as raised:
        query(ours)
    assert "\n" not in str(raised.value)


def test_an_unknown_word_is_a_key_error_with_a_plain_message(ours):
    with pytest.raises(UnknownWordError) as raised:
        ours["nowhere"]
    assert str(raised.value).startswith("there is no vector")


def test_a_vector_that_is_not_finite_is_named(table):
    broken = table.copy()
    broken[7, 3] = np.nan
    with pytest.raises(PosvecError, match=r"the vector of 'w7' is not finite"):
        WordVectors.from_table(WORDS, broken).most_similar("w1")
