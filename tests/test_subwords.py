"""Character n-grams, fastText's hash, and the rows of words."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posvec.config import SubwordConfig, VocabularyConfig
from posvec.errors import ModelError
from posvec.subwords import build_rows, saved_rows, subword_buckets, subwords
from posvec.vocabulary import Vocabulary

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
RANGES = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(sorted)


def config_of(min_n: int, max_n: int, buckets: int = 2_000_000) -> SubwordConfig:
    return SubwordConfig(min_n=min_n, max_n=max_n, buckets=buckets)


def fnv(ngram: str) -> int:
    value = 2166136261
    for byte in ngram.encode():
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) % 2**32
    return value


@given(WORDS, RANGES, st.integers(1, 2**31 - 1))
@example("</s>", [3, 6], 2_000_000)
@settings(max_examples=300, deadline=None)
def test_ngrams_are_those_of_the_marked_word_and_hash_as_defined(word: str, limits: list[int], buckets: int) -> None:
    config = config_of(*limits, buckets)
    marked = f"<{word}>"
    spans = ((i, j) for i in range(len(marked)) for j in range(i + limits[0], min(i + limits[1], len(marked)) + 1))
    expected = [marked[i:j] for i, j in spans if (i, j) not in ((0, 1), (len(marked) - 1, len(marked)))]
    if word == "</s>":  # the end of a line, which fastText does not treat as a word
        expected = []
    assert subwords(word, config) == expected
    assert subword_buckets(word, config).tolist() == [fnv(ngram) % buckets for ngram in expected]


def test_the_whole_marked_word_is_one_of_its_ngrams_if_short_enough() -> None:
    assert subwords("cat", config_of(3, 5)) == ["<ca", "<cat", "<cat>", "cat", "cat>", "at>"]
    assert subwords("cat", config_of(3, 4)) == ["<ca", "<cat", "cat", "cat>", "at>"]
    assert subwords("a", config_of(1, 1)) == ["a"]
    assert subwords("</s>", config_of(3, 6)) == []


@given(WORDS, RANGES)
@settings(max_examples=100, deadline=None)
def test_buckets_are_those_of_gensim(word: str, limits: list[int]) -> None:
    oracle = pytest.importorskip("gensim.models.fasttext")
    if limits[0] == 1:
        limits = [2, max(limits[1], 2)]  # gensim counts the marks as n-grams, fastText does not
    if word != "</s>":
        expected = oracle.ft_ngram_hashes(word, *limits, 2_000_000)
        assert subword_buckets(word, config_of(*limits)).tolist() == list(expected)


@pytest.fixture(scope="module")
def fasttext_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    fasttext = pytest.importorskip("fasttext")
    path: Path = tmp_path_factory.mktemp("fasttext") / "text"
    path.write_text("a few words, naïve слова 漢字 " * 10 + "\n", "utf-8")
    return fasttext.train_unsupervised(
        str(path), dim=2, minn=1, maxn=5, bucket=1000, epoch=1, thread=1, minCount=1, verbose=0
    )


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_subwords_and_buckets_are_those_of_fasttext(fasttext_model: Any, word: str) -> None:
    known = set(fasttext_model.get_words())
    ngrams, ids = fasttext_model.get_subwords(word)
    config = config_of(1, 5, 1000)
    own = 1 if word in known else 0
    assert subwords(word, config) == ngrams[own:]
    assert subword_buckets(word, config).tolist() == (ids[own:] - len(known)).tolist()


def test_words_that_fasttext_knows_have_the_same_subwords(fasttext_model: Any) -> None:
    known = fasttext_model.get_words()
    assert {"words,", "naïve", "слова", "漢字", "</s>"} <= set(known)
    for word in known:
        ngrams, ids = fasttext_model.get_subwords(word)
        assert [word, *subwords(word, config_of(1, 5, 1000))] == ngrams
        assert subword_buckets(word, config_of(1, 5, 1000)).tolist() == (ids[1:] - len(known)).tolist()


@pytest.mark.parametrize("buckets", [7, 2_000_000, 2**31 - 1])
def test_only_used_buckets_get_rows_ordered_by_use(buckets: int) -> None:
    vocabulary = Vocabulary.from_counts(
        {"the": 100, "other": 30, "thé": 30, "a": 20, "banana": 9}, VocabularyConfig(sample=0.1, subsampling="paper")
    )
    config = config_of(2, 4, buckets)
    built = build_rows(vocabulary, config)
    uses: Counter[int] = Counter()
    expected_uses = vocabulary.counts * vocabulary.keep_probabilities().astype(float)
    for word, use in zip(vocabulary.words, expected_uses.tolist(), strict=True):
        for bucket in subword_buckets(word, config).tolist():
            uses[bucket] += use
    assert built.bucket_ids.tolist() == sorted(uses, key=lambda bucket: (-uses[bucket], bucket))
    assert built.table_rows == 5 + len(uses)
    for i, word in enumerate(vocabulary.words):
        own, *rows = built.rows[built.row_begin[i] : built.row_begin[i + 1]].tolist()
        assert own == i
        assert built.bucket_ids[np.array(rows, int) - 5].tolist() == subword_buckets(word, config).tolist()
        assert built.rows_of(word).tolist() == rows


def test_an_unknown_word_gets_the_rows_of_those_of_its_ngrams_that_exist() -> None:
    built = build_rows(Vocabulary.from_counts({"cats": 9, "dogs": 8}), config_of(3, 3))
    existing = {
        ngram: row
        for word in ("cats", "dogs")
        for ngram, row in zip(subwords(word, built.config), built.rows_of(word).tolist(), strict=True)
    }
    assert built.rows_of("catfish").tolist() == [existing["<ca"], existing["cat"]]
    assert built.rows_of("zzz").tolist() == []


def test_without_subwords_a_word_is_its_own_row() -> None:
    built = build_rows(Vocabulary.from_counts({"a": 9, "b": 8}), SubwordConfig(subwords=False))
    assert (built.row_begin.tolist(), built.rows.tolist(), len(built.bucket_ids)) == ([0, 1, 2], [0, 1], 0)
    assert built.rows_of("ab").tolist() == []
    assert (built.row_begin.dtype, built.rows.dtype, built.bucket_ids.dtype) == (np.uint64, np.uint32, np.uint32)


def test_buckets_of_an_earlier_model_keep_their_order_and_new_ones_follow() -> None:
    config = config_of(3, 6)
    before = build_rows(Vocabulary.from_counts({"cats": 9, "dogs": 8}), config)
    after = build_rows(Vocabulary.from_counts({"mouse": 99, "cats": 9, "dogs": 8}), config, before.bucket_ids)
    assert after.bucket_ids[: len(before.bucket_ids)].tolist() == before.bucket_ids.tolist()
    assert len(after.bucket_ids) == len(before.bucket_ids) + len(subwords("mouse", config))
    assert (after.rows_of("cats") - 3).tolist() == (before.rows_of("cats") - 2).tolist()


def test_rows_of_a_saved_model_are_those_it_was_trained_with():
    vocabulary, config = Vocabulary.from_counts({"cats": 9, "dogs": 8}), config_of(3, 3)
    built = build_rows(vocabulary, config)
    saved = saved_rows(vocabulary, config, built.bucket_ids)
    assert saved.table_rows == built.table_rows
    assert np.array_equal(saved.rows_of_known(1), built.rows[int(built.row_begin[1]) :])
    assert np.array_equal(saved.rows, built.rows)
    assert np.array_equal(saved.row_begin, built.row_begin)


@pytest.mark.parametrize("change", [lambda ids: ids[1:], lambda ids: ids + np.uint32(1 << 31)])
def test_rows_that_do_not_fit_the_words_are_reported_as_damage(change):
    vocabulary, config = Vocabulary.from_counts({"cats": 9, "dogs": 8}), config_of(3, 3)
    saved = saved_rows(vocabulary, config, change(build_rows(vocabulary, config).bucket_ids))
    with pytest.raises(ModelError, match=r"^the model is damaged: .*; restore it"):
        _ = saved.rows
