"""Datasets by name, fetched from a local server in the layouts in which they are published."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posvec
from local_server import LocalServer, complete, local_server, stalled, status
from posvec import datasets
from posvec.datasets import (
    CATALOGUE,
    Dataset,
    Download,
    corpus_path,
    dataset_path,
    downloads,
    dumps,
    fetch,
    fetch_dataset,
    fetched_names,
    fetched_path,
    is_fetchable,
)
from posvec.datasets.definitions import DatasetKind, DownloadLayout
from posvec.errors import CorpusError, DownloadError
from posvec.system.files import read_blocks
from test_archives import FILES, make_tar, make_zip
from test_wikipedia import article, make_dump, make_parts, page


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as running:
        yield running


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POSVEC_OFFLINE", raising=False)
    monkeypatch.setattr(downloads, "WAITS", (0.01,))
    return tmp_path / "cache"


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Dataset]:
    """Adds a dataset to the catalogue."""

    def put(
        *items: Download,
        name: str = "small",
        kind: DatasetKind = "corpus",
        layout: DownloadLayout = "file",
        member: str = "",
    ) -> Dataset:
        entry = Dataset(name, kind, "a small one", items, "CC0", "Somebody 2026", layout, member)
        monkeypatch.setitem(CATALOGUE, name, entry)
        return entry

    return put


def text_of(path: Path) -> str:
    return b"".join(read_blocks(path, lambda read: None)).decode()


class RecordingDisplay:
    """A display that records what it is given."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.fractions: list[float] = []

    note = property(lambda self: self.notes.append)

    def stage(self, name: str) -> Any:
        return _Stage(self.fractions)


class _Stage:
    def __init__(self, fractions: list[float]) -> None:
        self.fractions = fractions

    def __enter__(self) -> Callable[[float], None]:
        return self.fractions.append

    def __exit__(self, *_: object) -> None: ...


def test_a_file_is_fetched_once_and_then_found_without_the_server(
    server: LocalServer, listed: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    listed(server.serve("/x/questions.txt", b": a\nb c d e\n"), name="analogies:xx", kind="analogies")
    display = RecordingDisplay()
    path = dataset_path("analogies:xx", display=display)
    assert path == cache / "data" / "analogies-xx" / "questions.txt"
    assert path.read_bytes() == b": a\nb c d e\n"
    assert display.notes == [f"Fetching analogies:xx: 12 B from 127.0.0.1, to be kept in {path.parent}"]
    assert display.fractions[-1] == 1.0
    monkeypatch.setenv("POSVEC_OFFLINE", "1")
    assert dataset_path("analogies:xx") == fetched_path("analogies:xx") == path
    assert len(server.requests) == 1
    assert sorted(file.name for file in path.parent.iterdir()) == [".lock", "dataset.json", "questions.txt"]
    assert json.loads((path.parent / "dataset.json").read_text())["licence"] == "CC0"


def test_offline_mode_fetches_nothing(
    server: LocalServer, listed: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(server.serve("/f", b"text"))
    with pytest.raises(DownloadError, match=r"in offline mode; leave out --offline .*posvec data fetch small"):
        dataset_path("small", offline=True)
    monkeypatch.setenv("POSVEC_OFFLINE", "1")
    with pytest.raises(DownloadError, match="cannot be fetched in offline mode"):
        dataset_path("wikipedia:cs")
    assert not server.requests


def test_overwrite_fetches_again_and_keeps_the_old_data_until_the_new_are_complete(
    server: LocalServer, listed: Callable[..., Dataset]
) -> None:
    listed(server.serve("/f", b"old", checksum=False))
    path = fetch("small")
    server.respond("/f", status(500))
    with pytest.raises(DownloadError):
        fetch("small", overwrite=True)
    assert path.read_bytes() == b"old"
    server.respond("/f", complete(b"new"))
    assert fetch("small").read_bytes() == b"old"
    assert fetch("small", overwrite=True).read_bytes() == b"new"


def test_a_dataset_that_was_damaged_is_fetched_again(server: LocalServer, listed: Callable[..., Dataset]) -> None:
    listed(server.serve("/f", b"text"))
    path = dataset_path("small")
    path.write_bytes(b"te")
    assert fetched_path("small") is None
    assert dataset_path("small").read_bytes() == b"text"


def test_an_archive_becomes_a_folder(server: LocalServer, listed: Callable[..., Dataset], tmp_path: Path) -> None:
    content = make_tar(tmp_path / "icml14-data.tar.bz2", FILES).read_bytes()
    listed(server.serve("/icml14-data.tar.bz2", content), layout="archive", kind="language model")
    path = dataset_path("small")
    assert (path / "en-cs" / "1m-mono" / "train.in").read_bytes() == b"one\n"
    assert fetch("small", overwrite=True) == path
    assert (path / "en-cs" / "1m-mono" / "test.in").read_bytes() == b"two\n"
    with pytest.raises(CorpusError, match="small is not a corpus but data for language model"):
        corpus_path("small")


def test_a_member_of_an_archive_becomes_a_file(
    server: LocalServer, listed: Callable[..., Dataset], tmp_path: Path
) -> None:
    content = make_zip(tmp_path / "a.zip", {"a/de.txt": b"questions", "a/other.txt": b"x"}).read_bytes()
    item = server.serve("/a.zip", content)
    listed(item, layout="member", member="a/de.txt")
    assert dataset_path("small").name == "de.txt"
    assert dataset_path("small").read_bytes() == b"questions"
    listed(item, name="other", layout="member", member="a/fr.txt")
    with pytest.raises(DownloadError, match=r"/a.zip does not contain a/fr.txt"):
        dataset_path("other")


def test_a_malicious_archive_leaves_no_dataset(
    server: LocalServer, listed: Callable[..., Dataset], tmp_path: Path
) -> None:
    listed(server.serve("/a.tar", make_tar(tmp_path / "a", {"../../x": b""}).read_bytes()), layout="archive")
    with pytest.raises(DownloadError, match="a file outside its folder"):
        dataset_path("small")
    assert fetched_path("small") is None


def test_the_four_parts_of_the_papers_wikipedia_become_a_corpus(
    server: LocalServer, listed: Callable[..., Dataset], tmp_path: Path
) -> None:
    parts = make_parts(tmp_path, [article(f"Text {number}.", "More.") for number in range(100)])
    items = [server.serve(f"/{part.name}", part.read_bytes()) for part in parts]
    # One of them arrives after a broken connection, and one is available only the second time.
    server.respond(f"/{parts[1].name}", complete(parts[1].read_bytes(), cut=50), complete(parts[1].read_bytes()))
    server.respond(f"/{parts[3].name}", status(404), complete(parts[3].read_bytes()))
    listed(*items, layout="sections")
    with pytest.raises(DownloadError, match="answers 404"):
        dataset_path("small")
    before = len(server.requests)
    path = dataset_path("small")
    assert [where for where, _ in server.requests[before:]] == [f"/{parts[3].name}"]
    assert path.name == "small.txt.zst"
    assert text_of(path).splitlines() == [line for number in range(100) for line in (f"Text {number}.", "More.")]
    assert not (path.parent / "downloads").exists()


def offer_dump(server: LocalServer, monkeypatch: pytest.MonkeyPatch, date: str, files: dict[str, bytes]) -> None:
    """Serves the files and the pages of dumps.wikimedia.org that list them."""
    site = server.respond("", status(404))
    monkeypatch.setattr(dumps, "SITE", site)
    listing: dict[str, dict[str, Any]] = {}
    for name, content in files.items():
        server.respond(f"/cswiki/{date}/{name}", complete(content))
        listing[name] = {"size": len(content), "url": "/x", "sha1": hashlib.sha1(content).hexdigest()}
    jobs = {
        "articlesdump": {"status": "done", "files": listing},
        "metahistorybz2dump": {"status": "waiting"},
        "abstractsdump": {"status": "in-progress", "files": {f"cswiki-{date}-pages-articles.xml.bz2": {}}},
    }
    server.respond(f"/cswiki/{date}/dumpstatus.json", complete(json.dumps({"jobs": jobs}).encode()))
    sums = f"{'0' * 40}  cswiki-{date}-abstract.xml.gz\n{'0' * 40}  cswiki-{date}-pages-articles.xml.bz2\n"
    server.respond("/cswiki/latest/cswiki-latest-sha1sums.txt", complete(sums.encode()))


def test_the_newest_dump_of_a_language_is_found_and_an_older_one_stays(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    pytest.importorskip("wikitextparser")
    content = make_dump(tmp_path / "d", [page("'''Kočka'''.\n[[Kategorie:Kočky]]")]).read_bytes()
    offer_dump(server, monkeypatch, "20260101", {"cswiki-20260101-pages-articles.xml.bz2": content})
    old = dataset_path("wikipedia:cs")
    assert old == cache / "data" / "wikipedia-cs-20260101" / "wikipedia-cs-20260101.txt.zst"
    assert text_of(old) == "Kočka.\n"
    # A large dump, in several files.
    pieces = {
        f"cswiki-20260201-pages-articles{number}.xml-p{first}p{first + 8}.bz2": make_dump(
            tmp_path / "d", [page(f"Kus {number}.")]
        ).read_bytes()
        for number, first in ((2, 10), (1, 1), (10, 100))
    }
    offer_dump(server, monkeypatch, "20260201", pieces)
    assert dataset_path("wikipedia:cs") == fetch("wikipedia:cs", offline=True) == old
    new = fetch("wikipedia:cs")
    assert text_of(new) == "Kus 1.\nKus 2.\nKus 10.\n"
    assert dataset_path("wikipedia:cs") == new
    assert dataset_path("wikipedia:cs:20260101") == old
    assert fetched_names() == ["wikipedia:cs:20260101", "wikipedia:cs:20260201"]
    assert sorted(path.name for path in (cache / "data").iterdir()) == [
        "wikipedia-cs-20260101",
        "wikipedia-cs-20260201",
    ]


def test_a_missing_parser_is_named_before_anything_large_is_fetched(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_dump(server, monkeypatch, "20260101", {"cswiki-20260101-pages-articles.xml.bz2": b"x"})
    monkeypatch.setitem(sys.modules, "wikitextparser", None)
    with pytest.raises(posvec.PosvecError, match=r'pip install "posvec\[wiki\]"'):
        dataset_path("wikipedia:cs")
    assert [where for where, _ in server.requests if where.endswith("bz2")] == []


def test_files_of_a_killed_process_are_removed(
    server: LocalServer, listed: Callable[..., Dataset], cache: Path
) -> None:
    listed(server.serve("/f", b"text"))
    folder = cache / "data" / "small"
    folder.mkdir(parents=True)
    (folder / ".posvec-0123456789ab.tmp").write_bytes(b"half")
    assert dataset_path("small").read_bytes() == b"text"
    assert not list(folder.glob(".posvec-*"))
    (folder / "downloads").mkdir()
    (folder / "downloads" / "f.part").write_bytes(b"half")
    assert fetch("small").read_bytes() == b"text"
    assert not (folder / "downloads").exists()


def test_missing_dumps_are_reported_in_one_sentence(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    offer_dump(server, monkeypatch, "20260101", {"cswiki-20260101-stub.xml.gz": b""})
    with pytest.raises(DownloadError, match=r"the dump .*/cswiki/20260101/ has no articles yet, or not any more"):
        dataset_path("wikipedia:cs")
    with pytest.raises(DownloadError, match=r"xxwiki-latest-sha1sums.txt: the server answers 404"):
        dataset_path("wikipedia:xx")
    for content in (b"<html>", b"[]", b'{"jobs": [3]}'):
        server.respond("/cswiki/20260101/dumpstatus.json", complete(content))
        with pytest.raises(DownloadError, match="is not a list of files as expected"):
            dataset_path("wikipedia:cs:20260101")
    server.respond("/cswiki/latest/cswiki-latest-sha1sums.txt", complete(b""))
    with pytest.raises(DownloadError, match="lists no file of articles; give a date: wikipedia:cs:YYYYMMDD"):
        dataset_path("wikipedia:cs")


@pytest.mark.parametrize("name", ["wikipedia", "wikipedia:", "wikipedia:CS", "wikipedia:../x", "wikipedia:cs:2026", ""])
def test_unknown_names_are_reported_in_one_sentence(name: str) -> None:
    with pytest.raises(CorpusError, match=r"there is no dataset .*posvec data list shows all"):
        dataset_path(name)


def test_similar_names_are_suggested_and_the_embedded_corpus_is_explained() -> None:
    with pytest.raises(CorpusError, match="did you mean simlex-999"):
        dataset_path("simlex")
    with pytest.raises(CorpusError, match="python-docs is part of posvec and has no file"):
        dataset_path("python-docs")


def test_of_two_concurrent_fetches_one_waits_for_the_other(server: LocalServer, listed: Callable[..., Dataset]) -> None:
    content = b"text" * 1000
    entry = listed(server.serve("/f", content, checksum=True))
    server.respond("/f", stalled(content, 0.5), complete(content))  # the first response is delayed
    displays = [RecordingDisplay(), RecordingDisplay()]
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda display=display: found.append(fetch_dataset(entry, display=display)))
        for display in displays
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert found[0].read_bytes() == content
    assert server.ranges == [None, "bytes=2000-"]  # only from the first one
    assert sum("waiting for it" in note for display in displays for note in display.notes) == 1


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_fetch_continues_where_it_stopped(
    server: LocalServer, posvec_process: Callable[..., subprocess.Popen[bytes]], cache: Path, kind: signal.Signals
) -> None:
    content = random.Random(1).randbytes(400_000)
    item = server.serve("/f", content)
    server.respond("/f", stalled(content, 30), complete(content))
    before = (
        "from posvec.datasets import CATALOGUE, Dataset, Download;"
        f"download = Download({item.url!r}, {item.size}, {item.checksum!r});"
        "CATALOGUE['small'] = Dataset('small', 'corpus', '', (download,), '', '');"
    )
    process = posvec_process("data", "fetch", "small", before=before)
    part = cache / "data" / "small" / "downloads" / "f.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size == 200_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(kind)
    _, err = process.communicate(timeout=30)
    if kind is signal.SIGINT:
        assert process.returncode == 130
        assert err.endswith(b"Interrupted; continue with: posvec data fetch small\n")
    process = posvec_process("data", "fetch", "small", before=before)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert Path(out.decode().strip()).read_bytes() == content
    assert server.ranges == [None, "bytes=200000-"]


def test_train_accepts_the_name_of_a_dataset(
    server: LocalServer,
    listed: Callable[..., Dataset],
    tmp_path: Path,
    lines: list[str],
    flags: list[str],
    posvec_command: Any,
) -> None:
    parts = make_parts(tmp_path, [article(*lines[at : at + 6]) for at in range(0, len(lines), 6)])
    listed(*(server.serve(f"/{part.name}", part.read_bytes()) for part in parts), layout="sections")
    ended = posvec_command("train", "small", "-o", tmp_path / "model", *flags)
    assert ended.code == 0, ended.err
    assert "Fetching small: " in ended.err
    assert f"{12 * len(lines):,} words in {len(lines):,} lines" in ended.err
    (tmp_path / "plain.txt").write_text("\n".join(lines) + "\n")
    assert posvec_command("train", tmp_path / "plain.txt", "-o", tmp_path / "same", *flags).code == 0
    by_name, by_path = (posvec.load(tmp_path / name).input_vectors for name in ("model", "same"))
    assert np.array_equal(by_name, by_path)
    ended = posvec_command("vocab", "small", "--top", 1, "--min-count", 1)
    assert ended.code == 0
    assert "30 words that cover 7,200 of 7,200 tokens" in ended.out


def test_evaluate_accepts_the_name_of_a_dataset(
    server: LocalServer,
    listed: Callable[..., Dataset],
    tmp_path: Path,
    corpus: Path,
    flags: list[str],
    posvec_command: Any,
) -> None:
    assert posvec_command("train", corpus, "-o", tmp_path / "model", *flags).code == 0
    # In the questions of some languages, section lines begin with spaces.
    listed(server.serve("/q.txt", b" : s\nkaran katek lodun mimol\n"), name="analogies:xx", kind="analogies")
    listed(server.serve("/p.txt", b"karan katek 1\nlodun mimol 2\n"), name="pairs-xx", kind="similarity")
    ended = posvec_command("evaluate", "analogy", tmp_path / "model", "analogies:xx", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["sections"][0]["name"] == "s"
    ended = posvec_command("evaluate", "similarity", tmp_path / "model", "pairs-xx")
    assert ended.code == 0, ended.err
    assert len(server.requests) == 2


def test_lm_train_accepts_the_name_of_a_dataset(
    server: LocalServer,
    listed: Callable[..., Dataset],
    tmp_path: Path,
    corpus: Path,
    lines: list[str],
    flags: list[str],
    posvec_command: Any,
) -> None:
    pytest.importorskip("torch")
    assert posvec_command("train", corpus, "-o", tmp_path / "model", *flags).code == 0
    text = "\n".join(lines[:100]).encode()
    files = {
        f"en-{language}/1m-mono/{part}.in": text for language in ("cs", "de") for part in ("train", "test", "finaltest")
    }
    listed(server.serve("/icml14.tar.bz2", make_tar(tmp_path / "a", files).read_bytes()), layout="archive")
    run = ["lm", "train", tmp_path / "model", "--data", "small", "-o", tmp_path / "run", "--epochs", 1, "--hidden", 16]
    ended = posvec_command(*run)
    assert ended.code == 1
    assert "has texts in cs, de; choose one with language" in ended.err
    ended = posvec_command(*run, "--language", "cs")
    assert ended.code == 0, ended.err
    assert len(server.requests) == 1


def test_a_set_of_questions_is_not_a_corpus(posvec_command: Any, tmp_path: Path) -> None:
    ended = posvec_command("train", "wikipedia:cs", "analogies:en", "-o", tmp_path / "model")
    assert ended.code == 1
    assert ended.err.startswith("Error: analogies:en is not a corpus but data for analogies; ")


def test_the_commands_list_fetch_and_find(
    server: LocalServer, listed: Callable[..., Dataset], posvec_command: Any
) -> None:
    listed(server.serve("/f.txt", b"text"))
    ended = posvec_command("data", "list")
    assert ended.code == 0
    assert all(name in ended.out for name in ("wiki-english-20171001", "6.5 GB", "analogies:tr", "rw", "small"))
    ended = posvec_command("data", "path", "small", "--offline")
    assert ended.code == 1
    assert "cannot be fetched in offline mode" in ended.err
    ended = posvec_command("data", "fetch", "small")
    assert ended.code == 0
    path = Path(ended.out.strip())
    assert path.read_bytes() == b"text"
    ended = posvec_command("data", "path", "small", "--offline", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, f"{path}\n", "")
    described = json.loads(posvec_command("data", "list", "small", "--json").out)
    assert described[0]["path"] == str(path)
    assert described[0]["citation"] == "Somebody 2026"
    assert "Somebody 2026" in posvec_command("data", "list", "small").out
    ended = posvec_command("data", "fetch", "nothing")
    assert ended.code == 1
    assert "there is no dataset 'nothing'" in ended.err


def test_the_package_offers_its_public_names() -> None:
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert dir(datasets) == sorted(datasets.__all__)
    with pytest.raises(AttributeError, match=r"'posvec\.datasets' has no attribute 'everything'"):
        _ = datasets.everything


def test_every_entry_of_the_catalogue_is_complete() -> None:
    for name, entry in CATALOGUE.items():
        assert name == entry.name
        assert is_fetchable(name)
        assert entry.about
        assert entry.licence
        assert entry.citation
        assert entry.downloads
        for item in entry.downloads:
            assert item.url.startswith("https://")
            assert item.filename
            algorithm, _, digest = (item.checksum or "md5:" + 32 * "0").partition(":")
            assert len(digest) == 2 * hashlib.new(algorithm).digest_size
    languages = {name.partition(":")[2] for name in CATALOGUE if name.startswith("analogies:")}
    assert languages == {"en", "cs", "de", "es", "fi", "fr", "hi", "it", "pl", "pt", "ru", "tr", "zh"}
    assert CATALOGUE["wiki-english-20171001"].size == 6_516_051_717
