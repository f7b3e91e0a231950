"""word2vec's binary format: the header of its text format, then each word, a space and the bytes of its floats.

word2vec itself writes a line end after each vector, gensim does not. Both are read; files are written as by gensim.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from posvec import _kernel
from posvec.formats.files import invalid_file, open_for_writing, read_bytes
from posvec.formats.text import parse_header
from posvec.formats.validation import drop_unwritable_words, make_vectors, raise_if_not_finite
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

_LONGEST_HEADER = 64
_CHUNK = 1024  # rows copied in one task, few enough to stay in the cache until they are checked


def load_word2vec_binary(path: str | Path) -> WordVectors:
    """Load word2vec's binary format, plain or compressed."""
    path = Path(path)
    content = read_bytes(path)
    first, line_end, _ = content[:_LONGEST_HEADER].tobytes().partition(b"\n")
    if not line_end:
        raise invalid_file(path, "it does not begin with a line that gives the number of words and of features")
    count, dim = parse_header(path, first)
    words, offsets, end, error = _kernel.find_vector_records(content, len(first) + 1, count, ord(" "), 4 * dim, True)
    if error:
        raise invalid_file(path, f"word {len(words) + 1:,} of {count:,} with {dim:,} features is invalid: {error}")
    if content[end : end + 4].tobytes().strip(b"\r\n"):
        raise invalid_file(path, f"{len(content) - end:,} bytes follow its {count:,} words of {dim:,} features")
    table = np.empty((count, dim), np.float32)

    def copy(begin: int) -> int:
        end = min(begin + _CHUNK, count)
        _kernel.copy_records(content, offsets, begin, end, table)
        return _kernel.find_not_finite(table, begin, end)  # while the rows are in the cache

    raise_if_not_finite(path, map_in_order(copy, range(0, count, _CHUNK)), words)
    return make_vectors(path, words, table)


def write_word2vec_binary(path: str | Path, vectors: WordVectors, overwrite: bool = False) -> list[str]:
    """Write word2vec's binary format; words that contain spaces or line ends are omitted and returned."""
    vectors, omitted = drop_unwritable_words(vectors, " \n")
    table = vectors.table
    with open_for_writing(path, overwrite) as stream:
        stream.write(f"{len(vectors)} {table.shape[1]}\n".encode())
        for word, row in zip(vectors.vocabulary.words, table, strict=True):
            stream.write(b"%b %b" % (word.encode(), row.astype("<f4", copy=False).tobytes()))
    return omitted
