"""Text formats: a word and its numbers in each line.

word2vec's text and fastText's ``.vec`` begin with a header, the number of words and of features; GloVe's text does not.
All lines end in LF, or all in CR LF. The words of GloVe's 840B vectors can contain spaces, so the numbers are counted
from the end of the line.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np

from posvec import _kernel
from posvec.corpus.lines import whole_lines
from posvec.formats.files import invalid_file, open_for_writing
from posvec.formats.validation import ROWS, drop_unwritable_words, make_vectors
from posvec.system.arrays import FloatArray
from posvec.system.decompression import is_compressed
from posvec.system.files import read_bounded
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors


def load_word2vec_text(path: str | Path) -> WordVectors:
    """Load word2vec's text format, which is also fastText's ``.vec``, plain or compressed."""
    return _load(Path(path), header=True)


def load_glove(path: str | Path) -> WordVectors:
    """Load GloVe's text format, plain or compressed."""
    return _load(Path(path), header=False)


def write_word2vec_text(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write word2vec's text format, which is also fastText's ``.vec``; every number reads back as the same float.

    Words that contain white space, which other programs could not read, are omitted and returned.
    """
    vectors, omitted = drop_unwritable_words(vectors, _WHITE_SPACE)
    _write(path, vectors, overwrite, f"{len(vectors)} {vectors.table.shape[1]}\n".encode())
    return omitted


def write_glove(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write GloVe's text format; every number reads back as the same float, and words with white space are omitted."""
    # U+FEFF at the beginning of the first line would be a byte order mark.
    vectors, omitted = drop_unwritable_words(vectors, _WHITE_SPACE + "\ufeff")
    _write(path, vectors, overwrite, b"")
    return omitted


def is_header(line: bytes) -> bool:
    """Return whether a line can be the header of a file: two integers."""
    return _HEADER.fullmatch(line) is not None


def parse_header(path: Path, line: bytes) -> tuple[int, int]:
    """Return the number of words and of features that the first line of a file declares."""
    if line.startswith(_BOM):
        raise invalid_file(path, "it begins with a byte order mark, which must be removed")
    match = _HEADER.fullmatch(line)
    if match is None:
        raise invalid_file(path, "its first line is not the number of words and of features")
    count, dim = int(match[1]), int(match[2])
    if not count or not dim:
        raise invalid_file(path, f"its first line declares {count:,} words of {dim:,} features")
    return count, dim


def is_vector(line: bytes) -> bool:
    """Return whether a line is a word and at least one number."""
    return _count_numbers(line) > 0


_WHITE_SPACE = " \t\r\n"
_SEPARATORS = re.compile(rb"[ \t\r\n]+")  # not U+000B and U+000C, which words may contain
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t\r]*")


def _load(path: Path, header: bool) -> WordVectors:
    chunks = whole_lines(read_bounded(path))
    start = next(chunks, b"")
    if not start:
        raise invalid_file(path, "it is empty")
    first = start[: start.find(b"\n") + 1 or len(start)]
    crlf = first.endswith(b"\r\n")
    if header:
        count, dim = parse_header(path, first.rstrip(b"\n"))
        start = start[len(first) :]
    elif first.startswith(_BOM):
        raise invalid_file(path, "it begins with a byte order mark, which must be removed")
    else:
        count, dim = 0, _count_numbers(first)
        if not dim:
            raise invalid_file(path, "its first line is not a word and its numbers")
    words: list[str] = []
    table = _GrowingTable(dim, count if not is_compressed(path) else 0, path)
    for more, values, error in map_in_order(
        lambda chunk: _kernel.read_vector_lines(chunk, dim, crlf), chain([start], chunks)
    ):
        words += more
        table.append(values)
        if header and len(words) > count:
            raise invalid_file(path, f"it has more than the {count:,} words that its first line declares")
        if error:
            raise invalid_file(path, f"line {len(words) + 1 + header:,} {error}")
    if header and len(words) < count:
        raise invalid_file(path, f"its first line declares {count:,} words, but it has {len(words):,}")
    return make_vectors(path, words, table.finish())


def _count_numbers(line: bytes) -> int:
    """How many fields at the end of a line are numbers; the first field is always a word."""
    fields = _SEPARATORS.split(line.strip(_WHITE_SPACE.encode()))[1:]
    count = 0
    while count < len(fields) and _NUMBER.fullmatch(fields[-1 - count]):
        count += 1
    return count


_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf)", re.IGNORECASE)


class _GrowingTable:
    """Rows that arrive in chunks. The memory reserved ahead is bounded by what the size of the file allows."""

    def __init__(self, dim: int, expected: int, path: Path) -> None:
        if expected:
            expected = min(expected, path.stat().st_size // (2 * dim))  # a number takes at least two bytes
        self._table = np.empty((expected, dim), np.float32)
        self._rows = 0

    def append(self, values: FloatArray) -> None:
        chunk = values.reshape(-1, self._table.shape[1])
        needed = self._rows + len(chunk)
        if needed > len(self._table):
            # In place: for large tables the system remaps pages instead of copying bytes.
            self._table.resize((max(needed, len(self._table) * 3 // 2), self._table.shape[1]), refcheck=False)
        self._table[self._rows : needed] = chunk
        self._rows = needed

    def finish(self) -> FloatArray:
        self._table.resize((self._rows, self._table.shape[1]), refcheck=False)
        return self._table


def _write(path: str | Path, vectors: WordVectors, overwrite: bool, header: bytes) -> None:
    words, table = vectors.vocabulary.words, vectors.table

    def lines(begin: int) -> bytes:
        return _kernel.write_vector_lines(words[begin : begin + ROWS], table[begin : begin + ROWS])

    with open_for_writing(path, overwrite) as stream:
        stream.write(header)
        for chunk in map_in_order(lines, range(0, len(words), ROWS)):
            stream.write(chunk)
