"""Corpora from all kinds of sources, read in blocks of whole lines."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posvec.config import TextConfig
from posvec.corpus import lines as corpus_lines
from posvec.corpus.lines import text_blocks, whole_lines
from posvec.corpus.sources import Corpus, Source, open_corpus
from posvec.errors import CorpusError
from posvec.system import files
from posvec.system.files import read_blocks

REPLACE = TextConfig(errors="replace")
COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"b.txt": "b\n", "a.txt": "a", "sub/c.txt": "c\n", ".hidden": "h\n", ".git/d": "d\n"}.items():
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_text(text)
    return tmp_path / "texts"


def lines(source: Source, config: TextConfig | None = None) -> list[str]:
    return lines_of(open_corpus(source, config))


def lines_of(corpus: Corpus) -> list[str]:
    return [line for block in corpus.blocks() for line in block.decode().removesuffix("\n").split("\n")]


def test_a_file_is_read_line_by_line(folder: Path) -> None:
    assert lines(folder / "b.txt") == lines(str(folder / "b.txt")) == ["b"]


def test_a_folder_means_all_its_files_sorted_without_hidden_ones(folder: Path) -> None:
    assert lines(folder) == ["a", "b", "c"]


def test_a_pattern_means_the_matching_files_sorted(folder: Path) -> None:
    assert lines(f"{folder}/*.txt") == ["a", "b"]
    assert lines(f"{folder}/**/*.txt") == ["a", "b", "c"]


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("x\n")
    assert lines(tmp_path / "a[1].txt") == ["x"]


def test_several_paths_are_read_in_order(folder: Path) -> None:
    assert lines([folder / "b.txt", str(folder / "a.txt")]) == ["b", "a"]


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_are_decompressed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(
        COMPRESS[ending](b"one\ntwo") + b"\0" * 8 + COMPRESS[ending]("\nthré\n".encode())
    )  # the output of cat
    assert lines(path) == ["one", "two", "thré"]


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_small_file_that_expands_to_a_large_one_is_read_in_blocks(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESS[ending](b"\n" * (48 << 20)) + COMPRESS[ending](b"a\n"))
    assert path.stat().st_size < 1 << 20
    sizes = [len(block) for block in read_blocks(path, lambda _: None)]
    assert sum(sizes) == (48 << 20) + 2
    assert max(sizes) < 40 << 20


@pytest.mark.parametrize("ending", COMPRESS)
def test_damage_in_a_second_compressed_stream_is_reported(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    path.write_bytes(COMPRESS[ending](b"one\n") + b"#" + COMPRESS[ending](b"two\n"))
    with pytest.raises(CorpusError, match=rf"text\{ending} is damaged"):
        lines(path)


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("damage", ["cut", "overwritten", "foreign"])
def test_a_damaged_compressed_file_is_named(tmp_path: Path, ending: str, damage: str) -> None:
    path = tmp_path / f"text{ending}"
    whole = COMPRESS[ending](os.urandom(50_000).hex().encode() + b"\n")
    path.write_bytes(
        {"cut": whole[:-20_000], "overwritten": b"\0" * 200 + whole[200:], "foreign": b"plain text"}[damage]
    )
    with pytest.raises(CorpusError, match=rf"text\{ending} is damaged"):
        lines(path)


def test_standard_input_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeffa b\nc".encode())))
    corpus = open_corpus("-")
    assert corpus.name == "standard input"
    assert lines_of(corpus) == lines_of(corpus) == ["a b", "c"]


def test_a_named_pipe_can_be_read_twice() -> None:
    out, into = os.pipe()
    os.write(into, b"a\nb\n")
    os.close(into)
    corpus = open_corpus(f"/dev/fd/{out}")
    os.close(out)
    assert lines_of(corpus) == lines_of(corpus) == ["a", "b"]


def test_sentences_come_from_any_iterable_and_line_feeds_in_them_become_spaces() -> None:
    assert lines(iter(["one\ntwo", "", "three"])) == ["one two", "", "three"]
    odd = ["What is this?", "No file, surely.", "x" * 5000, "a\0b", "[", ""]
    assert lines(odd) == odd


def test_token_lists_keep_their_tokens_unchanged() -> None:
    corpus = open_corpus([["New York", "Is"], [], ["big"]])
    assert corpus.tokenizer == "tokens"
    assert lines_of(corpus) == ["New York\x1fIs", "", "big"]


def test_a_custom_tokenizer_is_applied_to_lines_of_any_source(folder: Path) -> None:
    (folder / "e.txt").write_bytes(b"x-y z\r\nw\r\n")
    for source in (folder / "e.txt", iter(["x-y z", "w"])):
        corpus = open_corpus(source, tokenizer=lambda line: line.split("-"))
        assert corpus.tokenizer == "tokens"
        assert lines_of(corpus) == ["x\x1fy z", "w"]


def test_a_list_of_strings_that_are_partly_paths_is_refused_with_the_missing_ones(folder: Path) -> None:
    with pytest.raises(CorpusError, match=r"1 do not exist: 'nowhere\.txt'"):
        open_corpus([str(folder / "a.txt"), "nowhere.txt"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.txt", r"no such file or folder: nowhere\.txt"),
        (Path("nowhere.txt"), r"no such file or folder: nowhere\.txt"),
        ("nowhere*.txt", r"no file matches the pattern nowhere\*\.txt"),
        ([Path("nowhere.txt")], r"do not exist: 'nowhere\.txt'"),
        ("x" * 5000, "cannot read xxx.*name too long"),
        ("a\0b", "no such file"),
        ("", "no such file"),
        ([], "no text in the sentences given"),
        (3, "not int"),
        (b"bytes", "not bytes"),
        (["a", ["b"]], "sentence 2 is a list"),
        ([["a"], "b"], "sentence 2 is a str"),
        ([["a", 3]], "sentence 1 has the token 3, a int"),
        ([["a\nb"]], r"sentence 1 has the token 'a\\nb'"),
        ([["a\x1fb"]], r"sentence 1 has the token 'a\\x1fb'"),
        (iter(["fine", "\ud800"]), "sentence 2 has half of a surrogate pair"),
    ],
)
def test_an_invalid_source_is_refused_in_one_sentence(source: Source, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        open_corpus(source)


def test_a_tokenizer_that_returns_a_string_or_a_line_feed_is_refused() -> None:
    with pytest.raises(CorpusError, match="line 1 is a str"):
        open_corpus(iter(["a"]), tokenizer=str.lower)
    with pytest.raises(CorpusError, match="line 2 has the token"):
        open_corpus(iter(["a", "b"]), tokenizer=lambda line: [line, "\n" * (line == "b")])


def test_a_tokenizer_that_is_not_a_function_is_refused() -> None:
    with pytest.raises(CorpusError, match="tokenizer must be a function"):
        open_corpus(iter(["a"]), tokenizer="word")  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="lists of tokens already"):
        open_corpus([["a"]], tokenizer=str.split)


def test_an_empty_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CorpusError, match=r"no text in .*empty\.txt"):
        open_corpus(tmp_path / "empty.txt")
    with pytest.raises(CorpusError, match=r"no text in .*empty\.gz"):
        lines(tmp_path / "empty.gz")
    with pytest.raises(CorpusError, match=r"the folder .*nothing has no files"):
        open_corpus(tmp_path / "nothing")


def test_a_file_without_permission_is_named(folder: Path) -> None:
    (folder / "a.txt").chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(CorpusError, match=r"no permission to read .*a\.txt"):
            open_corpus(folder / "a.txt")
    finally:
        os.seteuid(user)


def test_a_byte_order_mark_is_dropped_at_the_start_of_each_file_only(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes("\ufeffa\n\ufeffb\n".encode())
    (tmp_path / "2").write_bytes("\ufeffc\n".encode())
    assert lines([tmp_path / "1", tmp_path / "2"]) == ["a", "\ufeffb", "c"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_text_that_is_not_utf8_is_named_with_its_line(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK", 16)
    path = tmp_path / f"latin{ending}"
    data = "\ufeff".encode() + b"one\ntwo\n" * 20 + b"caf\xe9\n"
    path.write_bytes(COMPRESS[ending](data) if ending else data)
    with pytest.raises(CorpusError, match=rf"latin{ending} is not UTF-8 in line 41; .*--errors replace"):
        lines(path)
    assert lines(path, REPLACE)[-2:] == ["two", "caf\ufffd"]


def test_standard_input_that_is_not_utf8_is_named_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n\xff\n")))
    with pytest.raises(CorpusError, match="standard input is not UTF-8 in line 3"):
        lines("-")


@given(st.binary(max_size=60), st.integers(1, 9))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_are_whole_lines_and_replace_as_python_decodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    path = tmp_path / "file"
    path.write_bytes(data.replace(b"a", b"\n") + b"x")
    blocks = list(open_corpus(path, REPLACE).blocks())
    assert b"".join(blocks).decode() == path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@given(st.text("aσ 日\n\x1f", max_size=80), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=300)
def test_the_cuts_in_a_long_line_depend_on_its_bytes_alone(text: str, one: int, other: int) -> None:
    data = text.encode()
    cut = [
        [piece for block in whole_lines(blocks, 12) for piece in block.splitlines(keepends=True)]
        for blocks in ([data[i : i + size] for i in range(0, len(data), size)] for size in (one, other))
    ]
    assert cut[0] == cut[1]
    assert b"".join(cut[0]) == data
    assert max(map(len, cut[0]), default=0) <= 12
    assert b"".join(cut[0]).decode() == "".join(piece.decode() for piece in cut[0])  # no character is cut
    longest = max(map(len, re.split(rb"[ \n\x1f]", data)))
    if longest < 12:
        assert [word for piece in cut[0] for word in re.split(rb"[ \n\x1f]", piece) if word] == [
            word for word in re.split(rb"[ \n\x1f]", data) if word
        ]


@pytest.mark.parametrize("size", [7, 100, 1000])
def test_pieces_for_other_processes_contain_a_very_long_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", 16)
    monkeypatch.setattr(corpus_lines, "_MAX_LINE_BYTES", 16)
    path = tmp_path / "file"
    path.write_bytes(b"one\n" + b"two three " * 50 + b"\nfour\n" + b"five " * 30)
    opened = open_corpus(path)
    blocks = [block for piece in opened.pieces(size) for block in text_blocks(piece, "strict")]
    assert b"".join(blocks) == path.read_bytes() == b"".join(opened.blocks())
    assert max(map(len, blocks)) <= 32
    assert b"".join(blocks).split() == [word for block in blocks for word in block.split()]


def test_progress_grows_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1000)
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("some line\n" * 1000)
    shares: list[float] = []
    for _ in open_corpus(f"{tmp_path}/*.txt").blocks(shares.append):
        pass
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert 0 < shares[0] < 0.2
    assert shares[-1] == 1


def test_the_digest_changes_with_the_content_only(folder: Path) -> None:
    before = open_corpus(folder).digest
    assert open_corpus(folder).digest == before
    times = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("A")
    os.utime(folder / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert open_corpus(folder).digest != before
    assert open_corpus(iter(["a", "b"])).digest == open_corpus(iter(["a", "b"])).digest
    assert open_corpus(iter(["a", "b"])).digest != open_corpus(iter(["a", "c"])).digest


def test_a_temporary_copy_is_removed(tmp_path: Path) -> None:
    with open_corpus(iter(["a"])) as corpus:
        assert lines_of(corpus) == ["a"]
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(CorpusError, match=r"cannot write to the cache folder .*below.*POSVEC_CACHE"):
        open_corpus(iter(["a"]))
