"""Files of word vectors: which formats there are, how they are told apart, and how one becomes another.

A format is a pair of functions in a module of this package, and an entry in ``FORMATS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from posvec.errors import ModelError
from posvec.formats.arrays import load_npz, load_safetensors, write_npz, write_safetensors
from posvec.formats.content import check_free
from posvec.formats.fasttext import MAGIC, load_fasttext, write_fasttext
from posvec.formats.text import is_header, is_vector, load_glove, load_word2vec_text, write_glove, write_word2vec_text
from posvec.formats.word2vec import load_word2vec_binary, write_word2vec_binary
from posvec.model import Model
from posvec.storage.folders import check_output
from posvec.system.files import is_compressed, read_blocks
from posvec.vectors import WordVectors

Vectors = Model | WordVectors


@dataclass(frozen=True)
class Format:
    """One file format: how it is read and written, and what it has room for."""

    load: Callable[[Path], Vectors]
    write: Callable[..., list[str]]
    """Called with a path, WordVectors (or, if ``whole``, a Model) and ``overwrite``; returns words it cannot hold."""
    ending: str
    whole: bool = False
    """Whether it holds models with their output vectors and n-grams, not only a vector for each word."""
    positions: bool = False
    """Whether it holds positional vectors."""
    counts: bool = False
    """Whether it holds how often each word occurred."""


def save_model(path: Path, vectors: Vectors, overwrite: bool = False) -> list[str]:
    """Save a model's folder."""
    if isinstance(vectors, WordVectors):
        raise ModelError(
            f"word vectors alone make no model; write them to a file, such as {path}.safetensors, which opens at once"
        )
    vectors.save(path, overwrite)
    return []


FORMATS: dict[str, Format] = {
    "word2vec-bin": Format(load_word2vec_binary, write_word2vec_binary, ".bin"),
    "word2vec-text": Format(load_word2vec_text, write_word2vec_text, ".txt"),
    "fasttext-bin": Format(load_fasttext, write_fasttext, "", whole=True, counts=True),
    "fasttext-vec": Format(load_word2vec_text, write_word2vec_text, ".vec"),
    "glove": Format(load_glove, write_glove, ".glove"),
    "npz": Format(load_npz, write_npz, ".npz", counts=True),
    "safetensors": Format(load_safetensors, write_safetensors, ".safetensors", counts=True),
    "posvec": Format(Model.load, save_model, "", whole=True, positions=True, counts=True),
}


def load_vectors(path: str | os.PathLike[str], format: str | None = None) -> WordVectors:
    """The word vectors of a file in any of ``FORMATS``, or of a saved model; the content tells which it is.

    Those of a model, of posvec or of fastText, also answer for out-of-vocabulary words.
    """
    loaded = load(path, format)
    return loaded.vectors if isinstance(loaded, Model) else loaded


def load(path: str | os.PathLike[str], format: str | None = None) -> Vectors:
    """What a file holds: a Model if it is one of posvec or of fastText (``.bin``), else WordVectors."""
    path = Path(path)
    return _named(format or format_of_content(path)).load(path)


def write(
    path: str | os.PathLike[str], vectors: Vectors, format: str | None = None, overwrite: bool = False
) -> list[str]:
    """Write a model or word vectors in a format, by default that of the ending; returns what it has no room for."""
    path = Path(path)
    name = format or format_of_ending(path)
    chosen = _named(name)
    if is_compressed(path) and name in ("npz", "safetensors", "posvec"):
        raise ModelError(f"{name} is not compressed once more; leave out {path.suffix}")
    lost = _lost(chosen, vectors)
    if isinstance(vectors, Model) and not chosen.whole:
        vectors = vectors.vectors
    words = chosen.write(path, vectors, overwrite)
    if words:
        lost.append(f"{_some(words)} (a word cannot have blanks, line ends or NUL in it there)")
    return lost


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    format: str | None = None,
    source_format: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Write what one file or model folder holds as another; returns what the new format has no room for."""
    format = format or format_of_ending(Path(target))
    _named(format)
    # Before the time is spent to read the source.
    if format == "posvec":
        check_output(target, overwrite)
    elif not overwrite:
        check_free(Path(target))
    return write(target, load(source, source_format), format, overwrite)


def format_of_ending(path: Path) -> str:
    """The format that a file's name asks for; a name without an ending is a model's folder."""
    plain = path.with_suffix("") if is_compressed(path) else path
    for name, format in FORMATS.items():
        if format.ending and plain.suffix.lower() == format.ending:
            return name
    if not path.suffix or path.is_dir():
        return "posvec"
    raise ModelError(f"the ending of {path} is no format's; name one with --format: {', '.join(FORMATS)}")


def format_of_content(path: Path) -> str:
    """The format of a file that is there, told by its first bytes; a folder, or a name without ending, is a model."""
    if path.is_dir() or not (path.suffix or path.exists()):
        return "posvec"
    if path.exists() and not path.is_file():
        raise ModelError(f"{path} is no regular file, so its format must be named: {', '.join(FORMATS)}")
    start = next(read_blocks(path, lambda read: None), b"")[:_SAMPLE]
    if start.startswith(MAGIC):
        return "fasttext-bin"
    if start.startswith(b"PK\x03\x04"):
        return "npz"
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32:
        return "safetensors"
    if path.suffix.lower() in (".npz", ".safetensors"):
        return path.suffix.lower()[1:]  # damaged, and that format's reader can say how
    first, _, rest = start.partition(b"\n")
    if is_header(first):
        return "word2vec-text" if is_vector(rest.partition(b"\n")[0]) else "word2vec-bin"
    if is_vector(first):
        return "glove"
    raise ModelError(
        f"{path} does not begin as word vectors of any known format do; check the file, or name its format: "
        f"{', '.join(FORMATS)}"
    )


_SAMPLE = 1 << 20  # bytes that tell a format: more than the line of a vector


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise ModelError(f"there is no format {name!r}; choose from {', '.join(FORMATS)}")
    return FORMATS[name]


def _lost(format: Format, vectors: Vectors) -> list[str]:
    """What of the vectors, or of the model that they are part of, the format has no room for."""
    lost = []
    if isinstance(vectors, Model) and vectors.has_outputs and not format.whole:
        lost.append("output vectors")
    if len((vectors.vectors if isinstance(vectors, Model) else vectors).rows.bucket_ids) and not format.whole:
        lost.append("n-gram vectors")
    if isinstance(vectors, Model) and vectors.positional_vectors.size and not format.positions:
        lost.append("positional vectors")
    counts = vectors.vocabulary.counts
    if not format.counts and (counts != counts[0]).any():
        lost.append("word counts")
    return lost


def _some(words: list[str]) -> str:
    shown = ", ".join(repr(word) for word in words[:3])
    return f"the word {shown}" if len(words) == 1 else f"{len(words):,} words, such as {shown}"
