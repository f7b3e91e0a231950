"""Formats of named arrays: NumPy's ``.npz`` and safetensors, with the arrays ``words``, ``vectors`` and ``counts``.

In ``.npz`` the words are an array of strings. safetensors has none: there they are the bytes of a text, UTF-8, a word
in each line, and the vectors are mapped when they are opened.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import ModelError
from posvec.formats.content import check_finite, damaged, make_vectors, writable, writing
from posvec.storage.safetensors import dump_tensors, read_tensors
from posvec.system.files import reading
from posvec.vectors import WordVectors


def load_npz(path: str | Path) -> WordVectors:
    """Read what ``write_npz`` wrote, or any ``.npz`` with arrays ``words`` (V,) and ``vectors`` (V, D)."""
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
        raise damaged(path, f"it is no .npz file of NumPy ({reason})") from error
    words = arrays.get("words")
    if words is not None and words.dtype.kind != "U":
        raise damaged(path, f"its array 'words' holds {words.dtype}, not strings")
    return _vectors(path, words.tolist() if words is not None else None, arrays)


def write_npz(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write NumPy's ``.npz``, uncompressed: ``numpy.load(path)["words"]`` and ``["vectors"]``, a row for each word.

    Words with NUL in them, which NumPy cuts off, are left out and returned.
    """
    vectors, left_out = writable(vectors, "\0")
    words, table = vectors.vocabulary.words, vectors.table
    longest = max(map(len, words))
    if 4 * longest * len(words) > 4 * table.nbytes + _ROOM:
        raise ModelError(
            f"NumPy gives every word the room of the longest, and one has {longest:,} characters; choose safetensors"
        )
    with writing(path, overwrite) as stream:
        np.savez(stream, words=np.array(words), vectors=table, counts=vectors.vocabulary.counts)
    return left_out


def load_safetensors(path: str | Path) -> WordVectors:
    """Read what ``write_safetensors`` wrote, or any safetensors file with ``words`` and ``vectors`` like it."""
    path = Path(path)
    tensors, _ = read_tensors(path)
    words = tensors.get("words")
    if words is not None and words.dtype != np.uint8:
        raise damaged(path, f"its array 'words' holds {words.dtype}, not the bytes of a text")
    try:
        return _vectors(path, words.tobytes().decode().split("\n") if words is not None else None, tensors)
    except UnicodeDecodeError as error:
        raise damaged(path, "its words are not UTF-8") from error


def write_safetensors(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write safetensors: ``vectors`` (V, D), ``counts`` (V,) and ``words``, the bytes of a text, a word per line.

    Words with line ends in them are left out and returned.
    """
    vectors, left_out = writable(vectors, "\n")
    text = np.frombuffer("\n".join(vectors.vocabulary.words).encode(), np.uint8)
    arrays: dict[str, NDArray[Any]] = {"words": text, "vectors": vectors.table, "counts": vectors.vocabulary.counts}
    with writing(path, overwrite) as stream:
        dump_tensors(stream, arrays, {"format": "posvec vectors"})
    return left_out


# Bytes that the words may take in .npz, beside four times those of the vectors.
_ROOM = 64 << 20


def _read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """An array of the archive, if its header, its size and the size of the file agree: then it can be given room."""
    member = archive.getinfo(name)
    file: IO[bytes]
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in read_header:
            raise ValueError(f"{name} has version {version}")
        shape, fortran, dtype = read_header[version](file)
        if dtype.hasobject:
            raise ValueError(f"{name} holds objects of Python")
        size = int(np.prod([int(length) for length in shape], dtype=object)) * dtype.itemsize
        # Nothing that zip knows compresses to less than a 1032nd.
        if size < 0 or member.file_size - file.tell() != size or size > 1032 * member.compress_size:
            raise ValueError(f"{name} is not as long as it should be")
        content = file.read(size)
    if len(content) < size:
        raise ValueError(f"{name} ends early")
    array = np.frombuffer(content, dtype) if size else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def _vectors(path: Path, words: list[str] | None, arrays: dict[str, NDArray[Any]]) -> WordVectors:
    table, counts = arrays.get("vectors"), arrays.get("counts")
    if words is None or table is None:
        raise damaged(path, "it has no arrays named 'words' and 'vectors'")
    if table.ndim != 2 or len(table) != len(words) or not table.size or table.dtype.kind != "f":
        raise damaged(
            path, f"there should be a vector for each of {len(words):,} words, and 'vectors' is {table.shape}"
        )
    if counts is not None and (counts.shape != (len(words),) or counts.dtype.kind not in "iu"):
        raise damaged(path, f"there should be a count for each of {len(words):,} words, and 'counts' is {counts.shape}")
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, which make_vectors refuses
        table = np.asarray(table, np.float32, order="C")
    check_finite(path, table, words)
    return make_vectors(path, words, table, counts)
