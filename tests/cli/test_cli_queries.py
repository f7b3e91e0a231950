"""posvec neighbors, similarity, analogy, vector, sentence-vectors and index."""

from __future__ import annotations

import io
import json
import re
import sys

import numpy as np
import pytest

import posvec
from posvec.query.approximate import INDEX_FILE


@pytest.fixture(scope="module")
def saved(corpus, small, tmp_path_factory):
    """The folder of a saved constrained and a saved general model."""
    folder = tmp_path_factory.mktemp("models")
    for kind in ("constrained", "general"):
        posvec.train(corpus, kind, **small, output=folder / kind)
    return folder


@pytest.fixture
def standard_input(monkeypatch):
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def parsed(text: str) -> np.ndarray:
    return np.array([[float(number) for number in line.split()] for line in text.splitlines()], np.float32)


# ---- neighbors, similarity, analogy -----------------------------------------------------------------------------


def test_neighbors_lists_the_nearest_words(posvec_command, saved):
    expected = posvec.load(saved / "constrained").vectors.most_similar("karan", topn=3)
    ended = posvec_command("neighbors", saved / "constrained", "karan", "-n", 3)
    rows = re.findall(r"^ +(\w+) +(-?\d\.\d{3}) *$", ended.out, re.MULTILINE)
    assert rows == [(word, f"{similarity:.3f}") for word, similarity in expected]
    shown = json.loads(posvec_command("neighbors", saved / "constrained", "karan", "lotek", "-n", 3, "--json").out)
    assert list(shown) == ["karan", "lotek"]
    assert [each["word"] for each in shown["karan"]] == [each.word for each in expected]
    assert shown["karan"][0]["similarity"] == pytest.approx(expected[0].similarity, abs=1e-6)
    lines = posvec_command("neighbors", saved / "constrained", "karan", "-n", 3, "--tsv").out.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["karan", each.word] for each in expected]


def test_neighbors_can_be_restricted_to_frequent_words(posvec_command, saved):
    vectors = posvec.load(saved / "general").vectors
    ended = posvec_command("neighbors", saved / "general", "karan", "--restrict-vocab", 4, "--tsv")
    found = {line.split("\t")[1] for line in ended.out.splitlines()}
    assert found == set(vectors.index_to_key[:4]) - {"karan"}


def test_neighbors_of_an_unknown_word_need_subwords(posvec_command, saved):
    ended = posvec_command("neighbors", saved / "constrained", "karans")
    assert ended.code == 0
    assert "karans (from its subwords)" in ended.out
    assert "karan " in ended.out
    refused = posvec_command("neighbors", saved / "general", "karans")
    assert refused.code == 1
    assert refused.err == "Error: there is no vector for 'karans': it is not in the vocabulary; try another word\n"


def test_tsv_and_json_cannot_be_combined(posvec_command, saved):
    refused = posvec_command("neighbors", saved / "general", "karan", "--tsv", "--json")
    assert refused.code == 2
    assert "--tsv and --json cannot be combined; choose one" in refused.err


def test_similarity_of_two_words(posvec_command, saved):
    expected = posvec.load(saved / "general").vectors.similarity("karan", "lotek")
    assert posvec_command("similarity", saved / "general", "karan", "lotek").out == f"{expected:.6f}\n"
    shown = json.loads(posvec_command("similarity", saved / "general", "karan", "lotek", "--json").out)
    assert shown == {"words": ["karan", "lotek"], "similarity": pytest.approx(expected, abs=1e-6)}
    refused = posvec_command("similarity", saved / "general", "karan", "nowhere")
    assert refused.code == 1
    assert "there is no vector for 'nowhere'" in refused.err


def test_an_analogy_by_both_methods(posvec_command, saved):
    vectors = posvec.load(saved / "general").vectors
    asked = ("analogy", saved / "general", "karan", "lotek", "mimol", "-n", 4)
    for method, answer in (("3cosadd", vectors.most_similar), ("3cosmul", vectors.most_similar_cosmul)):
        shown = json.loads(posvec_command(*asked, "--method", method, "--json").out)
        expected = [each.word for each in answer(["lotek", "mimol"], ["karan"], topn=4)]
        assert [each["word"] for each in shown] == expected
    ended = posvec_command(*asked)
    assert ended.code == 0
    assert re.search(r"^ *karan : lotek = mimol : \? *$", ended.out, re.MULTILINE)


# ---- vector and sentence-vectors --------------------------------------------------------------------------------


def test_each_line_has_a_word_and_its_vector(posvec_command, saved):
    vectors = posvec.load(saved / "constrained").vectors
    lines = posvec_command("vector", saved / "constrained", "karan", "karans").out.splitlines()
    for line, word in zip(lines, ("karan", "karans"), strict=True):
        name, *numbers = line.split(" ")
        assert name == word
        assert np.array_equal(np.array(numbers, np.float32), vectors[word])  # exactly
    norm = posvec_command("vector", saved / "constrained", "karan", "--norm").out.split()[1:]
    assert np.linalg.norm(np.array(norm, np.float32)) == pytest.approx(1, abs=1e-6)


def test_words_are_read_from_standard_input(posvec_command, saved, standard_input):
    standard_input(b"karan lotek\n\nmimol")
    lines = posvec_command("vector", saved / "general").out.splitlines()
    assert [line.split()[0] for line in lines] == ["karan", "lotek", "mimol"]


def test_words_without_a_vector_are_refused_skipped_or_zeros(posvec_command, saved):
    asked = ("vector", saved / "general", "nowhere", "karan")
    refused = posvec_command(*asked)
    assert (refused.code, refused.out) == (1, "")
    assert "there is no vector for 'nowhere'" in refused.err
    assert [line.split()[0] for line in posvec_command(*asked, "--unknown", "skip").out.splitlines()] == ["karan"]
    zeros = posvec_command(*asked, "--unknown", "zeros").out.splitlines()
    assert zeros[0] == "nowhere" + " 0.0" * 16
    assert zeros[1].startswith("karan ")


@pytest.mark.parametrize("method", ["mean", "sif", "positional"])
def test_sentence_vectors_are_printed_or_written_as_an_array(posvec_command, saved, standard_input, tmp_path, method):
    model = posvec.load(saved / "constrained")
    sentences = ["karan lotek mimol", "", "쥐", "Lotek, karan!"]
    text = "\n".join(sentences) + "\n"
    expected = model.sentence_vectors(sentences, method)
    standard_input(text.encode())
    ended = posvec_command("sentence-vectors", saved / "constrained", "--method", method)
    assert np.array_equal(parsed(ended.out), expected)
    (tmp_path / "text").write_text(text)
    asked = ("sentence-vectors", saved / "constrained", tmp_path / "text", "--method", method)
    written = posvec_command(*asked, "-o", tmp_path / "x.npy")
    assert (written.code, written.out) == (0, "")
    assert np.array_equal(np.load(tmp_path / "x.npy"), expected)
    refused = posvec_command(*asked, "-o", tmp_path / "x.npy")
    assert refused.code == 1
    assert "x.npy exists already; choose another name or add --overwrite" in refused.err
    assert posvec_command(*asked, "-o", tmp_path / "x.npy", "--overwrite", "--remove-component").code == 0
    common = model.sentence_vectors(sentences, method, remove_component=True)
    assert np.array_equal(np.load(tmp_path / "x.npy"), common)


def test_more_sentences_than_one_batch(posvec_command, saved, corpus, lines, tmp_path):
    (tmp_path / "long").write_text("\n".join(lines * 3) + "\n")
    found = parsed(posvec_command("sentence-vectors", saved / "general", tmp_path / "long", corpus).out)
    assert np.array_equal(found, posvec.load(saved / "general").sentence_vectors(lines * 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such-file",), "no-such-file"),
        (("-o", "vectors.txt"), "vectors.txt is not a .npy file"),
        (("--a", "-1", "--method", "sif"), "must be greater than 0, not -1.0"),
    ],
)
def test_invalid_options_of_sentence_vectors_are_refused(posvec_command, saved, standard_input, arguments, message):
    standard_input(b"karan\n")
    ended = posvec_command("sentence-vectors", saved / "general", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_invalid_utf_8_is_refused_or_replaced(posvec_command, saved, standard_input):
    standard_input(b"karan\nlotek \xff\n")
    refused = posvec_command("sentence-vectors", saved / "general")
    assert refused.code == 1
    assert "standard input is not UTF-8 in line 2" in refused.err
    standard_input(b"karan\nlotek \xff\n")
    assert len(posvec_command("sentence-vectors", saved / "general", "--errors", "replace").out.splitlines()) == 2


# ---- index ------------------------------------------------------------------------------------------------------


def test_an_index_is_built_used_and_only_replaced_with_overwrite(posvec_command, saved, tmp_path):
    pytest.importorskip("usearch")
    model = tmp_path / "model"
    posvec.load(saved / "constrained").save(model)
    refused = posvec_command("neighbors", model, "karan", "--approximate")
    assert refused.code == 1
    assert f"has no index of neighbours; build it with: posvec index {model}" in refused.err
    built = posvec_command("index", model)
    assert built.code == 0, built.err
    assert f"saved in {model / INDEX_FILE}" in built.err
    exact, found = (
        json.loads(posvec_command("neighbors", model, "karan", "karans", *flags, "--json").out)
        for flags in ((), ("--approximate",))
    )
    for word in ("karan", "karans"):
        assert [each["word"] for each in found[word]] == [each["word"] for each in exact[word]]
    refused = posvec_command("index", model)
    assert refused.code == 1
    assert "exists already; pass --overwrite" in refused.err
    assert posvec_command("index", model, "--overwrite", "-q").err == ""
    posvec.load(saved / "general").save(model, overwrite=True)
    stale = posvec_command("neighbors", model, "karan", "--approximate")
    assert stale.code == 1
    assert f"was not built from the current vectors of the model; rebuild it with: posvec index {model}" in stale.err


@pytest.mark.parametrize(
    "arguments",
    [("similarity", "a", "b"), ("analogy", "a", "b", "c"), ("vector", "a"), ("sentence-vectors",), ("index",)],
)
def test_a_missing_model_is_named(posvec_command, tmp_path, standard_input, arguments):
    standard_input(b"karan\n")
    command, *rest = arguments
    ended = posvec_command(command, tmp_path / "nothing", *rest)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"Error: there is no model at {tmp_path / 'nothing'}; check the path\n"
