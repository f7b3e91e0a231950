"""Formats of named arrays: NumPy's ``.npz`` and safetensors, with the arrays ``words``, ``vectors`` and ``counts``.

In ``.npz`` the words are an array of strings. safetensors has no strings, so there the words are the bytes of a UTF-8
text with one word per line; its vectors are memory-mapped.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ModelError
from posvec.formats.files import invalid_file, open_for_writing
from posvec.formats.validation import check_finite, drop_unwritable_words, make_vectors
from posvec.storage.safetensors import dump_tensors, read_tensors
from posvec.system.files import reading
from posvec.vectors import WordVectors


def load_npz(path: str | Path) -> WordVectors:
    """Load a file of ``write_npz``, or any ``.npz`` with arrays ``words`` (V,) and ``vectors`` (V, D)."""
    path = Path(path)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            for name in ("words", "vectors", "counts"):
                if f"{name}.npy" in archive.namelist():
                    arrays[name] = _read_member(archive, f"{name}.npy")
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, MemoryError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise invalid_file(path, f"it is not a NumPy .npz file ({reason})") from error
    words = arrays.get("words")
    if words is not None and words.dtype.kind != "U":
        raise invalid_file(path, f"its array 'words' holds {words.dtype}, not strings")
    return _vectors(path, words.tolist() if words is not None else None, arrays)


def write_npz(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write an uncompressed ``.npz``: ``numpy.load(path)["words"]`` and, with a row for each word, ``["vectors"]``.

    Words that contain NUL, where NumPy would cut them, are omitted and returned.
    """
    vectors, omitted = drop_unwritable_words(vectors, "\0")
    words, table = vectors.vocabulary.words, vectors.table
    longest = max(map(len, words))
    if 4 * longest * len(words) > 4 * table.nbytes + _EXTRA_BYTES:
        raise ModelError(
            f"NumPy stores every word with the length of the longest, which has {longest:,} characters; use safetensors"
        )
    with open_for_writing(path, overwrite) as stream:
        np.savez(stream, words=np.array(words), vectors=table, counts=vectors.vocabulary.counts)
    return omitted


def load_safetensors(path: str | Path) -> WordVectors:
    """Load a file of ``write_safetensors``, or any safetensors file with ``words`` and ``vectors`` of that form."""
    path = Path(path)
    tensors, _ = read_tensors(path)
    words = tensors.get("words")
    if words is not None and words.dtype != np.uint8:
        raise invalid_file(path, f"its array 'words' holds {words.dtype}, not the bytes of a text")
    try:
        return _vectors(path, words.tobytes().decode().split("\n") if words is not None else None, tensors)
    except UnicodeDecodeError as error:
        raise invalid_file(path, "its words are not UTF-8") from error


def write_safetensors(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write safetensors: ``vectors`` (V, D), ``counts`` (V,) and ``words``, the bytes of a text with a word per line.

    Words that contain line ends are omitted and returned.
    """
    vectors, omitted = drop_unwritable_words(vectors, "\n")
    text = np.frombuffer("\n".join(vectors.vocabulary.words).encode(), np.uint8)
    arrays: dict[str, NDArray[Any]] = {"words": text, "vectors": vectors.table, "counts": vectors.vocabulary.counts}
    with open_for_writing(path, overwrite) as stream:
        dump_tensors(stream, arrays, {"format": "posvec vectors"})
    return omitted


# The words in .npz may take four times the bytes of the vectors, and these in addition.
_EXTRA_BYTES = 64 << 20


def _read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """An array of the archive; its header is checked against the size of the file before memory is allocated."""
    member = archive.getinfo(name)
    file: IO[bytes]
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in read_header:
            raise ValueError(f"{name} has version {version}")
        shape, fortran, dtype = read_header[version](file)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects")
        size = int(np.prod([int(length) for length in shape], dtype=object)) * dtype.itemsize
        # No compression of zip is stronger than 1032 to 1.
        if size < 0 or member.file_size - file.tell() != size or size > 1032 * member.compress_size:
            raise ValueError(f"{name} has the wrong length")
        content = file.read(size)
    if len(content) < size:
        raise ValueError(f"{name} ends early")
    array = np.frombuffer(content, dtype) if size else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _vectors(path: Path, words: list[str] | None, arrays: dict[str, NDArray[Any]]) -> WordVectors:
    table, counts = arrays.get("vectors"), arrays.get("counts")
    if words is None or table is None:
        raise invalid_file(path, "it has no arrays named 'words' and 'vectors'")
    if table.ndim != 2 or len(table) != len(words) or not table.size or table.dtype.kind != "f":
        raise invalid_file(
            path, f"expected a vector for each of {len(words):,} words, but 'vectors' has shape {table.shape}"
        )
    if counts is not None and (counts.shape != (len(words),) or counts.dtype.kind not in "iu"):
        raise invalid_file(
            path, f"expected a count for each of {len(words):,} words, but 'counts' has shape {counts.shape}"
        )
    with np.errstate(over="ignore"):  # values too large for float32 become infinite, which check_finite refuses
        table = np.asarray(table, np.float32, order="C")
    check_finite(path, table, words)
    return make_vectors(path, words, table, counts)
