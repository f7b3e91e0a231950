"""The folder that sentence-transformers and Model2Vec open, and the tokenizer in it."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posvec
from posvec import ModelError

pytest.importorskip("tokenizers", reason="tokenizers is not installed")

from posvec.corpus.tokenizers import get_tokenizer
from posvec.interop.sentence_transformers import make_tokenizer, save_static_embedding


@pytest.fixture(scope="module")
def model(corpus, small):
    return posvec.train(corpus, "constrained", **small)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports") / "static"
    save_static_embedding(model.vectors, folder)
    return folder


def test_sentence_transformers_opens_it_and_encodes_equally(model, folder, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )
    opened = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    assert [type(module).__name__ for module in opened] == ["StaticEmbedding"]
    vectors = model.vectors
    found = opened.encode(["Karan, LOMOL!", "lomol", "쥐", ""])
    np.testing.assert_allclose(found[0], (vectors["karan"] + vectors["lomol"]) / 2, atol=1e-6)
    np.testing.assert_allclose(found[1], vectors["lomol"], atol=1e-6)
    assert not found[2:].any()
    similarity = opened.similarity(opened.encode(["karan"]), opened.encode(["lomol 쥐"]))
    assert float(similarity) == pytest.approx(vectors.similarity("karan", "lomol"), abs=1e-6)


def test_model2vec_opens_it_and_leaves_unknown_words_out(model, folder):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    opened = model2vec.StaticModel.from_pretrained(str(folder))
    found = opened.encode("Karan 쥐 LOMOL!")
    np.testing.assert_allclose(found, (model.vectors["karan"] + model.vectors["lomol"]) / 2, atol=1e-6)


def words_of(tokenizer, text):
    return [text for text, _ in tokenizer.pre_tokenizer.pre_tokenize_str(_normalized(tokenizer, text))]


def _normalized(tokenizer, text):
    return tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text


TOKENIZERS = {name: make_tokenizer(["a"], name) for name in ("word", "whitespace")}


@pytest.mark.parametrize("name", ["word", "whitespace"])
@given(text=st.text(st.characters(codec="utf-8", max_codepoint=0x52F, exclude_characters="\n")))
def test_it_finds_the_words_that_posvec_finds(name, text):
    expected = re.findall(r"\w+", text.lower()) if name == "word" else text.split()
    assert [word for line in get_tokenizer(name).split(text.encode()) for word in line] == expected
    assert words_of(TOKENIZERS[name], text) == expected


def test_word_characters_are_those_of_posvec_for_all_characters_known_to_both():
    import unicodedata

    known = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for name, expected in (
        ("word", {c for c in known if re.match(r"\w", c)}),
        ("whitespace", {c for c in known if not c.isspace()}),
    ):
        cut = TOKENIZERS[name].pre_tokenizer
        assert {c for word, _ in cut.pre_tokenize_str(" ".join(known)) for c in word} == expected


@given(text=st.text("aΑΣ'.1א\u0300 :ʰªͅ\xadς_Bİ"))
def test_capital_sigma_lowers_as_in_python(text):
    assert _normalized(TOKENIZERS["word"], text) == text.lower()


def test_words_that_equal_the_unknown_token_keep_their_vectors():
    tokenizer = make_tokenizer(["[UNK]", "b"], "whitespace")
    assert tokenizer.encode("b [UNK] zzz").ids == [1, 0, 2]


def test_export_uses_the_tokenizer_of_the_model_and_overwrites_only_its_own_files(
    posvec_command, corpus, small, tmp_path
):
    posvec.train(corpus, "general", tokenizer="whitespace", **small, output=tmp_path / "model")
    arguments = ("export", tmp_path / "model", "--to", "sentence-transformers", "-o", tmp_path / "static")
    ended = posvec_command(*arguments)
    assert ended.code == 0, ended.err
    assert ended.err == (
        "The export leaves out output vectors, which this format cannot store.\n"
        f"Open it with: sentence_transformers.SentenceTransformer({str(tmp_path / 'static')!r})\n"
    )
    from tokenizers import Tokenizer

    assert Tokenizer.from_file(str(tmp_path / "static" / "tokenizer.json")).normalizer is None
    before = (tmp_path / "static" / "model.safetensors").stat().st_ino
    ended = posvec_command(*arguments)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "is not empty; choose another output, or pass --overwrite" in ended.err
    assert posvec_command(*arguments, "--overwrite").code == 0
    after = (tmp_path / "static" / "model.safetensors").stat().st_ino
    assert after != before
    (tmp_path / "static" / "notes.txt").write_text("mine")
    ended = posvec_command(*arguments, "--overwrite")
    assert (ended.code, "has other files in it, for example notes.txt" in ended.err) == (1, True)
    assert (tmp_path / "static" / "model.safetensors").stat().st_ino == after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "static"]  # no temporary files remain


def test_an_existing_file_is_not_overwritten(model, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelError, match="is a file, but the output is a folder"):
        save_static_embedding(model.vectors, tmp_path / "file", overwrite=True)
    assert (tmp_path / "file").read_text() == "mine"
