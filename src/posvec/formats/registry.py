"""The file formats of word vectors. A format is a pair of functions in a module of this package, listed in FORMATS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posvec.errors import ModelError
from posvec.formats.arrays import load_npz, load_safetensors, write_npz, write_safetensors
from posvec.formats.fasttext import load_fasttext, write_fasttext
from posvec.formats.text import load_glove, load_word2vec_text, write_glove, write_word2vec_text
from posvec.formats.word2vec import load_word2vec_binary, write_word2vec_binary
from posvec.model import Model
from posvec.vectors import WordVectors

ModelOrVectors = Model | WordVectors


@dataclass(frozen=True)
class Format:
    """A file format: its functions, its file extension, and what it can store.

    Examples
    --------
    >>> from posvec.formats import FORMATS
    >>> npz = FORMATS["npz"]
    >>> npz.extension, npz.stores_counts, npz.stores_positions
    ('.npz', True, False)
    """

    load: Callable[[Path], ModelOrVectors]
    write: Callable[..., list[str]]
    """Called with a path, WordVectors (or a Model, if ``stores_models``) and ``overwrite``; returns omitted words."""
    extension: str
    """The file extension that selects the format, or "" if none does."""
    stores_models: bool = False
    """Whether it stores models with their output vectors and n-grams, not only a vector for each word."""
    stores_positions: bool = False
    """Whether it stores positional vectors."""
    stores_counts: bool = False
    """Whether it stores how often each word occurred."""


def _write_folder(path: Path, vectors: ModelOrVectors, overwrite: bool = False) -> list[str]:
    if isinstance(vectors, WordVectors):
        raise ModelError(
            f"word vectors alone cannot be saved as a model; write them to a file, for example {path}.safetensors"
        )
    vectors.save(path, overwrite)
    return []


FORMATS: dict[str, Format] = {
    "word2vec-bin": Format(load_word2vec_binary, write_word2vec_binary, ".bin"),
    "word2vec-text": Format(load_word2vec_text, write_word2vec_text, ".txt"),
    "fasttext-bin": Format(load_fasttext, write_fasttext, "", stores_models=True, stores_counts=True),
    "fasttext-vec": Format(load_word2vec_text, write_word2vec_text, ".vec"),
    "glove": Format(load_glove, write_glove, ".glove"),
    "npz": Format(load_npz, write_npz, ".npz", stores_counts=True),
    "safetensors": Format(load_safetensors, write_safetensors, ".safetensors", stores_counts=True),
    "posvec": Format(Model.load, _write_folder, "", stores_models=True, stores_positions=True, stores_counts=True),
}
"""All formats by name. ``posvec convert --format NAME`` and the functions of :mod:`posvec.formats` take these names."""


def get_format(name: str) -> Format:
    """Return the format of a name, or raise ModelError if there is none."""
    if name not in FORMATS:
        raise ModelError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    return FORMATS[name]
