"""Texts for language models: layouts, archives, words."""

from __future__ import annotations

import gzip
import lzma
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posvec.errors import CorpusError
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.data import PARTS, Texts, find_parts, read_texts

TEXTS = {"train": "a b a\n\na c\n", "valid": "b d\n", "test": "e\n"}


def read(path: Path, language: str | None = None, **settings: Any) -> Texts:
    return read_texts(path, LanguageModelConfig().replace(**settings), language)


def spelled(texts: Texts, part: str) -> list[str]:
    return [texts.words[number] for number in getattr(texts, part)]


def write(folder: Path, names: tuple[str, str, str], texts: dict[str, str] = TEXTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    opened: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    for name, text in zip(names, texts.values(), strict=True):
        with opened.get(Path(name).suffix, open)(folder / name, "wb") as file:
            file.write(text.encode())
    return folder


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "valid.txt", "test.txt"),
        ("train", "valid", "test"),
        ("train.txt.gz", "valid.txt.xz", "test.txt"),
        ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
        ("wiki.train.tokens.xz", "wiki.valid.tokens.xz", "wiki.test.tokens.xz"),
        ("wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"),
        ("train.in", "test.in", "finaltest.in"),
    ],
)
def test_every_layout_is_read_alike(names: tuple[str, str, str], tmp_path: Path) -> None:
    texts = read(write(tmp_path, names))
    assert spelled(texts, "train") == ["a", "b", "a", "<eos>", "<eos>", "a", "c", "<eos>"]
    assert spelled(texts, "valid") == ["b", "d", "<eos>"]
    assert spelled(texts, "test") == ["e", "<eos>"]
    assert sorted(texts.words) == ["<eos>", "a", "b", "c", "d", "e"]
    assert texts.counts.tolist() == sorted(texts.counts.tolist(), reverse=True)


@pytest.fixture
def botha_and_blunsom(tmp_path: Path) -> Path:
    """The layout of the data of Botha and Blunsom (2014): a folder per pair, monolingual texts of its second half."""
    root = tmp_path / "icml14"
    for pair in ("en-cs", "en-de", "cs-en", "en-es", "en-fr", "en-ru"):
        language = pair[-2:]
        texts = {part: f"{language} {part} </s>\n" for part in PARTS}
        folder = write(root / pair / "1m-mono", ("train.in", "test.in", "finaltest.in"), texts)
        (folder / "vocab").write_text("</s>\n")
    (root / "icml14-data.readme").write_text("about\n")
    return root


@pytest.fixture
def archive(botha_and_blunsom: Path, tmp_path: Path) -> Path:
    path = tmp_path / "icml14-data.tar.bz2"
    with tarfile.open(path, "w:bz2") as file:
        for entry in sorted(botha_and_blunsom.iterdir()):
            file.add(entry, entry.name)
    return path


@pytest.mark.parametrize("language", ["cs", "de", "en", "es", "fr", "ru"])
def test_all_six_languages_of_botha_and_blunsom_are_found(
    language: str, botha_and_blunsom: Path, archive: Path
) -> None:
    for path in (botha_and_blunsom, archive):
        texts = read(path, language)
        for part in PARTS:
            # Their lines already end in </s>, so there is no second end.
            assert spelled(texts, part) == [language, part, "<eos>"]


@pytest.mark.parametrize("top", [".", "data", "data/1m-mono"])
def test_an_archive_may_have_everything_in_one_folder(top: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "texts", ("train.in", "test.in", "finaltest.in"))
    with tarfile.open(tmp_path / "texts.tar", "w") as file:
        for entry in sorted(folder.iterdir()):
            file.add(entry, f"{top}/{entry.name}")
    assert spelled(read(tmp_path / "texts.tar"), "test") == ["e", "<eos>"]


def test_a_whole_layout_is_preferred_to_a_part_of_another(tmp_path: Path) -> None:
    write(tmp_path, ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"))
    (tmp_path / "test.txt").write_text("other\n")
    assert spelled(read(tmp_path), "test") == ["e", "<eos>"]


def test_a_folder_of_one_language_needs_no_language(botha_and_blunsom: Path) -> None:
    assert spelled(read(botha_and_blunsom / "en-de"), "test")[0] == "de"
    assert spelled(read(botha_and_blunsom / "en-de" / "1m-mono"), "test")[0] == "de"


def test_errors_list_the_available_languages(botha_and_blunsom: Path, archive: Path) -> None:
    for path in (botha_and_blunsom, archive):
        with pytest.raises(CorpusError, match=r"texts in cs, de, en, es, fr, ru; choose one with language"):
            read(path)
        with pytest.raises(CorpusError, match="texts in cs, de"):
            read(path, "fi")
    write(botha_and_blunsom / "de-en" / "1m-mono", ("train.in", "test.in", "finaltest.in"))
    with pytest.raises(CorpusError, match=r"more than one train\.in"):
        read(botha_and_blunsom, "en")


def test_a_folder_per_language(tmp_path: Path) -> None:
    write(tmp_path / "de", ("train.txt", "valid.txt", "test.txt"))
    assert spelled(read(tmp_path, "de"), "test") == ["e", "<eos>"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("train.txt", "other.txt", "test.txt"), r"has no valid.txt beside"),
        (("a.txt", "b.txt", "c.txt"), "put train.txt, valid.txt and test.txt there"),
    ],
)
def test_missing_parts_are_named(names: tuple[str, str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=message):
        read(write(tmp_path, names))


def test_invalid_paths_languages_and_texts_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "none")
    (tmp_path / "file").write_text("text")
    with pytest.raises(CorpusError, match="neither a folder nor a tar archive"):
        read(tmp_path / "file")
    with pytest.raises(CorpusError, match="language must be a code, for example de"):
        read(tmp_path, "*")
    write(tmp_path, ("train.txt", "valid.txt", "test.txt"))
    (tmp_path / "valid.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(CorpusError, match=r"line 2 of .*valid.txt is not UTF-8"):
        read(tmp_path)
    (tmp_path / "valid.txt").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"valid.txt is empty"):
        read(tmp_path)


def test_a_truncated_archive_is_rejected(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(CorpusError, match=r"icml14-data\.tar\.bz2"):
        read(archive, "de")


def test_texts_are_truncated_and_later_words_are_not_counted(tmp_path: Path) -> None:
    folder = write(tmp_path, ("train.txt", "valid.txt", "test.txt"))
    texts = read(folder, train_tokens=2, held_out_tokens=1)
    assert [spelled(texts, part) for part in PARTS] == [["a", "b"], ["b"], ["e"]]
    assert sorted(texts.words) == ["<eos>", "a", "b", "e"]


def test_the_rarest_words_become_unk(tmp_path: Path) -> None:
    folder = write(tmp_path, ("train.txt", "valid.txt", "test.txt"), {**TEXTS, "test": "<unk> A\n"})
    texts = read(folder, max_words=4)
    assert sorted(texts.words) == ["<eos>", "<unk>", "a", "b"]
    assert spelled(texts, "train") == ["a", "b", "a", "<eos>", "<eos>", "a", "<unk>", "<eos>"]
    assert spelled(texts, "test") == ["<unk>", "<unk>", "<eos>"]
    assert spelled(read(folder, max_words=4, lowercase=True), "test") == ["<unk>", "a", "<eos>"]
    assert read(folder, max_words=4).digest != read(folder).digest
    assert read(folder, max_words=6).counts.sum() == len(texts.train)


@given(st.lists(st.lists(st.text("abč", min_size=1, max_size=3), max_size=4), min_size=1, max_size=6))
def test_token_ids_spell_the_text(lines: list[list[str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        text = "".join(" ".join(line) + "\n" for line in lines)
        folder = write(Path(name), ("train.txt", "valid.txt", "test.txt"), dict.fromkeys(PARTS, text))
        texts = read(folder)
        expected = [word for line in lines for word in [*line, "<eos>"]]
        for part in PARTS:
            assert spelled(texts, part) == expected
        np.testing.assert_array_equal(np.bincount(texts.train, minlength=len(texts.words)), texts.counts)


def test_parts_are_found_without_being_read(tmp_path: Path) -> None:
    write(tmp_path, ("train.txt", "valid.txt", "test.txt"))
    assert [Path(name).name for name, _ in find_parts(tmp_path)] == ["train.txt", "valid.txt", "test.txt"]
