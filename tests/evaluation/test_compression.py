"""Compressed models: queries, pruning, storage, limits, conversion, the command."""

from __future__ import annotations

import json
import mmap
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posvec
from posvec import Model, ModelError, PosvecError, Vocabulary
from posvec.errors import ConfigError
from posvec.evaluation.compression import METHODS, compress, compress_model
from posvec.formats import write_vectors
from posvec.storage.quantization import QUANTIZATIONS, quantize
from posvec.subwords import subword_buckets
from posvec.vectors import WordVectors

UNKNOWN = "kamolran"  # its n-grams occur in words of the corpus
SENTENCE = "karan lotek [MASK] mimol"


@pytest.fixture(scope="module")
def models(lines: list[str], small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models with so few words that product quantization has a centroid for each of them."""
    folder = tmp_path_factory.mktemp("models")
    for kind in ("general", "subword", "constrained"):
        posvec.train(lines, kind, output=folder / kind, **small)
    return {kind: folder / kind for kind in ("general", "subword", "constrained")}


@pytest.fixture(scope="module")
def large() -> Model:
    """A model with more words than there are centroids, and with random vectors."""
    letters = "abcdefghijklmnop"
    words = [a + b + c for a in letters for b in letters for c in letters][::3]
    vocabulary = Vocabulary.from_counts({word: 5 + 3 * len(words) // (i + 1) for i, word in enumerate(words)})
    model = Model.create(posvec.make_config("constrained", dim=20, positional_dim=6, buckets=3000), vocabulary)
    model.output_vectors[:] = np.random.default_rng(2).normal(size=model.output_vectors.shape)
    return model


def saved(model: Model, path: Path, *arguments: Any, **settings: Any) -> Model:
    compress(model, *arguments, **settings).save(path)
    return Model.load(path, verify=True)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", one, other) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)


# ---- queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["general", "subword", "constrained"])
def test_a_compressed_model_answers_like_the_original(models, kind, method, tmp_path):
    before = Model.load(models[kind])
    after = saved(before, tmp_path / "small", method, words=len(before.vocabulary))
    close = {"rtol": 0.05, "atol": 0.03}
    np.testing.assert_allclose(after.vectors["karan"], before.vectors["karan"], **close)
    assert "table" not in vars(after.vectors) or method == "prune"  # one word does not decode the whole table
    np.testing.assert_allclose(after.vectors.table, before.vectors.table, **close)
    np.testing.assert_allclose(after.vectors["karan"], after.vectors.table[after.vocabulary.index["karan"]], atol=1e-6)
    for question in (["karan"], ["karan", "lotek"]):
        expected = before.vectors.most_similar(question, ["mimol"], topn=3)
        found = after.vectors.most_similar(question, ["mimol"], topn=3)
        assert [each.similarity for each in found] == pytest.approx([each.similarity for each in expected], abs=0.02)
    np.testing.assert_allclose(after.context_vector(SENTENCE), before.context_vector(SENTENCE), **close)
    scores = {each.word: each.score for each in before.predict_masked(SENTENCE, topn=100)}
    for each in after.predict_masked(SENTENCE, topn=100):
        assert each.score == pytest.approx(scores[each.word], rel=0.05, abs=0.05)
    np.testing.assert_allclose(
        after.sentence_vector(SENTENCE, "positional"), before.sentence_vector(SENTENCE, "positional"), **close
    )
    assert after.vectors.oov(UNKNOWN) is before.vectors.oov(UNKNOWN) is (kind != "general")
    if kind != "general":
        np.testing.assert_allclose(after.vectors[UNKNOWN], before.vectors[UNKNOWN], **close)
    assert np.array_equal(after.positional_vectors, before.positional_vectors)
    assert (after.config, after.report) == (before.config, before.report)


@pytest.mark.parametrize(
    ("method", "lowest"), [("float16", 0.99999), ("int8", 0.999), ("pq", 0.98), ("prune", 0.999999)]
)
def test_vectors_of_many_words_keep_their_directions(large, method, lowest, tmp_path):
    after = saved(large, tmp_path / "small", method, buckets=2000)
    assert cosines(after.vectors.table, large.vectors.table).mean() > lowest
    assert cosines(after.output_vectors[:], large.output_vectors).mean() > lowest


def test_words_compensate_for_the_quantization_errors_of_their_ngrams(large):
    """The baseline quantizes all rows independently."""
    after = compress(large, "pq", sub_vector=4).vectors.table
    rows = quantize("pq", large.input_vectors, np.arange(len(large.input_vectors)), lambda count: None, 4, 1)
    plain = WordVectors(large.vocabulary, large.rows, rows).table
    errors = [float(np.linalg.norm(table - large.vectors.table)) for table in (after, plain)]
    assert errors[0] < 0.8 * errors[1]


def test_the_same_seed_gives_the_same_bytes(large, tmp_path):
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        compress(large, "pq", seed=seed).save(tmp_path / name)
    one, same, other = (next((tmp_path / name).glob("model-*")).read_bytes() for name in ("one", "same", "other"))
    assert one == same != other


# ---- pruning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buckets", [0, 100])
def test_words_keep_their_vectors_when_buckets_are_pruned(large, buckets, tmp_path):
    after = saved(large, tmp_path / "small", "prune", buckets=buckets)
    assert len(after.rows.bucket_ids) == buckets
    np.testing.assert_allclose(after.vectors.table, large.vectors.table, atol=1e-5)
    fresh = Model.load(tmp_path / "small")
    np.testing.assert_allclose(fresh.vectors["abc"], large.vectors["abc"], atol=1e-5)


def test_buckets_with_the_longest_and_most_used_vectors_are_kept(large):
    after = compress(large, "prune", buckets=50)
    usefulness: dict[int, float] = {}
    for word in large.vocabulary.words:
        for bucket in subword_buckets(word, large.config.subwords).tolist():
            row = len(large.vocabulary) + int(np.flatnonzero(large.rows.bucket_ids == bucket)[0])
            usefulness[bucket] = usefulness.get(bucket, 0.0) + float(np.linalg.norm(large.input_vectors[row]))
    assert set(after.rows.bucket_ids.tolist()) == set(sorted(usefulness, key=lambda bucket: -usefulness[bucket])[:50])


def test_vectors_of_unknown_words_are_composed_of_the_remaining_ngrams(large):
    after = compress(large, "prune", buckets=500)
    word = next(word for word in ("abcdef", "mnopab", "ghiklm") if after.vectors.oov(word))
    left = {int(bucket): row for row, bucket in enumerate(after.rows.bucket_ids)}
    buckets = subword_buckets(word, large.config.subwords).tolist()
    rows = [after.input_vectors[len(after.vocabulary) + left[bucket]] for bucket in buckets if bucket in left]
    assert len(rows) < len(buckets)
    np.testing.assert_allclose(after.vectors[word], np.mean(rows, axis=0), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_the_most_frequent_words_are_kept_and_others_get_vectors_from_ngrams(large, method, tmp_path):
    after = saved(large, tmp_path / "small", method, words=300)
    assert after.vocabulary.words == large.vocabulary.words[:300]
    assert np.array_equal(after.vocabulary.counts, large.vocabulary.counts[:300])
    assert after.output_vectors.shape == (300, 20)
    dropped = large.vocabulary.words[300]
    assert after.vectors.oov(dropped)
    assert after.vectors.has_vector(dropped)
    assert cosines(after.vectors.table, large.vectors.table[:300]).min() > 0.95


def test_a_model_with_fewer_words_than_requested_keeps_all(models):
    before = Model.load(models["subword"])
    after = compress(before, "prune", words=10**6, buckets=10**6)
    assert after.vocabulary.words == before.vocabulary.words
    assert np.array_equal(after.rows.bucket_ids, before.rows.bucket_ids)


# ---- storage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", QUANTIZATIONS)
def test_quantized_tables_are_memory_mapped_and_saved_again_unchanged(large, method, tmp_path):
    after = saved(large, tmp_path / "one", method, buckets=1000, vectors_only=True)
    for table in (after.input_vectors.words, after.input_vectors.ngrams):
        for tensor in table.tensors.values():
            base: Any = tensor
            while isinstance(base, np.ndarray):
                base = base.base
            assert isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)
    after.save(tmp_path / "two")
    one, two = (next((tmp_path / name).glob("model-*")).read_bytes() for name in ("one", "two"))
    assert one == two
    assert Model.load(tmp_path / "two").compression == after.compression


def test_only_compressed_models_need_the_new_format(models, tmp_path):
    compress(Model.load(models["general"])).save(tmp_path / "small")
    versions = [
        json.loads((path / "config.json").read_text())["format_version"]
        for path in (models["general"], tmp_path / "small")
    ]
    assert versions == [1, 2]


def test_a_model_saved_before_there_was_compression_opens(models, tmp_path):
    shutil.copytree(models["subword"], tmp_path / "old")
    config = json.loads((tmp_path / "old" / "config.json").read_text())
    del config["compression"]
    (tmp_path / "old" / "config.json").write_text(json.dumps(config))
    assert Model.load(tmp_path / "old").compression is None


@pytest.mark.parametrize(
    "change",
    [{"codes": "pq"}, {"codes": "float32"}, {"codes": "zip"}, {"vectors_only": None}, {"more": 1}, {"pruned": False}],
)
def test_a_config_that_does_not_fit_its_tensors_is_rejected(large, change, tmp_path):
    compress(large, "int8", buckets=100).save(tmp_path / "small")
    path = tmp_path / "small" / "config.json"
    config = json.loads(path.read_text())
    config["compression"] |= change
    path.write_text(json.dumps(config))
    if change == {"vectors_only": None}:
        assert Model.load(tmp_path / "small").has_outputs
        return
    with pytest.raises(ModelError, match=r"does not fit its config\.json|is damaged"):
        Model.load(tmp_path / "small").vectors.table  # noqa: B018


# ---- limits ---------------------------------------------------------------------------------------------------


def test_without_output_vectors_only_the_prediction_of_masked_words_is_rejected(models, tmp_path):
    before = Model.load(models["constrained"])
    whole = saved(before, tmp_path / "whole", "int8")
    after = saved(before, tmp_path / "vectors", "int8", vectors_only=True)
    assert (whole.has_outputs, after.has_outputs) == (True, False)
    with pytest.raises(PosvecError, match=r"compressed to its word vectors alone, .* without --vectors-only"):
        after.predict_masked(SENTENCE)
    assert np.array_equal(after.context_vector(SENTENCE), whole.context_vector(SENTENCE))
    assert np.array_equal(after.vectors.table, whole.vectors.table)
    sizes = [next((tmp_path / name).glob("model-*")).stat().st_size for name in ("vectors", "whole")]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("method", ["int8", "prune"])
def test_training_a_compressed_model_further_is_rejected(models, lines, small, method, tmp_path):
    saved(Model.load(models["subword"]), tmp_path / "small", method, buckets=50)
    for attempt in (
        lambda: posvec.train(lines, start=tmp_path / "small"),
        lambda: posvec.resume(tmp_path / "small"),
        lambda: Model.load(tmp_path / "small").trainable(),
    ):
        with pytest.raises(ModelError, match="a compressed model cannot be trained further; train the one that it was"):
            attempt()


def test_compressing_twice_is_rejected(models):
    with pytest.raises(ModelError, match="is already compressed; compress the original model instead"):
        compress(compress(Model.load(models["general"])))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "zip"}, r"method must be one of float16, int8, pq, prune, not 'zip'"),
        ({"method": "prune"}, r"the method prune needs a number of words or buckets"),
        ({"words": 0}, r"words is 0, but must be at least 1"),
        ({"buckets": -1}, r"buckets is -1, but must be at least 0"),
        ({"sub_vector": 0}, r"sub_vector is 0, but must be at least 1"),
        ({"method": "pq", "sub_vector": 17}, r"sub_vector is 17, but must be at most 16, the dimension"),
        ({"seed": -1}, r"seed is -1, but must be at least 0"),
    ],
)
def test_invalid_settings_are_rejected(models, settings, message):
    with pytest.raises(ConfigError, match=message):
        compress(Model.load(models["general"]), **settings)


# ---- other libraries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("vectors_only", [False, True])
def test_a_compressed_model_is_converted_for_fasttext(models, method, vectors_only, tmp_path):
    fasttext = pytest.importorskip("fasttext")
    after = saved(Model.load(models["subword"]), tmp_path / "small", method, buckets=100, vectors_only=vectors_only)
    assert write_vectors(tmp_path / "model.bin", after, "fasttext-bin") == []
    theirs = fasttext.load_model(str(tmp_path / "model.bin"))
    for word in ("karan", UNKNOWN):
        one, other = after.vectors[word], theirs.get_word_vector(word)
        assert one @ other / np.linalg.norm(one) / np.linalg.norm(other) == pytest.approx(1, abs=1e-5)


def test_a_compressed_model_converts_to_gensim(models):
    pytest.importorskip("gensim")
    after = compress(Model.load(models["subword"]), "pq", buckets=100)
    theirs = after.vectors.to_gensim()
    np.testing.assert_allclose(theirs["karan"], after.vectors["karan"], atol=1e-6)
    assert [word for word, _ in theirs.most_similar("karan")] == [n.word for n in after.vectors.most_similar("karan")]


def test_a_model_of_fasttext_is_compressed(models, tmp_path):
    write_vectors(tmp_path / "model.bin", Model.load(models["subword"]), "fasttext-bin")
    result = compress_model(tmp_path / "model.bin", tmp_path / "small", "pq", buckets=200)
    assert (result.bytes_before, result.ngram_rows_after) == ((tmp_path / "model.bin").stat().st_size, 200)
    np.testing.assert_allclose(
        Model.load(tmp_path / "small").vectors["karan"], Model.load(models["subword"]).vectors["karan"], atol=0.01
    )


# ---- the command ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tests")
    (folder / "questions.txt").write_text(": some\nkaran katek loran lotek\nkamol kabis lomol lobis\n")
    (folder / "pairs.txt").write_text(f"karan katek 3\nkaran {UNKNOWN} 8\nlotek mimol 1\n")
    return folder / "questions.txt", folder / "pairs.txt"


def test_sizes_and_losses_are_shown(models, tests, tmp_path, posvec_command):
    flags = ["--questions", tests[0], "--pairs", tests[1]]
    ended = posvec_command("compress", models["subword"], tmp_path / "out", "--method", "pq", "--words", 25, *flags)
    assert ended.code == 0, ended.err
    assert "Compressed with pq to 1/" in ended.out
    for name in ("megabytes", "words", "n-gram rows", "analogies", "pairs"):
        assert name in ended.out
    after = Model.load(tmp_path / "out")
    assert len(after.vocabulary) == 25
    ended = posvec_command("compress", models["subword"], tmp_path / "out", "--overwrite", "--json", "--quiet", *flags)
    shown = json.loads(ended.out)
    assert shown["bytes_after"] == sum(file.stat().st_size for file in (tmp_path / "out").iterdir())
    assert shown["bytes_before"] == sum(file.stat().st_size for file in models["subword"].iterdir())
    after = Model.load(tmp_path / "out")
    expected = posvec_command("evaluate", "similarity", tmp_path / "out", tests[1], "--json")
    assert shown["scores"][1]["after"] == json.loads(expected.out)["files"][0]["spearman"]
    assert [score["name"] for score in shown["scores"]] == ["analogies", "pairs"]


def test_missing_output_vectors_are_reported(models, tmp_path, posvec_command):
    ended = posvec_command("compress", models["general"], tmp_path / "out", "--vectors-only")
    assert ended.code == 0
    assert "without output vectors" in ended.out
    assert "The output vectors are left out, so OUT cannot predict masked words." in ended.err
    assert "compressed: int8, word vectors alone" in posvec_command("info", tmp_path / "out").out
    info = json.loads(posvec_command("info", tmp_path / "out", "--json").out)
    assert info["compression"] == {"codes": "int8", "pruned": False, "vectors_only": True}


def test_invalid_requests_are_reported_in_one_line_and_nothing_is_written(models, tests, tmp_path, posvec_command):
    model, out = models["general"], tmp_path / "out"
    (tmp_path / "vectors.txt").write_text("2 2\na 1 2\nb 3 4\n")
    for arguments, message in [
        ((model, model, "--overwrite"), "is the model to compress and would be overwritten"),
        ((model, models["subword"]), "already holds a model; choose another output, or pass --overwrite"),
        ((model, out, "--method", "prune"), "the method prune needs a number of words or buckets"),
        ((model, out, "--questions", tmp_path / "none.txt"), "none.txt"),
        ((model, out, "--pairs", tests[0]), "questions.txt"),
        ((tmp_path / "vectors.txt", out), "contains only word vectors; name a model"),
        ((tmp_path / "nothing", out), "there is no model at"),
        ((model, tmp_path / "vectors.txt"), "is a file, and a model is saved as a folder"),
    ]:
        ended = posvec_command("compress", *arguments)
        assert ended.code == 1
        assert message in ended.err
        assert ended.err.count("\n") == 1, ended.err
        assert not out.exists()
    assert Model.load(model).compression is None
