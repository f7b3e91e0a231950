"""Text formats: a word and its numbers in each line.

word2vec's and fastText's ``.vec`` begin with a header, the number of words and of features; GloVe's do not. Lines end
in LF or in CR LF, all of them alike. The words of GloVe's 840B have blanks in them: numbers count from the right.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np

from posvec import _kernel
from posvec.corpus.sources import whole_lines
from posvec.formats.content import ROWS, damaged, make_vectors, writable, writing
from posvec.system.arrays import FloatArray
from posvec.system.files import is_compressed, read_bounded
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors


def load_word2vec_text(path: str | Path) -> WordVectors:
    """Read word2vec's text format, which is also fastText's ``.vec``, plain or compressed."""
    return _load(Path(path), header=True)


def load_glove(path: str | Path) -> WordVectors:
    """Read GloVe's text format, plain or compressed."""
    return _load(Path(path), header=False)


def write_word2vec_text(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write word2vec's text format, which is also fastText's ``.vec``; each number is read back as the same float.

    Words with blanks in them, which other programs could not read, are left out and returned.
    """
    vectors, left_out = writable(vectors, _BLANKS)
    _write(path, vectors, overwrite, f"{len(vectors)} {vectors.table.shape[1]}\n".encode())
    return left_out


def write_glove(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write GloVe's text format; each number is read back as the same float, words with blanks are left out."""
    vectors, left_out = writable(vectors, _BLANKS + "\ufeff")  # which would be a byte order mark in the first line
    _write(path, vectors, overwrite, b"")
    return left_out


def is_header(line: bytes) -> bool:
    """Whether a line can be the header of a file: two numbers."""
    return _HEADER.fullmatch(line) is not None


def parse_header(path: Path, line: bytes) -> tuple[int, int]:
    """The number of words and of features that the first line of a file promises."""
    if line.startswith(_BOM):
        raise damaged(path, "it begins with a byte order mark, which must be removed")
    match = _HEADER.fullmatch(line)
    if match is None:
        raise damaged(path, "its first line is not the number of words and of features")
    count, dim = int(match[1]), int(match[2])
    if not count or not dim:
        raise damaged(path, f"its first line promises {count:,} words of {dim:,} features")
    return count, dim


def is_vector(line: bytes) -> bool:
    """Whether a line is a word and at least one number."""
    return _numbers(line) > 0


_BLANKS = " \t\r\n"
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t\r]*")


def _load(path: Path, header: bool) -> WordVectors:
    chunks = whole_lines(read_bounded(path))
    start = next(chunks, b"")
    if not start:
        raise damaged(path, "it is empty")
    first = start[: start.find(b"\n") + 1 or len(start)]
    crlf = first.endswith(b"\r\n")
    if header:
        count, dim = parse_header(path, first.rstrip(b"\n"))
        start = start[len(first) :]
    elif first.startswith(_BOM):
        raise damaged(path, "it begins with a byte order mark, which must be removed")
    else:
        count, dim = 0, _numbers(first)
        if not dim:
            raise damaged(path, "its first line is not a word and its numbers")
    words: list[str] = []
    table = _GrowingTable(dim, count if not is_compressed(path) else 0, path)
    for more, values, wrong in map_in_order(
        lambda chunk: _kernel.read_vector_lines(chunk, dim, crlf), chain([start], chunks)
    ):
        words += more
        table.append(values)
        if header and len(words) > count:
            raise damaged(path, f"it has more than the {count:,} words that its first line promises")
        if wrong:
            raise damaged(path, f"line {len(words) + 1 + header:,} {wrong}")
    if header and len(words) < count:
        raise damaged(path, f"its first line promises {count:,} words, and it has {len(words):,}")
    return make_vectors(path, words, table.finish())


def _numbers(line: bytes) -> int:
    """How many fields at the end of a line are numbers, the first field apart, which is a word whatever it is."""
    fields = line.split()[1:]
    count = 0
    while count < len(fields) and _NUMBER.fullmatch(fields[-1 - count]):
        count += 1
    return count


_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf)", re.IGNORECASE)


class _GrowingTable:
    """Rows that arrive in pieces; there is room for those, and at most for as many as the file can hold."""

    def __init__(self, dim: int, expected: int, path: Path) -> None:
        if expected:
            expected = min(expected, path.stat().st_size // (2 * dim))  # a number takes two bytes at least
        self._table = np.empty((expected, dim), np.float32)
        self._rows = 0

    def append(self, values: FloatArray) -> None:
        piece = values.reshape(-1, self._table.shape[1])
        needed = self._rows + len(piece)
        if needed > len(self._table):
            # In place: the system moves the pages of large tables, not their bytes.
            self._table.resize((max(needed, len(self._table) * 3 // 2), self._table.shape[1]), refcheck=False)
        self._table[self._rows : needed] = piece
        self._rows = needed

    def finish(self) -> FloatArray:
        self._table.resize((self._rows, self._table.shape[1]), refcheck=False)
        return self._table


def _write(path: str | Path, vectors: WordVectors, overwrite: bool, header: bytes) -> None:
    words, table = vectors.vocabulary.words, vectors.table

    def lines(begin: int) -> bytes:
        return _kernel.write_vector_lines(words[begin : begin + ROWS], table[begin : begin + ROWS])

    with writing(path, overwrite) as stream:
        stream.write(header)
        for piece in map_in_order(lines, range(0, len(words), ROWS)):
            stream.write(piece)
