"""Damaged files of every format: one clear error, no partial object, memory in proportion to the file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import posvec
from posvec import Model, PosvecError, Vocabulary, WordVectors, formats
from posvec.formats import FORMATS, load_model_or_vectors, load_vectors, write_vectors

FILES = [name for name in FORMATS if name != "posvec"]


def some_model() -> Model:
    config = posvec.make_config("subword", dim=5, buckets=20, min_count=1)
    vocabulary = Vocabulary.from_counts({"the": 9, "naïve": 8, "日本語": 7, "x": 6}, config.vocabulary)
    model = Model.create(config, vocabulary)
    model.output_vectors[:] = np.arange(20).reshape(4, 5)
    return model


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("valid")
    for name in FILES:
        write_vectors(folder / name, some_model(), name)
    return {name: (folder / name).read_bytes() for name in FILES}


def assert_refused_or_complete(path: Path, name: str | None) -> None:
    """Either one sentence that names the file, or vectors of every word."""
    found, message = None, ""
    try:
        found = load_model_or_vectors(path, name)
    except PosvecError as error:
        message = str(error)
    if found is None:
        assert str(path) in message
        assert "\n" not in message
        return
    vectors = found.vectors if isinstance(found, Model) else found
    assert vectors.table.shape == (len(vectors), len(vectors[vectors.vocabulary.words[0]]))
    assert np.isfinite(vectors.table).all()
    assert len(set(vectors.vocabulary.words)) == len(vectors)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_short_anywhere_is_refused(name, valid, tmp_path):
    path = tmp_path / "cut"
    content = valid[name]
    # Text may lack the end of its last line; GloVe's, which has no header, may end after any number.
    text = FORMATS[name].extension in (".txt", ".vec", ".glove")
    last = content.rstrip().rfind(b" ") + 2 if text else len(content)
    for length in [*range(min(100, last)), *range(100, last, 1 + len(content) // 300)]:
        path.write_bytes(content[:length])
        if name == "glove":
            assert_refused_or_complete(path, name)
        else:
            with pytest.raises(PosvecError):
                load_model_or_vectors(path, name)
        assert_refused_or_complete(path, None)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(FILES),
    changes=st.lists(
        st.tuples(
            st.integers(0, 10**6), st.sampled_from(["set", "insert", "remove"]), st.binary(min_size=1, max_size=9)
        ),
        min_size=1,
        max_size=4,
    ),
    guess=st.booleans(),
)
def test_a_file_with_changed_bytes_is_refused_or_complete(name, changes, guess, valid, tmp_path):
    content = bytearray(valid[name])
    for offset, how, new in changes:
        at = offset % (len(content) + 1)
        if how == "insert":
            content[at:at] = new
        else:
            content[at : at + len(new)] = new if how == "set" else b""
    path = tmp_path / "changed"
    path.write_bytes(content)
    assert_refused_or_complete(path, None if guess else name)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from([*FILES, None]), content=st.binary(max_size=200))
@example(name=None, content=b"")
@example(name="word2vec-text", content=b"1 1\n\n")
def test_any_bytes_are_refused_or_complete(name, content, tmp_path):
    path = tmp_path / "anything"
    path.write_bytes(content)
    assert_refused_or_complete(path, name)


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("npz", "safetensors")])
def test_a_compressed_file_that_is_damaged_is_refused(name, tmp_path):
    path = tmp_path / "v.gz"
    write_vectors(path, some_model(), name)
    content = path.read_bytes()
    for damaged in (content[:-4], content[:40], content[:60] + b"\0\0\0\0" + content[64:], b"plain"):
        path.write_bytes(damaged)
        with pytest.raises(PosvecError, match=r"is damaged or its extension is wrong"):
            load_model_or_vectors(path, name)


WRONG = {
    "not finite": (b"2 2\na 1 nan\nb 1 2\n", r"line 2 has a number that is not finite"),
    "infinite": (b"2 2\na 1 2\nb 1 1e999\n", r"line 3 has a number that is not finite"),
    "duplicate": (b"2 2\na 1 2\na 3 4\n", r"the word 'a' occurs twice"),
    "too few words": (b"3 2\na 1 2\nb 3 4\n", r"declares 3 words, but it has 2"),
    "too many words": (b"1 2\na 1 2\nb 3 4\n", r"more than the 1 words"),
    "too few numbers": (b"2 3\na 1 2\nb 3 4\n", r"line 2 has fewer than 3 numbers"),
    "too many numbers": (b"2 2\na 1 2\nb 3 4 5\n", r"line 3 has more than 2 numbers"),
    "no number": (b"2 2\na 1 2\nb 3 x\n", r"line 3 does not have 2 numbers after its word"),
    "hexadecimal": (b"1 2\na 0x1 2\n", r"line 2 does not have 2 numbers after its word"),
    "no word": (b"1 2\n 1 2\n", r"line 2 has "),
    "empty line": (b"2 2\na 1 2\n\nb 3 4\n", r"line 3 is empty"),
    "mixed line ends": (b"2 2\na 1 2\r\nb 3 4\n", r"line 2 has another line ending than the lines before it"),
    "mixed line ends again": (b"2 2\r\na 1 2\r\nb 3 4\n", r"line 3 has another line ending than the lines before it"),
    "byte order mark": (b"\xef\xbb\xbf1 2\na 1 2\n", r"byte order mark"),
    "not UTF-8": (b"1 2\n\xff\xfe 1 2\n", r"line 2 is not UTF-8"),
    "no features": (b"1 0\na\n", r"declares 1 words of 0 features"),
    "no words": (b"0 3\n", r"declares 0 words"),
    "empty": (b"", r"it is empty"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
def test_errors_in_a_text_are_described(content, message, tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(PosvecError, match=message):
        load_model_or_vectors(path, "word2vec-text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 1\na \0\0\0\0b \0\0\0", r"word 2 of [0-9,]+ with .* is invalid: the file ends before it is complete"),
        (b"1 1\na \0\0\xc0\x7f", r"the vector of the word 'a' has a number that is not finite"),
        (b"2 1\na \0\0\0\0a \0\0\0\0", r"the word 'a' occurs twice"),
        (b"1 1\na \0\0\0\0b \0\0\0\0", r"6 bytes follow its 1 words"),
        (b"1 1\n\xff \0\0\0\0", r"word 1 of [0-9,]+ with .* is invalid: its word is not UTF-8"),
        (b"1 1\n \0\0\0\0", r"word 1 of [0-9,]+ with .* is invalid: it has no word"),
        (
            b"99999999999 999999999\na \0\0\0\0",
            r"word 1 of [0-9,]+ with .* is invalid: the file ends before it is complete",
        ),
        (b"\xef\xbb\xbf1 1\na \0\0\0\0", r"byte order mark"),
    ],
)
def test_errors_in_a_binary_file_are_described(content, message, tmp_path):
    path = tmp_path / "v.bin"
    path.write_bytes(content)
    with pytest.raises(PosvecError, match=message):
        load_model_or_vectors(path, "word2vec-bin")


def test_errors_in_arrays_are_described(tmp_path):
    path = tmp_path / "v.npz"
    words, table = np.array(["a", "b"]), np.ones((2, 3), np.float32)
    for arrays, message in [
        ({"vectors": table}, r"no arrays named 'words' and 'vectors'"),
        ({"words": words[:1], "vectors": table}, r"a vector for each of 1 words, but 'vectors' has shape \(2, 3\)"),
        ({"words": words, "vectors": table * np.nan}, r"of the word 'a' has a number that is not finite"),
        ({"words": np.array(["a", "a"]), "vectors": table}, r"the word 'a' occurs twice"),
        ({"words": np.array([b"a", b"b"]), "vectors": table}, r"'words' holds \|S1, not strings"),
        ({"words": words.astype(object), "vectors": table}, r"holds Python objects"),
        ({"words": words, "vectors": table.astype(np.float64) * 1e300}, r"not finite"),
        ({"words": words, "vectors": table, "counts": np.ones(3, int)}, r"a count for each of 2 words"),
        ({"words": words, "vectors": table, "counts": -np.ones(2, int)}, r"not negative"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(PosvecError, match=message):
            load_vectors(path)


@pytest.mark.parametrize("name", ["word2vec-text", "word2vec-bin", "word2vec-text.gz"])
def test_a_header_that_declares_too_much_takes_no_memory(name, tmp_path):
    import gzip

    path = tmp_path / ("v.gz" if name.endswith(".gz") else "v")
    content = b"999999999999 300\n" + b"a " + b"1 " * 300 + b"\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    tracemalloc.start()
    try:
        with pytest.raises(PosvecError):
            load_model_or_vectors(path, name.removesuffix(".gz"))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_an_npz_that_declares_too_much_takes_no_memory(tmp_path):
    path = tmp_path / "v.npz"
    write_vectors(path, WordVectors.from_table(["a", "b"], np.ones((2, 3), np.float32)))
    content = path.read_bytes()
    changed = content.replace(b"(2, 3), }            ", b"(20000000000, 3), }  ")
    assert changed != content
    path.write_bytes(changed)
    tracemalloc.start()
    try:
        with pytest.raises(PosvecError, match=r"has the wrong length|CRC"):
            load_vectors(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_failure_while_writing_keeps_the_old_file(tmp_path, monkeypatch):
    write_vectors(tmp_path / "v.txt", some_model())
    before = (tmp_path / "v.txt").read_bytes()

    def fail(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("posvec._kernel.write_vector_lines", fail)
    with pytest.raises(PosvecError, match=r"cannot write .*v\.txt: No space left"):
        formats.write_vectors(tmp_path / "v.txt", some_model(), overwrite=True)
    assert (tmp_path / "v.txt").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
