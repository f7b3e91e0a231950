"""word2vec's binary format: a header as in its text, then each word, a blank and the bytes of its floats.

word2vec itself ends each vector with a line end, gensim does not: both are read, and the latter is written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posvec import _kernel
from posvec.formats.content import damaged, make_vectors, read_bytes, refuse_not_finite, writable, writing
from posvec.formats.text import parse_header
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

_LONGEST_HEADER = 64
# Rows copied in one piece of work, few enough for a cache.
_NEAR = 1024


def load_word2vec_binary(path: str | Path) -> WordVectors:
    """Read word2vec's binary format, plain or compressed."""
    path = Path(path)
    content = read_bytes(path)
    first, ended, _ = content[:_LONGEST_HEADER].tobytes().partition(b"\n")
    if not ended:
        raise damaged(path, "it does not begin with a line that gives the number of words and of features")
    count, dim = parse_header(path, first)
    words, places, end, wrong = _kernel.find_vector_records(content, len(first) + 1, count, ord(" "), 4 * dim, True)
    if wrong:
        raise damaged(path, f"of the {count:,} words of {dim:,} features, word {len(words) + 1:,} is wrong: {wrong}")
    if content[end : end + 4].tobytes().strip(b"\r\n"):
        raise damaged(path, f"{len(content) - end:,} bytes follow its {count:,} words of {dim:,} features")
    table = np.empty((count, dim), np.float32)

    def copy(begin: int) -> int:
        end = min(begin + _NEAR, count)
        _kernel.copy_records(content, places, begin, end, table)
        return _kernel.find_not_finite(table, begin, end)  # while they are near

    refuse_not_finite(path, map_in_order(copy, range(0, count, _NEAR)), words)
    return make_vectors(path, words, table)


def write_word2vec_binary(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write word2vec's binary format; words with blanks or line ends in them are left out and returned."""
    vectors, left_out = writable(vectors, " \n")
    table = vectors.table
    with writing(path, overwrite) as stream:
        stream.write(f"{len(vectors)} {table.shape[1]}\n".encode())
        for word, row in zip(vectors.vocabulary.words, table, strict=True):
            stream.write(b"%b %b" % (word.encode(), row.astype("<f4", copy=False).tobytes()))
    return left_out
