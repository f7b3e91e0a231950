"""Fuzz targets: files of word vectors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from fuzz_targets.models import tiny_model
from posvec import Model, WordVectors
from posvec.formats import load_model_or_vectors, write_vectors

FORMATS = ("word2vec-text", "word2vec-bin", "glove", "fasttext-bin", "npz", "safetensors")


def vector_file_check(format: str | None) -> Callable[[bytes, Path], None]:
    """The check for a file format; without one, the format is detected from the content."""

    def check(data: bytes, folder: Path) -> None:
        (folder / "v").write_bytes(data)
        found = load_model_or_vectors(folder / "v", format)
        vectors = found.vectors if isinstance(found, Model) else found
        if not np.isfinite(vectors.table).all():  # a mean of finite rows can overflow, as in fastText
            vectors.most_similar(vectors.vocabulary.words[0])  # must refuse
            raise AssertionError("vectors that are not finite were searched")
        assert len(set(vectors.vocabulary.words)) == len(vectors) == len(vectors.table)
        vectors.has_vector("naïver")
        name = format or "safetensors"
        if not write_vectors(folder / "w", found, name) and name != "fasttext-bin":
            again = load_model_or_vectors(folder / "w", name)
            assert isinstance(again, WordVectors)
            assert again.vocabulary.words == vectors.vocabulary.words
            assert np.array_equal(again.table, vectors.table)

    return check


def vector_file_seeds(*formats: str) -> Callable[[], Iterator[bytes]]:
    """Files of two tiny models in each of the formats."""

    def seeds() -> Iterator[bytes]:
        for format in formats:
            for model in (tiny_model("subword"), tiny_model("general")):
                with tempfile.TemporaryDirectory() as folder:
                    write_vectors(Path(folder) / "v", model, format)
                    yield (Path(folder) / "v").read_bytes()

    return seeds
