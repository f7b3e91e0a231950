"""Encoding lines to ids, and the cache of encoded corpora."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posvec.config import VocabularyConfig
from posvec.corpus import encoding
from posvec.corpus.cache import new_entry, publish, read_entry
from posvec.corpus.encoding import EncodedCorpus, cache_entries, clear_cache, encode
from posvec.corpus.sources import open_corpus
from posvec.errors import CorpusError
from posvec.system import files
from posvec.vocabulary import Vocabulary

ALL = VocabularyConfig(min_count=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def as_lists(encoded: EncodedCorpus) -> list[list[int]]:
    starts = encoded.lines.tolist()
    return [encoded.ids[start:stop].tolist() for start, stop in pairwise(starts)]


def slowly(text: str, vocabulary: Vocabulary) -> list[list[int]]:
    lines = (re.findall(r"\w+", line.lower()) for line in text.split("\n"))
    return [[vocabulary.index.get(word, len(vocabulary)) for word in line] for line in lines if line]


@given(st.text("abcİΣ \n\r.😀", min_size=1), st.integers(1, 3))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_equal_those_of_a_reference_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, threads: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", 8)
    path = tmp_path / "text"
    path.write_bytes((text + "\na b").encode())
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8, "σ": 7, "aς": 6, "i": 5})
    encoded = encode(open_corpus(path), vocabulary, threads)
    expected = slowly(text + "\na b", vocabulary)
    assert as_lists(encoded) == expected
    assert len(encoded) == len(expected)
    assert encoded.tokens == sum(map(len, expected))
    assert encoded.in_vocabulary == sum(i < 5 for line in expected for i in line)


def test_the_order_of_lines_does_not_depend_on_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1000)
    draw = random.Random(1)
    text = "\n".join(" ".join(f"w{draw.randrange(500)}" for _ in range(draw.randrange(12))) for _ in range(3000))
    (tmp_path / "text").write_text(text)
    corpus = open_corpus(tmp_path / "text")
    vocabulary = Vocabulary.count(corpus, VocabularyConfig(min_count=30))
    expected = slowly(text, vocabulary)
    for threads in (1, 4):
        encoded = encode(corpus, vocabulary, threads, cache=tmp_path / f"cache{threads}")
        assert as_lists(encoded) == expected
    assert (encoded.ids.dtype, encoded.lines.dtype) == (np.uint32, np.uint64)


def test_a_line_of_too_many_tokens_becomes_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_MAX_LINE_TOKENS", 3)
    (tmp_path / "text").write_text("a b a\n" + "a b " * 4 + "\nb\n" + "b " * 6)
    encoded = encode(open_corpus(tmp_path / "text"), Vocabulary.from_counts({"a": 9, "b": 8}))
    assert as_lists(encoded) == [[0, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1], [1], [1, 1, 1], [1, 1, 1]]


def test_token_lists_are_encoded_unchanged() -> None:
    corpus = open_corpus([["New York", "A"], ["a", "New York"]])
    vocabulary = Vocabulary.count(corpus, ALL)
    assert vocabulary.words == ["New York", "A", "a"]
    assert as_lists(encode(corpus, vocabulary)) == [[0, 1], [2, 0]]


def test_a_second_encoding_comes_from_the_cache(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a b\n")
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8})
    encode(open_corpus(path), vocabulary)
    ids = next(cache.glob("encoded/*/ids.u32"))
    written = ids.stat()
    assert as_lists(encode(open_corpus(path), vocabulary)) == [[0, 1]]
    assert os.path.samestat(written, ids.stat())
    other = Vocabulary.from_counts({"b": 9, "a": 8})
    assert as_lists(encode(open_corpus(path), other)) == [[1, 0]]


def flipped(path: Path, offset: int = 5) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(content)


def without_checksums(path: Path) -> None:
    """Make the description one of posvec 0.1.0."""
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in meta.items() if not key.startswith("checksum")}))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a shorter file": lambda entry: (entry / "ids.u32").write_bytes(b"1234"),
    "a missing file": lambda entry: (entry / "lines.u64").unlink(),
    "zeros": lambda entry: (entry / "ids.u32").write_bytes(bytes(12)),
    "a flipped id": lambda entry: flipped(entry / "ids.u32"),
    "a flipped offset": lambda entry: flipped(entry / "lines.u64", 13),
    "half a description": lambda entry: (entry / "meta.json").write_text("{"),
    "a flipped description": lambda entry: flipped(entry / "meta.json", -30),
    "a description that is a list": lambda entry: (entry / "meta.json").write_text("[" * 10_000),
    "no checksums": lambda entry: without_checksums(entry / "meta.json"),
    "no description": lambda entry: (entry / "meta.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache_entry_is_replaced(tmp_path: Path, cache: Path, damage: str) -> None:
    corpus = open_corpus(iter(["a b", "b"]))
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8})
    encode(corpus, vocabulary)
    entry = next(cache.glob("encoded/*"))
    DAMAGE[damage](entry)
    for _ in range(2):
        assert as_lists(encode(corpus, vocabulary)) == [[0, 1], [1]]
        assert sorted(path.name for path in cache.glob("encoded/*")) == [entry.name]
        assert read_entry(entry) is not None
    assert json.loads((entry / "meta.json").read_text())["tokens"] == 3


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [0, 2, 2, 3], [1, 2, 3], [0, 2], [0, 2**40, 3]])
def test_offsets_that_no_encoding_writes_are_refused(tmp_path: Path, cache: Path, offsets: list[int]) -> None:
    corpus = open_corpus(iter(["a b", "b"]))
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8})
    encode(corpus, vocabulary)
    entry = next(cache.glob("encoded/*"))
    meta = {"tokens": 3, "lines": len(offsets) - 1, "in_vocabulary": 3}
    shutil.rmtree(entry)
    with new_entry(entry) as temporary:
        (temporary / "ids.u32").write_bytes(np.array([0, 1, 1], np.uint32).tobytes())
        (temporary / "lines.u64").write_bytes(np.array(offsets, np.uint64).tobytes())
        publish(temporary, entry, meta)
    assert read_entry(entry) is not None
    assert as_lists(encode(corpus, vocabulary)) == [[0, 1], [1]]


def test_a_vocabulary_with_another_count_is_counted_again(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "text").write_text("a b a\n" * 10)
    assert Vocabulary.count(open_corpus(tmp_path / "text"), ALL).counts.tolist() == [20, 10]
    saved = next(cache.glob("vocabularies/*/vocabulary.txt"))
    saved.write_bytes(saved.read_bytes().replace(b"a\t20", b"a\t30"))
    assert Vocabulary.count(open_corpus(tmp_path / "text"), ALL).counts.tolist() == [20, 10]
    assert b"a\t20" in saved.read_bytes()


def test_a_damaged_entry_is_listed_with_its_size(tmp_path: Path, cache: Path) -> None:
    encode(open_corpus(iter(["a b"])), Vocabulary.from_counts({"a": 9, "b": 8}))
    entry = next(cache.glob("encoded/*"))
    (entry / "meta.json").write_text("{")
    (listed,) = cache_entries()
    assert listed.name.startswith(f"{entry.name} (damaged")
    assert listed.bytes == 8 + 16 + 1


def test_concurrent_encodings_share_a_valid_cache(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "text").write_text("a b\nb\n" * 1000)
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8})
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: encode(open_corpus(tmp_path / "text"), vocabulary, 2), range(16)))
    assert all(as_lists(result) == [[0, 1], [1]] * 1000 for result in results)
    assert len(list(cache.glob("encoded/*"))) == 1


def test_concurrent_encodings_replace_a_damaged_entry(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "text").write_text("a b\nb\n" * 1000)
    vocabulary = Vocabulary.from_counts({"a": 9, "b": 8})
    encode(open_corpus(tmp_path / "text"), vocabulary)
    entry = next(cache.glob("encoded/*"))
    for _ in range(5):
        (entry / "ids.u32").write_bytes(bytes(12_000))
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: encode(open_corpus(tmp_path / "text"), vocabulary, 2), range(16)))
        assert all(as_lists(result) == [[0, 1], [1]] * 1000 for result in results)
        assert read_entry(entry) is not None
        assert list(cache.glob("encoded/*")) == [entry]


def test_entries_are_listed_and_cleared_while_they_are_in_use(tmp_path: Path, cache: Path) -> None:
    assert cache_entries() == []
    (tmp_path / "text.txt").write_text("a b\n" * 10_000)
    corpus = open_corpus(tmp_path / "text.txt")
    encoded = encode(corpus, Vocabulary.count(corpus))
    listed = {entry.name: entry for entry in cache_entries()}
    assert sorted(listed) == sorted([corpus.name, f"vocabulary of {corpus.name}"])
    assert listed[corpus.name].bytes >= 80_000 + 80_000
    assert abs(listed[corpus.name].created - time.time()) < 60
    assert clear_cache() == sum(entry.bytes for entry in listed.values())
    assert cache_entries() == []
    assert as_lists(encoded) == [[0, 1]] * 10_000


def test_clearing_keeps_entries_being_written_and_removes_abandoned_ones(cache: Path) -> None:
    abandoned = cache / "encoded" / ".posvec-0123456789ab.tmp"
    abandoned.mkdir(parents=True)
    (abandoned / "ids.u32").write_bytes(b"1234")
    with new_entry(cache / "encoded" / "one") as one, new_entry(cache / "encoded" / "two") as two:
        assert not abandoned.exists()
        abandoned.mkdir()
        (abandoned / "ids.u32").write_bytes(b"1234")
        assert clear_cache() == 4
        assert sorted((cache / "encoded").iterdir()) == sorted([one, two])
    assert list((cache / "encoded").iterdir()) == []


def test_a_failure_leaves_no_files_in_the_cache(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\n\xff\n")
    with pytest.raises(CorpusError, match="line 2"):
        encode(open_corpus(tmp_path / "text"), Vocabulary.from_counts({"a": 9}))
    assert list((cache / "encoded").iterdir()) == []


def test_a_file_that_changes_while_it_is_read_is_not_cached(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a\n")
    corpus = open_corpus(path)
    path.write_text("a\nb\n")
    with pytest.raises(CorpusError, match="was changed"):
        encode(corpus, Vocabulary.from_counts({"a": 9}))
    assert cache_entries() == []


def test_a_text_without_words_is_refused() -> None:
    with pytest.raises(CorpusError, match="no words in"):
        encode(open_corpus(iter(["...", "!"])), Vocabulary.from_counts({"a": 9}))


def test_a_cache_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "text").write_text("a\n")
    with pytest.raises(CorpusError, match=r"cannot write to the cache folder .*file.*POSVEC_CACHE"):
        encode(open_corpus(tmp_path / "text"), Vocabulary.from_counts({"a": 9}), cache=tmp_path / "file")


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files stands for a full disk")
def test_a_full_disk_is_reported_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a " * 100_000)
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from posvec.corpus.sources import open_corpus; from posvec.corpus.encoding import Vocabulary, encode\n"
        f"encode(open_corpus({str(tmp_path / 'text')!r}), Vocabulary.from_counts({{'a': 9}}))\n"
    )
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(r"CorpusError: cannot write to the cache folder .*cache.*POSVEC_CACHE", failed.stderr)
    assert list((tmp_path / "cache" / "encoded").iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_of_chunks_that_were_read_is_released(tmp_path: Path) -> None:
    tokens, length = 48 << 20, 64  # 192 MB of ids
    ids = np.memmap(tmp_path / "ids", np.uint32, "w+", shape=tokens)
    ids[::1024] = 1
    ids.flush()
    starts = np.memmap(tmp_path / "lines", np.uint64, "w+", shape=tokens // length + 1)
    starts[:] = np.arange(0, tokens + 1, length)
    starts.flush()
    corpus = EncodedCorpus(
        np.memmap(tmp_path / "ids", np.uint32, "r"), np.memmap(tmp_path / "lines", np.uint64, "r"), tokens, "digest"
    )
    del ids, starts
    before, highest, ones = mapped_megabytes(), 0.0, 0
    for index in range(corpus.chunks):
        lines = corpus.chunk(index)
        ones += int(corpus.ids[lines.lines[lines.begin] : lines.lines[lines.end]].sum())
        highest = max(highest, mapped_megabytes() - before) if index % 20 == 0 else highest
    assert ones == tokens // 1024
    assert highest < 100


def mapped_megabytes() -> float:
    found = re.search(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024
