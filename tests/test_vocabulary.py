"""Vocabularies: counts, limits, probabilities and files."""

import itertools
import json
import os
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posvec import _kernel
from posvec.config import VocabularyConfig
from posvec.corpus.sources import open_corpus
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import CorpusError, ModelError
from posvec.vocabulary import Vocabulary

ALL = VocabularyConfig(min_count=1)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))


def by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def pairs(vocabulary: Vocabulary) -> list[tuple[str, int]]:
    return list(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_are_those_of_a_counter_whatever_the_number_of_threads(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posvec.system.files.BLOCK", 10_000)
    draw = random.Random(1)
    # Short and long words, more of them than a new table has room for, and some that differ in the last byte only.
    words = [f"{'слово' * (i % 7)}{i:x}" for i in range(5000)] + ["x" * 16, "x" * 17, "x" * 32, "x" * 31 + "y"]
    path = tmp_path / "text"
    path.write_text("\n".join(" ".join(draw.choices(words, k=20)) for _ in range(3000)), "utf-8")
    expected = Counter(path.read_text("utf-8").split())
    vocabulary = Vocabulary.count(open_corpus(path), ALL, threads)
    assert pairs(vocabulary) == by_count(expected)
    assert vocabulary.total_words == 60_000


@given(st.lists(st.text("abİΣé \n😀", max_size=30), max_size=8), st.integers(1, 3), st.none() | st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_merged_counters_keep_the_most_frequent_words_in_order(
    texts: list[str], minimum: int, maximum: int | None
) -> None:
    counters = [_kernel.WordCounter(get_tokenizer("word")) for _ in range(2)]
    for number, text in enumerate(texts):
        counters[number % 2].add(text.encode())
    counters[0].merge(counters[1])
    expected = Counter(word for text in texts for line in text.split("\n") for word in re.findall(r"\w+", line.lower()))
    words, counts = counters[0].most_common(minimum, maximum)
    assert (
        list(zip(words, counts.tolist(), strict=True)) == [i for i in by_count(expected) if i[1] >= minimum][:maximum]
    )
    assert (counters[0].tokens, counters[0].distinct) == (expected.total(), len(expected))


def test_rare_words_are_dropped_but_counted_in_the_total() -> None:
    vocabulary = Vocabulary.count(open_corpus(iter(["b a c", "B a"])), VocabularyConfig(min_count=2))
    assert pairs(vocabulary) == [("a", 2), ("b", 2)]
    assert vocabulary.total_words == 5
    assert "a" in vocabulary
    assert "c" not in vocabulary
    assert vocabulary.index == {"a": 0, "b": 1}


def test_a_vocabulary_of_counts_has_the_same_cut_offs() -> None:
    counts = {"d": 1, "b": 3, "c": 3, "a": 2}
    assert pairs(Vocabulary.from_counts(counts, VocabularyConfig(min_count=2))) == [("b", 3), ("c", 3), ("a", 2)]
    assert pairs(Vocabulary.from_counts(counts, VocabularyConfig(min_count=2, max_words=2))) == [("b", 3), ("c", 3)]
    with pytest.raises(CorpusError, match="not text"):
        Vocabulary.from_counts({"\ud800": 9})


@pytest.mark.parametrize("count", [-1, 1.5, 3.0, float("nan"), "3", None, True])
def test_counts_that_are_not_integers_are_refused(count: object) -> None:
    with pytest.raises(CorpusError, match=r"the count of 'a' is .*, but must be an integer of at least 0"):
        Vocabulary.from_counts({"a": count, "b": 9})  # type: ignore[dict-item]


@pytest.mark.parametrize("counts", [{"a": 10**30}, {"a": 2**63}, {"a": 2**62, "b": 2**62}, {"a": 10**400}])
def test_counts_beyond_64_bits_are_refused(counts: dict[str, int]) -> None:
    with pytest.raises(CorpusError, match=r"the words occur more than 9.2e18 times, .*; divide the counts"):
        Vocabulary.from_counts(counts)
    largest = Vocabulary.from_counts({"a": 2**62, "b": 2**62 - 1})
    assert largest.keep_probabilities().tolist() == pytest.approx([0.0045, 0.0045], abs=1e-5)
    with pytest.raises(CorpusError, match=r"divide the counts"):
        largest.merge(largest)


def test_the_error_for_a_corpus_without_frequent_words_has_the_figures() -> None:
    with pytest.raises(
        CorpusError, match=r"occurs 5 times: it has 4 words, 3 of them distinct, .* 2 times; lower min_count"
    ):
        Vocabulary.count(open_corpus(iter(["a b", "a c"])), VocabularyConfig(min_count=5))
    with pytest.raises(CorpusError, match="no words in"):
        Vocabulary.count(open_corpus(iter(["...", "!"])))


def test_an_error_while_counting_with_one_thread_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posvec.system.files.BLOCK", 10)
    (tmp_path / "text").write_bytes(b"fine line\n" * 50 + b"\xff\n" + b"fine line\n" * 50)
    with pytest.raises(CorpusError, match="line 51"):
        Vocabulary.count(open_corpus(tmp_path / "text"), threads=1)


def test_keep_probabilities_follow_both_formulas() -> None:
    counts = {"a": 900, "b": 99, "c": 1}
    f = np.array([0.9, 0.099, 0.001])
    paper = Vocabulary.from_counts(counts, VocabularyConfig(min_count=1, sample=0.01, subsampling="paper"))
    np.testing.assert_allclose(paper.keep_probabilities(), np.minimum(1, np.sqrt(0.01 / f)), rtol=1e-6)
    word2vec = Vocabulary.from_counts(counts, VocabularyConfig(min_count=1, sample=0.01))
    np.testing.assert_allclose(word2vec.keep_probabilities(), np.minimum(1, np.sqrt(0.01 / f) + 0.01 / f), rtol=1e-6)
    everything = Vocabulary.from_counts(counts, VocabularyConfig(min_count=1, sample=0))
    assert everything.keep_probabilities().tolist() == [1, 1, 1]
    assert paper.keep_probabilities().dtype == np.float32


def test_frequencies_are_relative_to_the_kept_words() -> None:
    config = VocabularyConfig(min_count=2, sample=0.01, subsampling="paper")
    with_rare = Vocabulary.from_counts({"a": 60, "b": 40, **{f"rare{i}": 1 for i in range(100)}}, config)
    np.testing.assert_allclose(with_rare.keep_probabilities()[0], np.sqrt(0.01 / 0.6), rtol=1e-6)


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=200), st.floats(-2, 2))
@settings(max_examples=100, deadline=None)
def test_the_alias_table_draws_each_word_with_its_weight(counts: list[int], exponent: float) -> None:
    config = VocabularyConfig(min_count=1, negative_exponent=exponent)
    vocabulary = Vocabulary.from_counts({f"w{i}": count for i, count in enumerate(counts)}, config)
    probability, alias = vocabulary.alias_table()
    drawn = probability.astype(float)
    np.add.at(drawn, alias, 1 - probability.astype(float))
    weights = vocabulary.negative_weights()
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        weights, vocabulary.counts.astype(float) ** exponent / np.sum(vocabulary.counts.astype(float) ** exponent)
    )
    np.testing.assert_allclose(drawn / len(counts), weights, atol=1e-6)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 2**40), min_size=1)
)
@settings(max_examples=100, deadline=None)
def test_a_saved_vocabulary_is_loaded_unchanged(
    tmp_path_factory: pytest.TempPathFactory, counts: dict[str, int]
) -> None:
    path = tmp_path_factory.mktemp("v") / "vocabulary.txt"
    saved = Vocabulary.from_counts({"\\n\n\t\\\r": 7, **counts}, VocabularyConfig(min_count=1, sample=0.5))
    saved.save(path)
    loaded = Vocabulary.load(path)
    assert pairs(loaded) == pairs(saved)
    assert (loaded.total_words, loaded.config, loaded.digest) == (saved.total_words, saved.config, saved.digest)
    assert [file.name for file in path.parent.iterdir()] == ["vocabulary.txt"]


def test_a_saved_vocabulary_can_be_read_by_people(tmp_path: Path) -> None:
    Vocabulary.from_counts({"the": 12, "čaj": 7}).save(tmp_path / "v.txt")
    header, *lines = (tmp_path / "v.txt").read_text("utf-8").splitlines()
    assert json.loads(header)["total_words"] == 19
    assert lines == ["the\t12", "čaj\t7"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"b\t5\n", b"", "should have 2 words"),
        (b"b\t5\n", b"b\t5", "should have 2 words"),
        (b"b\t5", b"b\tmany", "damaged"),
        (b"b\t5", b"b", "damaged"),
        (b"b\t5", b"a\t5", "repeated"),
        (b"b\t5", b"b\t7", "not ordered"),
        (b"b\t5", b"\xff\t5", "not UTF-8"),
        (b'"version": 1', b'"version": 2', "newer posvec"),
        (b"posvec vocabulary", b"other", "not a vocabulary"),
        (b"{", b"", "not a vocabulary"),
        (b'"sample"', b'"simple"', "damaged"),
        (b'"min_count": 5', b'"min_count": -5', "damaged"),
    ],
)
def test_a_damaged_vocabulary_is_refused(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    path = tmp_path / "v.txt"
    Vocabulary.from_counts({"a": 6, "b": 5}).save(path)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(ModelError, match=message):
        Vocabulary.load(path)


def test_a_vocabulary_file_cut_in_its_first_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    Vocabulary.from_counts({"a": 6, "b": 5}).save(path)
    path.write_bytes(path.read_bytes().partition(b"\n")[0])
    with pytest.raises(ModelError, match="damaged: it should have 2 words"):
        Vocabulary.load(path)


def test_the_error_for_a_missing_vocabulary_names_it() -> None:
    with pytest.raises(ModelError, match=r"there is no vocabulary nowhere\.txt"):
        Vocabulary.load("nowhere.txt")


def test_a_vocabulary_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot write .*nowhere"):
        Vocabulary.from_counts({"a": 6}).save(tmp_path / "nowhere" / "v.txt")
    (tmp_path / "v.txt").mkdir()
    with pytest.raises(ModelError, match=r"cannot write .*v\.txt"):
        Vocabulary.from_counts({"a": 6}).save(tmp_path / "v.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]


def test_merging_adds_counts_and_drops_no_word() -> None:
    config = VocabularyConfig(min_count=5, max_words=2)
    merged = Vocabulary.from_counts({"a": 6, "b": 5}, config).merge(Vocabulary.from_counts({"c": 9, "b": 9}, config))
    assert pairs(merged) == [("b", 14), ("c", 9), ("a", 6)]
    assert merged.total_words == 29
    assert merged.config == config


def test_counting_the_same_corpus_again_uses_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a a b\n" * 9)
    first = Vocabulary.count(open_corpus(path))
    stored = next((tmp_path / "cache" / "vocabularies").glob("*/vocabulary.txt"))
    written = stored.stat()
    again = Vocabulary.count(open_corpus(path), VocabularyConfig(sample=0.5))
    assert (first.words, again.words) == (["a", "b"], ["a", "b"])
    assert os.path.samestat(written, stored.stat())
    assert again.config.sample == 0.5
    assert Vocabulary.count(open_corpus(path), VocabularyConfig(min_count=10)).words == ["a"]
    stored.write_text("damaged")
    assert Vocabulary.count(open_corpus(path)).words == ["a", "b"]


def test_limits_of_a_vocabulary_are_those_of_counting():
    counts = {"a": 9, "b": 5, "c": 5, "d": 3, "e": 1}
    whole = Vocabulary.from_counts(counts, VocabularyConfig(min_count=1))
    for least, most in itertools.product((1, 3, 4, 5, 9), (None, 1, 2, 9)):
        config = VocabularyConfig(min_count=least, max_words=most)
        limited, expected = whole.limited(config), Vocabulary.from_counts(counts, config)
        assert limited.words == expected.words
        assert limited.counts.tolist() == expected.counts.tolist()
        assert (limited.total_words, limited.config) == (expected.total_words, config)
    with pytest.raises(CorpusError, match=r"no word of the vocabulary occurs 10 times.* lower min_count"):
        whole.limited(VocabularyConfig(min_count=10))
