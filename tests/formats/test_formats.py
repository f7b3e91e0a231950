"""File formats: round trips, what gensim, fasttext, NumPy and safetensors read and write, and conversion."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posvec
from posvec import Model, ModelError, PosvecError, WordVectors, formats
from posvec.cli import conversion
from posvec.formats import FORMATS, load_vectors, write_vectors
from posvec.subwords import subword_buckets

WORDS = ["the", "naïve", "日本語", "x", "don't", "1", "-0.5", "e", "nan"]
PLAIN = ["word2vec-bin", "word2vec-text", "fasttext-vec", "glove", "npz", "safetensors"]


def some_vectors(words: list[str] = WORDS, dim: int = 7, counts: list[int] | None = None) -> WordVectors:
    table = np.random.default_rng(3).normal(size=(len(words), dim)).astype(np.float32)
    table[0, :3] = [1e-30, 3.4e38, -0.0]
    return WordVectors.from_table(words, table, counts)


def assert_same(found: WordVectors, expected: WordVectors) -> None:
    assert found.vocabulary.words == expected.vocabulary.words
    assert np.array_equal(found.table, expected.table)


@pytest.fixture(scope="module")
def models(lines: list[str], small: dict[str, Any]) -> dict[str, Model]:
    settings = {**small, "buckets": 300}
    return {kind: posvec.train(lines[:100], kind, **settings) for kind in ("general", "subword", "constrained")}


@pytest.mark.parametrize("dim", [1, 7])
@pytest.mark.parametrize("name", PLAIN)
def test_a_round_trip_keeps_vectors_bit_for_bit(name, dim, tmp_path):
    expected = some_vectors(dim=dim) if dim > 2 else WordVectors.from_table(WORDS, np.arange(9.0).reshape(9, 1))
    assert write_vectors(tmp_path / "vectors", expected, name) == []
    assert_same(load_vectors(tmp_path / "vectors", name), expected)


@pytest.mark.parametrize("name", PLAIN)
def test_the_format_is_detected_from_the_content(name, tmp_path):
    write_vectors(tmp_path / "vectors.dat", some_vectors(), name)
    assert_same(load_vectors(tmp_path / "vectors.dat"), some_vectors())


@pytest.mark.parametrize("extension", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["v.bin", "v.txt", "v.vec", "v.glove"])
def test_compressed_files_are_written_and_read(name, extension, tmp_path):
    write_vectors(tmp_path / (name + extension), some_vectors())
    assert_same(load_vectors(tmp_path / (name + extension)), some_vectors())
    decompress = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
    if extension in decompress:
        write_vectors(tmp_path / name, some_vectors())
        assert decompress[extension]((tmp_path / (name + extension)).read_bytes()) == (tmp_path / name).read_bytes()


def test_counts_are_kept_if_the_format_stores_them(tmp_path):
    counted = some_vectors(counts=[90, 80, 70, 60, 50, 40, 30, 20, 10])
    for name in ("v.npz", "v.safetensors"):
        assert write_vectors(tmp_path / name, counted) == []
        assert load_vectors(tmp_path / name).vocabulary.counts.tolist() == [90, 80, 70, 60, 50, 40, 30, 20, 10]
    assert write_vectors(tmp_path / "v.txt", counted) == ["word counts"]


def test_large_files_are_read_in_several_chunks(tmp_path):
    words = [f"w{i}" for i in range(20_000)]
    table = np.random.default_rng(0).normal(size=(20_000, 50)).astype(np.float32)
    expected = WordVectors.from_table(words, table)
    for name in ("v.txt", "v.glove", "v.txt.gz", "v.bin"):
        write_vectors(tmp_path / name, expected)
        assert (tmp_path / name).stat().st_size > 4_000_000  # more than one block
        assert_same(load_vectors(tmp_path / name), expected)


# ---- files of other programs ------------------------------------------------------------------------------------


def test_binary_files_of_word2vec_have_a_line_end_after_each_vector(tmp_path):
    rows = np.arange(6, dtype="<f4").reshape(2, 3)
    rows[1, 0] = struct.unpack("<f", b"\n \n ")[0]  # the bytes of a number can equal delimiters
    (tmp_path / "v.bin").write_bytes(b"2 3\na " + rows[0].tobytes() + b"\nb " + rows[1].tobytes() + b"\n")
    found = load_vectors(tmp_path / "v.bin")
    assert found.vocabulary.words == ["a", "b"]
    assert np.array_equal(found.table, rows)


@pytest.mark.parametrize(
    "text",
    [
        b"2 2\na 1 2 \nb 3 4 \n",  # word2vec and fastText write a space at the end
        b"2 2\na 1 2\nb 3 4",
        b"2 2\r\na 1 2\r\nb 3 4\r\n",
        b"2 2\na\t1.0\t2e0\nb  +3  4.\n",
        b"a 1 2\nb 3 4\n",
        b"a 1 2\r\nb 3 4\r\n",
        b"a 1 2\r\nb 3 4",
    ],
)
def test_text_is_read_as_different_programs_write_it(text, tmp_path):
    (tmp_path / "v.txt").write_bytes(text)
    found = load_vectors(tmp_path / "v.txt")
    assert found.vocabulary.words == ["a", "b"]
    assert found.table.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("word", ["\x0b", "\x0c", "a\x0bb", "\x1c", "\x85"])
def test_the_first_word_of_glove_may_be_a_control_character(tmp_path, word):
    path = tmp_path / "v.glove"
    path.write_bytes(f"{word} 0.5 0.25\ncat 1 2\n".encode())
    assert load_vectors(path).index_to_key == [word, "cat"]
    posvec.convert(path, tmp_path / "again.glove")
    assert load_vectors(tmp_path / "again.glove").index_to_key == [word, "cat"]


def test_words_with_spaces_are_read_as_in_glove_840b(tmp_path):
    (tmp_path / "v.txt").write_text(", 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9\n1/2 1 2 3\n")
    found = load_vectors(tmp_path / "v.txt")
    assert found.vocabulary.words == [",", ". . .", "at name@domain.com", "1/2"]
    assert found.table[:3].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_numbers_are_rounded_as_python_does(tmp_path):
    texts = ["0.1", "1e-45", "3.4028235e38", "16777217", "-1.17549435e-38", "0.3333333333333333333", "1e-60", "9" * 30]
    (tmp_path / "v.txt").write_text(f"1 {len(texts)}\nx {' '.join(texts)}\n")
    assert np.array_equal(load_vectors(tmp_path / "v.txt").table[0], np.array(texts).astype(np.float32))


# ---- oracles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [True, False])
def test_gensim_reads_what_posvec_writes_and_the_other_way_round(binary, tmp_path):
    keyed = pytest.importorskip("gensim.models.keyedvectors").KeyedVectors
    expected = some_vectors()
    ours, theirs = tmp_path / ("ours.bin" if binary else "ours.txt"), tmp_path / "theirs"
    write_vectors(ours, expected)
    read = keyed.load_word2vec_format(str(ours), binary=binary)
    assert read.index_to_key == WORDS
    np.testing.assert_allclose(read.vectors, expected.table, rtol=1e-6)
    read.save_word2vec_format(str(theirs), binary=binary)
    assert_same(load_vectors(theirs), expected)


def test_gensim_reads_glove(tmp_path):
    keyed = pytest.importorskip("gensim.models.keyedvectors").KeyedVectors
    write_vectors(tmp_path / "v.glove", some_vectors())
    read = keyed.load_word2vec_format(str(tmp_path / "v.glove"), binary=False, no_header=True)
    assert read.index_to_key == WORDS
    np.testing.assert_allclose(read.vectors, some_vectors().table, rtol=1e-6)


def test_numpy_and_safetensors_read_what_posvec_writes(tmp_path):
    tensors = pytest.importorskip("safetensors.numpy")
    write_vectors(tmp_path / "v.npz", some_vectors())
    write_vectors(tmp_path / "v.safetensors", some_vectors())
    arrays = np.load(tmp_path / "v.npz", allow_pickle=False)
    assert arrays["words"].tolist() == WORDS
    assert np.array_equal(arrays["vectors"], some_vectors().table)
    read = tensors.load_file(tmp_path / "v.safetensors")
    assert bytes(read["words"]).decode().split("\n") == WORDS
    assert np.array_equal(read["vectors"], some_vectors().table)


def test_arrays_of_other_programs_are_read(tmp_path):
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez_compressed(tmp_path / "v.npz", words=np.array(["a", "bb"]), vectors=table, more=np.zeros(3))
    assert load_vectors(tmp_path / "v.npz").table.tolist() == table.tolist()


# ---- fastText ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained_by_fasttext(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    fasttext = pytest.importorskip("fasttext")
    folder = tmp_path_factory.mktemp("fasttext")
    (folder / "corpus.txt").write_text("\n".join(lines[:100]) + "\nžluťoučký kůň žluťoučký\n")
    made: dict[tuple[Any, ...], Path] = {}

    def train(**settings: Any) -> Path:
        key = tuple(sorted(settings.items()))
        if key not in made:
            made[key] = folder / f"{len(made)}.bin"
            # fastText fills a tenth of a table per thread; with fewer than ten, the rest is uninitialized.
            chosen = {"dim": 10, "bucket": 500, "minCount": 1, "epoch": 2, "thread": 10, "verbose": 0, **settings}
            fasttext.train_unsupervised(str(folder / "corpus.txt"), **chosen).save_model(str(made[key]))
        return made[key]

    return train


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "cbow"},
        {"model": "skipgram", "loss": "hs"},
        {"model": "skipgram", "loss": "softmax", "minn": 0, "maxn": 3},
        {"model": "cbow", "minn": 0, "maxn": 0},
        {"model": "cbow", "wordNgrams": 2, "minn": 2, "maxn": 5},
    ],
)
def test_a_model_of_fasttext_gives_the_vectors_that_fasttext_gives(settings, trained_by_fasttext):
    import fasttext

    path = trained_by_fasttext(**settings)
    theirs, ours = fasttext.load_model(str(path)), load_vectors(path)
    words = theirs.get_words()
    assert ours.vocabulary.words == words
    assert "</s>" in ours
    for word in words:
        np.testing.assert_allclose(ours[word], theirs.get_word_vector(word), atol=1e-6)
    np.testing.assert_allclose(ours.table, [theirs.get_word_vector(word) for word in words], atol=1e-6)
    if settings.get("maxn") == 0:
        assert not ours.oov("unseen")
        return
    for word in ("unseen", "žluť", "q", "kalo日本"):
        np.testing.assert_allclose(ours[word], theirs.get_word_vector(word), atol=1e-6)
    near = ours.most_similar("karan", topn=5)
    expected = theirs.get_nearest_neighbors("karan", 5)
    assert [neighbor.word for neighbor in near] == [word for _, word in expected]
    np.testing.assert_allclose([neighbor.similarity for neighbor in near], [s for s, _ in expected], atol=1e-5)


def test_a_model_of_fasttext_keeps_its_settings_and_output_vectors(trained_by_fasttext):
    import fasttext

    path = trained_by_fasttext(model="cbow", ws=3, neg=4, t=0.01)
    theirs, ours = fasttext.load_model(str(path)), formats.load_model_or_vectors(path)
    assert isinstance(ours, Model)
    assert ours.config.kind == "subword"
    shape, training, words = ours.config.model, ours.config.training, ours.config.vocabulary
    assert (shape.dim, shape.window, training.negatives, training.epochs) == (10, 3, 4, 2)
    assert (words.min_count, words.sample, ours.config.subwords.buckets) == (1, 0.01, 500)
    assert (ours.config.subwords.min_n, ours.config.subwords.max_n) == (3, 6)
    np.testing.assert_array_equal(ours.output_vectors, theirs.get_output_matrix())
    np.testing.assert_array_equal(ours.input_vectors, theirs.get_input_matrix())
    assert dict(zip(ours.vocabulary.words, ours.vocabulary.counts.tolist(), strict=True)) == dict(
        zip(*theirs.get_words(include_freq=True), strict=True)
    )
    assert not ours.input_vectors.flags.owndata  # memory-mapped


def test_a_fasttext_model_is_converted_and_trained_further(trained_by_fasttext, tmp_path, lines):
    path = trained_by_fasttext(model="cbow")
    assert formats.convert(path, tmp_path / "model") == []
    saved, read = posvec.load(tmp_path / "model"), formats.load_model_or_vectors(path)
    assert np.array_equal(saved.vectors["unseen"], read.vectors["unseen"])
    assert np.array_equal(saved.vectors.table, read.vectors.table)
    further = posvec.train(lines[:20], start=saved, threads=1)
    assert not np.array_equal(further.vectors["karan"], saved.vectors["karan"])


@pytest.mark.parametrize("kind", ["general", "subword", "constrained"])
def test_fasttext_reads_the_models_that_posvec_writes(kind, models, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    ours, path = models[kind], tmp_path / "model.bin"
    assert write_vectors(path, ours, "fasttext-bin") == (["positional vectors"] if kind == "constrained" else [])
    theirs = fasttext.load_model(str(path))
    assert theirs.get_words() == ours.vocabulary.words
    np.testing.assert_allclose(
        [theirs.get_word_vector(word) for word in theirs.get_words()], ours.vectors.table, atol=1e-6
    )
    near = theirs.get_nearest_neighbors("karan", 5)
    assert [word for _, word in near] == [neighbor.word for neighbor in ours.vectors.most_similar("karan", topn=5)]
    np.testing.assert_array_equal(theirs.get_output_matrix(), ours.output_vectors)
    if kind == "general":
        return
    known = set(ours.rows.bucket_ids.tolist())
    equal = 0
    for word in ["unseenword", *"abcdefghijklm"]:
        one, other = theirs.get_word_vector(word), ours.vectors[word] if ours.vectors.oov(word) else np.zeros(16)
        if set(subword_buckets(word, ours.config.subwords).tolist()) <= known:
            np.testing.assert_allclose(one, other, atol=1e-6)
            equal += 1
        elif other.any():  # Compat: equal except for its length
            np.testing.assert_allclose(one / np.linalg.norm(one), other / np.linalg.norm(other), atol=1e-6)
            assert np.linalg.norm(one) < np.linalg.norm(other)
    assert equal


@pytest.mark.parametrize("kind", ["general", "subword"])
def test_gensim_reads_the_models_that_posvec_writes_and_the_other_way_round(kind, models, tmp_path):
    gensim = pytest.importorskip("gensim.models.fasttext")
    ours = models[kind]
    write_vectors(tmp_path / "ours.bin", ours, "fasttext-bin")
    theirs = gensim.load_facebook_model(str(tmp_path / "ours.bin"))
    assert theirs.wv.index_to_key == ours.vocabulary.words
    np.testing.assert_allclose(theirs.wv.vectors, ours.vectors.table, atol=1e-6)
    np.testing.assert_allclose(theirs.syn1neg, ours.output_vectors, atol=1e-6)
    gensim.save_facebook_model(theirs, str(tmp_path / "theirs.bin"))
    back = formats.load_model_or_vectors(tmp_path / "theirs.bin")
    np.testing.assert_allclose(back.vectors.table, ours.vectors.table, atol=1e-6)
    if kind == "subword":
        np.testing.assert_allclose(theirs.wv["unseenword"], back.vectors["unseenword"], atol=1e-6)


def test_fasttext_reads_plain_vectors_too(tmp_path):
    fasttext = pytest.importorskip("fasttext")
    write_vectors(tmp_path / "v.bin", some_vectors(), "fasttext-bin")
    theirs = fasttext.load_model(str(tmp_path / "v.bin"))
    np.testing.assert_array_equal([theirs.get_word_vector(word) for word in WORDS], some_vectors().table)


def test_only_the_fasttext_format_keeps_the_ngrams_of_vectors_without_a_model(models, tmp_path):
    vectors = models["subword"].vectors
    assert write_vectors(tmp_path / "v.txt", vectors) == ["n-gram vectors", "word counts"]
    assert write_vectors(tmp_path / "v.bin", vectors, "fasttext-bin") == []
    write_vectors(tmp_path / "m.bin", models["subword"], "fasttext-bin")
    found, expected = load_vectors(tmp_path / "v.bin"), load_vectors(tmp_path / "m.bin")
    assert np.array_equal(found["unseenword"], expected["unseenword"])


def test_fasttext_words_that_are_not_ordered_by_count_are_sorted(models, tmp_path):
    model = models["subword"]
    write_vectors(tmp_path / "m.bin", model, "fasttext-bin")
    content = bytearray((tmp_path / "m.bin").read_bytes())
    last = model.vocabulary.words[-1].encode() + b"\0"
    offset = content.index(last) + len(last)
    content[offset : offset + 8] = struct.pack("<q", 10**6)
    (tmp_path / "m.bin").write_bytes(content)
    found = formats.load_model_or_vectors(tmp_path / "m.bin")
    assert found.vocabulary.words == [model.vocabulary.words[-1], *model.vocabulary.words[:-1]]
    for word in model.vocabulary.words:
        np.testing.assert_allclose(found.vectors[word], model.vectors[word], atol=1e-6)


def test_classifiers_and_quantized_models_of_fasttext_are_refused(tmp_path, lines):
    fasttext = pytest.importorskip("fasttext")
    (tmp_path / "corpus.txt").write_text("".join(f"__label__{i % 2} {line}\n" for i, line in enumerate(lines)))
    model = fasttext.train_supervised(str(tmp_path / "corpus.txt"), dim=10, bucket=500, maxn=3, thread=10, verbose=0)
    model.save_model(str(tmp_path / "model.bin"))
    with pytest.raises(ModelError, match=r"is a supervised fastText model"):
        load_vectors(tmp_path / "model.bin")
    model.quantize()
    model.save_model(str(tmp_path / "model.ftz"))
    with pytest.raises(ModelError, match=r"is a supervised fastText model"):
        load_vectors(tmp_path / "model.ftz")


def test_tables_that_are_quantized_are_refused(models, tmp_path):
    write_vectors(tmp_path / "m.bin", models["subword"], "fasttext-bin")
    content = bytearray((tmp_path / "m.bin").read_bytes())
    table = struct.pack("<?2q", False, len(models["subword"].vocabulary) + 300, 16)
    content[content.index(table)] = 1
    (tmp_path / "m.ftz").write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.ftz is a quantized fastText model .* use the \.bin"):
        load_vectors(tmp_path / "m.ftz")


# ---- conversion --------------------------------------------------------------------------------------------------


def test_what_a_format_cannot_store_is_reported(models, tmp_path):
    everything = ["output vectors", "n-gram vectors", "positional vectors", "word counts"]
    assert write_vectors(tmp_path / "v.txt", models["constrained"]) == everything
    assert write_vectors(tmp_path / "v.npz", models["constrained"]) == everything[:3]
    assert write_vectors(tmp_path / "v.bin", models["general"]) == ["output vectors", "word counts"]
    assert write_vectors(tmp_path / "model", models["constrained"]) == []


def test_words_that_a_format_cannot_store_are_omitted_and_reported(tmp_path):
    vectors = some_vectors(["a", "b c", "", "d", "e\nf"])
    for name in ("v.txt", "v.bin", "v.glove"):
        (omitted,) = write_vectors(tmp_path / name, vectors)
        assert omitted.startswith("3 words, for example 'b c', '', 'e\\nf' (")
        found = load_vectors(tmp_path / name)
        assert found.vocabulary.words == ["a", "d"]
        assert np.array_equal(found.table, vectors.table[[0, 3]])
    (omitted,) = write_vectors(tmp_path / "v.safetensors", some_vectors(["a", "b c", "e\nf"]))
    assert omitted.startswith("the word 'e\\nf' (")
    with pytest.raises(ModelError, match=r"cannot store any of the words"):
        write_vectors(tmp_path / "none.txt", some_vectors([" "]))
    with pytest.raises(ModelError, match=r"use safetensors"):
        write_vectors(tmp_path / "long.npz", some_vectors(["a", "b" * 10_000_000]))
    with pytest.raises(ModelError, match=r"NUL"):
        write_vectors(tmp_path / "nul.bin", some_vectors(["a\0"]), "fasttext-bin")
    assert not list(tmp_path.glob("no*")) + list(tmp_path.glob("long*")) + list(tmp_path.glob("nul*"))


def test_the_command_converts_and_reports_what_is_omitted(models, tmp_path, posvec_command):
    models["constrained"].save(tmp_path / "model")
    ended = posvec_command("convert", tmp_path / "model", tmp_path / "v.txt.gz")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.count("\n") == 1
    assert "output vectors, n-gram vectors, positional vectors, word counts" in ended.err
    ended = posvec_command("convert", tmp_path / "v.txt.gz", tmp_path / "v.bin", "--format", "fasttext-bin")
    assert (ended.code, ended.err) == (0, "")
    ended = posvec_command("convert", tmp_path / "v.bin", tmp_path / "again.npz")
    assert ended.code == 0
    assert_same(load_vectors(tmp_path / "again.npz"), models["constrained"].vectors)


def test_the_command_refuses_invalid_arguments_and_keeps_existing_files(models, tmp_path, posvec_command):
    (tmp_path / "v.txt").write_text("1 1\na 1\n")
    (tmp_path / "there.bin").write_text("precious")
    for arguments, message in [
        (["v.txt", "there.bin"], "there.bin exists already; choose another name, or pass --overwrite"),
        (["missing.txt", "out.bin"], "no such file or folder"),
        (["v.txt", "out.xyz"], "unknown file extension .xyz of"),
        (["v.txt", "model"], "word vectors alone cannot be saved as a model"),
        (["v.txt", "out.npz.gz"], "the format npz cannot be compressed; leave out .gz"),
        (["there.bin", "out.txt"], "is not in a known format of word vectors"),
        (["v.txt", "no/such/folder/out.bin"], "cannot write"),
        (["v.txt", "out.bin", "--from", "fasttext-bin"], "does not begin like a fastText model"),
        ([".", "out.bin"], "is not a posvec model"),
    ]:
        ended = posvec_command("convert", *(tmp_path / a if "." in a or a == "model" else a for a in arguments))
        assert ended.code == 1, ended
        assert message in ended.err
        assert ended.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.bin", "v.txt"]
    assert (tmp_path / "there.bin").read_text() == "precious"
    assert posvec_command("convert", tmp_path / "v.txt", tmp_path / "there.bin", "--overwrite").code == 0
    assert load_vectors(tmp_path / "there.bin").vocabulary.words == ["a"]


def test_a_file_can_be_converted_in_place(tmp_path):
    write_vectors(tmp_path / "v.bin", some_vectors())
    formats.convert(tmp_path / "v.bin", tmp_path / "v.bin", "fasttext-bin", overwrite=True)
    assert_same(load_vectors(tmp_path / "v.bin"), some_vectors())


def test_the_neighbors_command_reads_files_and_models(models, tmp_path, posvec_command):
    models["general"].save(tmp_path / "model")
    write_vectors(tmp_path / "v.bin", models["general"])
    shown = [posvec_command("neighbors", tmp_path / name, "karan", "--json").out for name in ("model", "v.bin")]
    assert shown[0] == shown[1] != ""
    ended = posvec_command("neighbors", tmp_path / "nothing", "karan")
    assert ended.err == f"Error: there is no model at {tmp_path / 'nothing'}; check the path\n"


def test_the_command_knows_every_format():
    assert list(conversion.FORMAT_NAMES.choices) == list(FORMATS)


def test_unknown_formats_are_named(tmp_path):
    for run in (lambda: load_vectors(tmp_path, "w2v"), lambda: write_vectors(tmp_path / "x", some_vectors(), "w2v")):
        with pytest.raises(PosvecError, match=r"unknown format 'w2v'; choose from word2vec-bin, "):
            run()
