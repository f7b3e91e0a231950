"""What training needs of a corpus: integers in chunks, wherever they are stored."""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

import numpy as np

from posvec.corpus.encoding import Chunk


class ChunkedCorpus(Protocol):
    """An encoded corpus that is cut into chunks: whole lines of about the same number of tokens each."""

    @property
    def digest(self) -> str: ...
    @property
    def in_vocabulary(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    def chunk(self, index: int) -> Chunk: ...
    def __len__(self) -> int: ...


def content_digest(corpus: ChunkedCorpus) -> str:
    """Return a digest of all ids and line lengths, whichever files they came from.

    It reads the corpus once, which takes about a second per gigabyte.
    """
    digest = blake2b(digest_size=16)
    for index in range(corpus.chunks):
        chunk = corpus.chunk(index)
        starts = chunk.lines[chunk.begin : chunk.end + 1]
        digest.update(np.diff(starts).tobytes())
        digest.update(chunk.ids[int(starts[0]) : int(starts[-1])].tobytes())
    return digest.hexdigest()
