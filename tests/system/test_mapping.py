"""Model files that become shorter while they are mapped: queries refuse them instead of ending the process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posvec
from posvec import ModelError
from posvec.evaluation import analogy
from posvec.evaluation.compression import compress_model
from posvec.storage.safetensors import read_tensors, write_tensors
from posvec.storage.tables import StackedTable
from posvec.system.mapping import check_mapped

QUERIES: dict[str, Callable[[Any], object]] = {
    "vector": lambda model: model.vectors["karan"],
    "vectors": lambda model: model.vectors.get_vectors(["karan", "lotek"]),
    "subwords": lambda model: model.vectors.subword_contributions("karan"),
    "neighbours": lambda model: model.vectors.most_similar("karan"),
    "neighbours of a vector": lambda model: model.vectors.similar_by_vector(
        np.ones(model.config.model.dim, np.float32)
    ),
    "norms": lambda model: model.vectors.norms,
    "masked word": lambda model: model.predict_masked("karan [MASK] lotek"),
    "position": lambda model: model.position(-1),
    "positions": lambda model: model.position_importance(),
    "sentences": lambda model: model.sentence_vectors(["karan lotek"], "positional"),
}


@pytest.fixture(scope="module")
def saved(corpus, small, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in ("constrained", "positional"):
        posvec.train(corpus, kind, **small, output=folder / kind)
    posvec.train(corpus, "positional", **{**small, "dim": 32, "word_dim": 16}, output=folder / "two heads")
    compress_model(folder / "constrained", folder / "compressed", "int8")
    return folder


@pytest.mark.parametrize("kind", ["constrained", "positional", "two heads", "compressed"])
@pytest.mark.parametrize("query", QUERIES)
def test_queries_of_a_shortened_file_are_refused(saved: Path, kind: str, query: str) -> None:
    model = posvec.load(saved / kind)
    (path,) = (saved / kind).glob("model*.safetensors")
    content = path.read_bytes()
    try:
        os.truncate(path, 4096)
        with pytest.raises(
            ModelError, match=rf"became shorter while it was open: 4,096 bytes instead of {len(content):,};"
        ):
            QUERIES[query](model)
    finally:
        path.write_bytes(content)
    assert QUERIES[query](posvec.load(saved / kind)) is not None


@pytest.mark.parametrize("kind", ["constrained", "two heads"])
def test_a_shortened_file_is_neither_saved_nor_trained_further(saved: Path, kind: str, tmp_path: Path) -> None:
    model = posvec.load(saved / kind)
    (path,) = (saved / kind).glob("model*.safetensors")
    content = path.read_bytes()
    try:
        os.truncate(path, len(content) - 1)
        for use in (lambda: model.save(tmp_path / "copy"), model.trainable):
            with pytest.raises(ModelError, match="became shorter"):
                use()
    finally:
        path.write_bytes(content)
    assert not (tmp_path / "copy").exists()


def test_evaluation_of_a_shortened_file_is_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "questions.txt").write_text("karan lotek karan lotek\n")
    model = posvec.load(saved / "positional")
    (path,) = (saved / "positional").glob("model*.safetensors")
    content = path.read_bytes()
    try:
        os.truncate(path, 4096)
        with pytest.raises(ModelError, match="became shorter"):
            analogy.evaluate(model, tmp_path / "questions.txt")
    finally:
        path.write_bytes(content)


def test_views_and_parts_of_tables_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "numbers.safetensors"
    write_tensors(path, {"numbers": np.arange(4000)})
    numbers = read_tensors(path)[0]["numbers"]
    views = [
        numbers,
        numbers[3:],
        numbers.reshape(40, 100)[::2].T,
        StackedTable(np.zeros((1, 100)), numbers.reshape(40, 100)),
    ]
    for view in [*views, np.zeros(3), numbers.copy()]:
        check_mapped(view)
    os.truncate(path, path.stat().st_size - 1)
    for view in views:
        with pytest.raises(ModelError, match="became shorter"):
            check_mapped(view)
    check_mapped(np.zeros(3))
    with path.open("ab") as file:
        file.write(b"longer than before")
    check_mapped(numbers)
