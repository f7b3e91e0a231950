"""What all formats share: files read as one array of bytes, written in one step, compressed by their ending."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.errors import ModelError, PosvecError
from posvec.system.arrays import FloatArray
from posvec.system.atomic import replacing
from posvec.system.files import is_compressed, read_file, reading
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

# Rows of a table in one piece of work.
ROWS = 4096


def read_bytes(path: Path) -> NDArray[np.uint8]:
    """A file's bytes: mapped, not read; those of a compressed file, or of a pipe, are gathered in memory."""
    if is_compressed(path) or (path.exists() and not path.is_file()):
        return np.frombuffer(read_file(path), np.uint8)
    with reading(path), path.open("rb") as file:
        if not file.seek(0, 2):
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


@contextlib.contextmanager
def writing(path: str | Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """A stream whose bytes, compressed if the ending says so, become the file in one step at the end."""
    path = Path(path)
    if not overwrite:
        check_free(path)
    with replacing(path) as stream:
        compressor = _COMPRESSORS.get(path.suffix.lower())
        if compressor is None:
            yield stream
            return
        with compressor(stream) as compressed:
            yield compressed


def check_free(path: Path) -> None:
    """Raise ModelError if there is a file already."""
    if path.exists():
        raise ModelError(f"{path} exists already; choose another name, or pass --overwrite (overwrite=True)")


def make_vectors(
    path: Path, words: list[str], table: FloatArray, counts: NDArray[np.int64] | None = None
) -> WordVectors:
    """The vectors that a file holds, if its words are distinct."""
    try:
        return WordVectors.from_table(words, table, counts)
    except PosvecError as error:
        raise ModelError(f"{path} cannot be used: {error}") from error


def writable(vectors: WordVectors, characters: str) -> tuple[WordVectors, list[str]]:
    """The vectors of all words that are not empty and have none of the characters, and the words that are left out."""
    words, counts = vectors.vocabulary.words, vectors.vocabulary.counts
    find = re.compile(f"[{characters}\ud800-\udfff]|^$").search  # lone surrogates have no UTF-8
    bad = [i for i, word in enumerate(words) if find(word)]
    if not bad:
        return vectors, []
    keep = np.delete(np.arange(len(words)), bad)
    if not len(keep):
        raise ModelError(f"no word can be written in this format, such as {words[0]!r}; choose another format")
    kept = WordVectors.from_table([words[i] for i in keep], vectors.table[keep], counts[keep])
    return kept, [words[i] for i in bad]


def check_finite(path: Path, table: FloatArray, words: Sequence[str]) -> None:
    """Raise ModelError if a row of the table has a number that is not finite, naming its word if it has one."""

    def find(begin: int) -> int:
        return _kernel.find_not_finite(table, begin, min(begin + ROWS, len(table)))

    refuse_not_finite(path, map_in_order(find, range(0, len(table), ROWS)), words)


def refuse_not_finite(path: Path, rows: Iterable[int], words: Sequence[str]) -> None:
    """Raise ModelError for the first row that was found not to be finite; -1 where none was."""
    for row in rows:
        if row >= 0:
            name = f"of the word {words[row]!r}" if row < len(words) else f"of row {row:,}"
            raise damaged(path, f"the vector {name} has a number that is not finite")


def damaged(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path} is damaged or not in this format: {reason}; get it again, or name its format")


def _zstandard(stream: IO[bytes]) -> Any:
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(stream, closefd=False)


_COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    # No name and no time inside: the same vectors give the same bytes.
    ".gz": lambda stream: gzip.GzipFile("", "wb", 6, stream, mtime=0),
    ".bz2": lambda stream: bz2.BZ2File(stream, "wb"),
    ".xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115 (closed by its user)
    ".zst": _zstandard,
}
