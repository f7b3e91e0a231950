"""Detection of a file's format: by its extension for writing, by its first bytes for reading."""

from __future__ import annotations

from pathlib import Path

from posvec.errors import ModelError
from posvec.formats.fasttext import MAGIC
from posvec.formats.registry import FORMATS
from posvec.formats.text import is_header, is_vector
from posvec.system.decompression import is_compressed
from posvec.system.files import read_blocks

_SAMPLE = 1 << 20  # bytes to examine: more than the line of a vector


def format_from_extension(path: Path) -> str:
    """Return the format that a file extension stands for; a path without one is a model's folder."""
    plain = path.with_suffix("") if is_compressed(path) else path
    for name, format in FORMATS.items():
        if format.extension and plain.suffix.lower() == format.extension:
            return name
    if not path.suffix or path.is_dir():
        return "posvec"
    raise ModelError(
        f"unknown file extension {plain.suffix or path.suffix} of {path}; name a format with --format: "
        f"{', '.join(FORMATS)}"
    )


def format_from_content(path: Path) -> str:
    """Return the format of a file by its first bytes; a folder, or a missing path without extension, is a model."""
    if path.is_dir() or not (path.suffix or path.exists()):
        return "posvec"
    if path.exists() and not path.is_file():
        raise ModelError(f"{path} is not a regular file, so its format must be named: {', '.join(FORMATS)}")
    start = next(read_blocks(path, lambda read: None), b"")[:_SAMPLE]
    if start.startswith(MAGIC):
        return "fasttext-bin"
    if start.startswith(b"PK\x03\x04"):
        return "npz"
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32:
        return "safetensors"
    if path.suffix.lower() in (".npz", ".safetensors"):
        return path.suffix.lower()[1:]  # damaged; the reader of that format reports how
    first, _, rest = start.partition(b"\n")
    if is_header(first):
        return "word2vec-text" if is_vector(rest.partition(b"\n")[0]) else "word2vec-bin"
    if is_vector(first):
        return "glove"
    raise ModelError(
        f"{path} is not in a known format of word vectors; check the file, or name its format: {', '.join(FORMATS)}"
    )
