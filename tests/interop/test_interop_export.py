"""What all exports have in common: missing libraries, existing folders, failures while writing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from posvec import ConfigError, ModelError, PosvecError, WordVectors
from posvec.interop import TARGETS, export
from posvec.interop.gensim import from_gensim
from posvec.interop.sentence_transformers import save_static_embedding
from posvec.system.atomic import replacing_folder

VECTORS = WordVectors.from_table(["one", "two"], np.eye(2, dtype=np.float32))


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("gensim.models", "gensim", VECTORS.to_gensim),
        ("gensim.models", "gensim", lambda: from_gensim(None)),
        ("spacy", "spacy", VECTORS.to_spacy_vocab),
        ("torch", "torch", VECTORS.to_torch_embedding),
        ("tokenizers", "sentence-transformers", lambda: save_static_embedding(VECTORS, "/nowhere")),
    ],
)
def test_an_error_names_the_extra_of_a_missing_library(monkeypatch, module, extra, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PosvecError, match=rf'^this needs {module.split(".")[0]}\b.* pip install "posvec\[{extra}\]"$'):
        call()


def test_an_unknown_export_target_is_refused_with_the_choices(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^unknown export target 'word'; choose from spacy, sentence-transformers, hub$"
    ):
        export(None, "word", tmp_path / "folder")
    assert list(TARGETS) == ["spacy", "sentence-transformers", "hub"]


def test_an_option_that_an_export_cannot_use_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"^the export to spacy has no option license; leave it out$"):
        export(None, "spacy", tmp_path / "folder", license="mit", language=None)


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with replacing_folder(tmp_path / "below" / "folder") as path:
        (path / "file").write_text("new")
        assert not (tmp_path / "below" / "folder").exists()
    assert (tmp_path / "below" / "folder" / "file").read_text() == "new"
    assert [entry.name for entry in (tmp_path / "below").iterdir()] == ["folder"]


def test_a_failure_leaves_the_folder_that_was_there(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("old")

    def fail(error):
        with replacing_folder(folder, overwrite=True) as path:
            (path / "file").write_text("new")
            raise error

    for error, raised in ((KeyboardInterrupt, KeyboardInterrupt), (OSError(28, "No space left on device"), ModelError)):
        with pytest.raises(raised):
            fail(error)
        assert (folder / "file").read_text() == "old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_a_folder_is_overwritten_only_on_request_and_if_nothing_else_is_in_it(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with replacing_folder(folder) as path:  # an empty folder may be used
        (path / "file").write_text("old")
    with pytest.raises(ModelError, match="is not empty; choose another output, or pass --overwrite"):
        replacing_folder(folder).__enter__()
    with replacing_folder(folder, overwrite=True) as path:
        (path / "file").write_text("new")
    assert (folder / "file").read_text() == "new"
    with (
        pytest.raises(ModelError, match="has other files in it, for example file, so it is not overwritten"),
        replacing_folder(folder, overwrite=True) as path,
    ):
        (path / "other").write_text("newer")
    assert [entry.name for entry in tmp_path.rglob("*")] == ["folder", "file"]
