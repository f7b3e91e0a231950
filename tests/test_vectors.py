"""Word vectors: lookup, out-of-vocabulary words, similarity, neighbours."""

from __future__ import annotations

import numpy as np
import pytest

import posvec
from posvec import PosvecError, Vocabulary, WordVectors
from posvec.config import SubwordConfig
from posvec.subwords import build_rows

WORDS = {"cat": 9, "cats": 8, "dog": 7, "dogs": 6, "ox": 5}


def vectors(subwords: bool = True, seed: int = 0) -> WordVectors:
    vocabulary = Vocabulary.from_counts(WORDS, posvec.make_config("general", min_count=1).vocabulary)
    rows = build_rows(vocabulary, SubwordConfig(subwords=subwords, buckets=500))
    table = np.random.default_rng(seed).normal(size=(rows.table_rows, 8)).astype(np.float32)
    return WordVectors(vocabulary, rows, table)


def test_without_subwords_a_vector_is_the_word_s_row_itself():
    words = vectors(subwords=False)
    assert np.shares_memory(words["dog"], words.input_vectors)
    assert np.array_equal(words["dog"], words.input_vectors[2])


def test_from_table_keeps_the_order_and_does_not_copy():
    table = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    words = WordVectors.from_table(["ox", "cat", "dog"], table, counts=[3, 9, 5])
    assert len(words) == 3
    assert "cat" in words
    assert not words.oov("cats")
    assert np.shares_memory(words["cat"], table)
    assert np.array_equal(words["cat"], table[1])
    assert {neighbor.word for neighbor in words.most_similar("cat")} == {"ox", "dog"}
    with pytest.raises(PosvecError, match=r"there is no vector for 'cats': it is not in the vocabulary; try"):
        words["cats"]


@pytest.mark.parametrize(
    ("words", "table", "counts", "message"),
    [
        (["a", "b"], np.zeros((3, 2), np.float32), None, r"2 words need an array with 2 rows.* not shape \(3, 2\)"),
        (["a", "b"], np.zeros(2, np.float32), None, r"2 words need an array with 2 rows.* not shape \(2,\)"),
        (["a"], np.zeros((1, 0), np.float32), None, r"shape \(1, 0\)"),
        (["a"], [[1.0]], None, r"one vector each, not a list"),
        (["a", "b", "a"], np.zeros((3, 2), np.float32), None, r"the word 'a' occurs twice"),
        (["a", 5], np.zeros((2, 2), np.float32), None, r"words must be strings, not 5"),
        ([], np.zeros((0, 2), np.float32), None, r"there are no words"),
        (["a"], np.array([["x"]]), None, r"vectors must be numbers"),
        (["a"], np.zeros((1, 2), np.float32), [1, 2], r"counts must be 1 numbers"),
        (["a"], np.zeros((1, 2), np.float32), [-1], r"and not negative"),
    ],
)
def test_a_table_that_does_not_fit_its_words_is_refused(words, table, counts, message):
    with pytest.raises(PosvecError, match=message):
        WordVectors.from_table(words, table, counts)


def test_with_subwords_a_vector_is_the_mean_of_the_word_s_rows():
    words = vectors()
    rows = words.rows.rows[words.rows.row_begin[2] : words.rows.row_begin[3]]
    assert len(rows) > 3
    np.testing.assert_allclose(words["dog"], words.input_vectors[rows].mean(0), rtol=1e-6)


def test_the_table_of_many_words_equals_single_lookups():
    vocabulary = Vocabulary.from_counts({f"word{i}": 5 for i in range(2500)})  # more than one task
    rows = build_rows(vocabulary, SubwordConfig(buckets=500))
    table = np.random.default_rng(0).normal(size=(rows.table_rows, 8)).astype(np.float32)
    words = WordVectors(vocabulary, rows, table)
    assert words.table.shape == (2500, 8)
    for i in (0, 1023, 1024, 2499):
        own = rows.rows[rows.row_begin[i] : rows.row_begin[i + 1]]
        np.testing.assert_allclose(words.table[i], table[own].mean(0), rtol=1e-4, atol=1e-6)


def test_lookup_of_single_words_equals_the_table_bit_for_bit():
    vocabulary = Vocabulary.from_counts({f"word{i}": 5 for i in range(400)})
    rows = build_rows(vocabulary, SubwordConfig(buckets=500))
    table = np.random.default_rng(0).normal(size=(rows.table_rows, 8)).astype(np.float32)
    words, some = WordVectors(vocabulary, rows, table), ["word7", "word399", "words", "word7"]
    alone, together = [words[word] for word in some], words.get_vectors(some)
    assert "table" not in words.__dict__
    assert np.array_equal(alone, together)
    assert words.table.shape == (400, 8)
    assert np.array_equal(alone, words.get_vectors(some))
    assert np.array_equal(alone, words[some])
    for empty in (words.get_vectors([]), WordVectors(vocabulary, rows, table).get_vectors([], norm=True)):
        assert (empty.shape, empty.dtype) == ((0, 8), np.float32)
    for wrong in ([5], [["word7"]], [None] * 400):
        with pytest.raises(PosvecError, match=r"words must be strings, not "):
            words.get_vectors(wrong)


def test_an_out_of_vocabulary_word_is_the_mean_of_its_known_ngrams():
    words = vectors()
    assert "catdog" not in words
    assert words.oov("catdog")
    assert not words.oov("cat")
    np.testing.assert_allclose(words["catdog"], words.input_vectors[words.rows.rows_of("catdog")].mean(0), rtol=1e-6)


def test_a_word_without_known_ngrams_has_no_vector():
    for words, message in ((vectors(), r"and no n-gram of it"), (vectors(False), r"is not in the vocabulary; try")):
        assert not words.oov("쥐")
        with pytest.raises(PosvecError, match=r"^there is no vector for '쥐'.*" + message):
            words["쥐"]


def test_neighbours_are_by_cosine_best_first_and_without_the_word_itself():
    words = vectors(subwords=False)
    unit = words.table / np.linalg.norm(words.table, axis=1, keepdims=True)
    expected = sorted(((float(unit[i] @ unit[0]), word) for i, word in enumerate(WORDS) if i), reverse=True)
    found = words.most_similar("cat", topn=10)
    assert [neighbor.word for neighbor in found] == [word for _, word in expected]
    np.testing.assert_allclose([neighbor.similarity for neighbor in found], [s for s, _ in expected], rtol=1e-5)
    assert [neighbor.word for neighbor in words.most_similar("cat", topn=2)] == [word for _, word in expected[:2]]
    assert words.similarity("cat", found[0].word) == pytest.approx(found[0].similarity, abs=1e-6)


def test_an_analogy_adds_and_subtracts_unit_vectors_and_leaves_out_its_words():
    words = vectors(subwords=False)
    unit = words.table / np.linalg.norm(words.table, axis=1, keepdims=True)
    query = unit[0] + unit[3] - unit[1]
    found = words.most_similar(["cat", "dogs"], "cats")
    assert {neighbor.word for neighbor in found} == {"dog", "ox"}
    assert words.most_similar(query)[0].word in ("cat", "dogs")
    assert found[0].similarity == pytest.approx(max(unit[i] @ query for i in (2, 4)) / np.linalg.norm(query), abs=1e-5)


def test_an_empty_query_is_refused():
    with pytest.raises(PosvecError, match=r"needs at least one word"):
        vectors().most_similar([])


def test_a_vector_of_zeros_is_similar_to_nothing():
    words = vectors(subwords=False)
    words.input_vectors[2] = 0
    assert words.similarity("dog", "cat") == 0
    assert all(np.isfinite(neighbor.similarity) for neighbor in words.most_similar("cat"))


def test_lookup_of_a_single_word_does_not_make_the_table():
    words = vectors()
    single = [words[word] for word in WORDS]
    assert "table" not in words.__dict__
    assert np.array_equal(single, words.table)


def test_the_contributions_of_the_rows_of_a_word_add_up_to_its_vector():
    words = vectors()
    known, made, partly = (words.subword_contributions(word) for word in ("cats", "catdog", "catxyzq"))
    assert [part.text for part in known[:3]] == ["cats", "<ca", "<cat"]
    assert made[0].text == "<ca"
    for word, parts in (("cats", known), ("catdog", made), ("catxyzq", partly)):
        assert sum(part.fraction or 0 for part in parts) == pytest.approx(1, abs=1e-5)
        rows = words.rows.rows_of_ngrams(word)
        assert [part.fraction is None for part in parts[-len(rows) :]] == (rows < 0).tolist()
    assert any(part.fraction is None for part in partly)
    assert words.parts("cats") == known  # the name in posvec 0.1.0
    own = words.input_vectors[1]
    vector = words["cats"]
    assert known[0].fraction == pytest.approx(own @ vector / (vector @ vector) / len(known), abs=1e-5)


def test_without_subwords_the_word_itself_contributes_everything():
    assert vectors(subwords=False).subword_contributions("dog") == [("dog", pytest.approx(1))]
    with pytest.raises(PosvecError, match="no vector for 'dogdog'"):
        vectors(subwords=False).subword_contributions("dogdog")
