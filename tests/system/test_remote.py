"""Corpora and models on remote filesystems, here those of memory and of local files."""

from __future__ import annotations

import gzip

import pytest

import posvec
from posvec import PosvecError
from posvec.corpus.sources import open_corpus
from posvec.model import Model
from posvec.storage.folders import check_output
from posvec.system.remote import RemotePath, is_remote

fsspec = pytest.importorskip("fsspec", reason='needs fsspec: pip install "posvec[distributed]"')


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]


@pytest.fixture
def remote_corpus(memory, lines) -> str:
    half = len(lines) // 2
    memory.pipe("/texts/one.txt", "\n".join(lines[:half]).encode())
    memory.pipe("/texts/two.txt.gz", gzip.compress("\n".join(lines[half:]).encode()))
    memory.pipe("/texts/.hidden", b"not this")
    return "memory://texts"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("s3://bucket/x", True), ("file:///tmp", True), ("wikipedia:cs", False), ("a/b", False), ("C:/x", False)],
)
def test_urls_are_told_apart_from_paths_and_names(name, expected):
    assert is_remote(name) is expected


def test_the_lines_of_a_remote_folder_are_those_of_its_files(remote_corpus, lines):
    with open_corpus(remote_corpus) as corpus:
        assert list(corpus.lines()) == lines
        assert corpus.paths == ["memory:///texts/one.txt", "memory:///texts/two.txt.gz"]


def test_a_remote_pattern_names_files(remote_corpus, lines):
    with open_corpus("memory://texts/*.txt") as corpus:
        assert list(corpus.lines()) == lines[: len(lines) // 2]


def test_a_remote_file_that_changes_is_another_corpus(remote_corpus, memory):
    before = open_corpus(remote_corpus)
    memory.pipe("/texts/one.txt", b"other words\n")
    assert open_corpus(remote_corpus).digest != before.digest
    with pytest.raises(PosvecError, match="was changed"):
        before.check_unchanged()


def test_a_remote_model_is_saved_replaced_and_loaded(remote_corpus, memory, small):
    model = posvec.train(remote_corpus, "subword", **small, output="memory://models/one")
    assert (Model.load("memory://models/one").input_vectors == model.input_vectors).all()
    with pytest.raises(PosvecError, match="already holds a model"):
        check_output("memory://models/one")
    other = posvec.train(remote_corpus, "general", **small, output="memory://models/one", overwrite=True)
    assert (Model.load("memory://models/one", verify=True).input_vectors == other.input_vectors).all()
    assert len(memory.ls("/models/one")) == 3, "files of the first model are gone"


def test_training_on_a_remote_corpus_is_resumed(remote_corpus, small):
    class Interrupt:
        def on_chunk(self, progress):
            if progress.fraction > 0.4:
                raise KeyboardInterrupt

        def on_epoch(self, progress): ...

    whole = posvec.train(remote_corpus, "subword", **{**small, "epochs": 4})
    with pytest.raises(KeyboardInterrupt):
        posvec.train(
            remote_corpus, "subword", **{**small, "epochs": 4}, checkpoint_minutes=1e-6, output="memory://models/two",
            callbacks=[Interrupt()],
        )  # fmt: skip
    assert Model.load("memory://models/two").state is not None
    resumed = posvec.resume("memory://models/two")
    assert (resumed.input_vectors == whole.input_vectors).all()


@pytest.mark.parametrize(
    ("url", "said"),
    [("memory://nothing/here", "no file at"), ("nosuch://bucket/x", "nosuch"), ("memory://texts/*.xyz", "no file")],
)
def test_the_error_for_a_missing_remote_file_names_it(remote_corpus, url, said, small):
    with pytest.raises(PosvecError, match=said):
        posvec.train(url, **small)


def test_the_error_for_a_missing_remote_model_names_it(memory):
    with pytest.raises(PosvecError, match="no model at memory://models/none"):
        Model.load("memory://models/none")


def test_commands_take_urls(tmp_path, corpus, flags, posvec_command):
    url = f"file://{tmp_path}/model"
    ended = posvec_command("train", f"file://{corpus}", "-o", url, *flags, "-q")
    assert ended.code == 0, ended.err
    assert Model.load(tmp_path / "model").report.words == 7200
    assert posvec_command("train", f"file://{corpus}", "-o", url, *flags, "-q").code == 1
    assert posvec_command("resume", url).err.count("is complete") == 1


def test_a_remote_path_reads_and_writes_files(memory, tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    url = RemotePath("memory://folder/deep/file")
    url.upload(tmp_path / "file")
    assert url.exists()
    assert url.stat().st_size == 7
    url.download(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"content"
    url.remove()
    assert not url.exists()
