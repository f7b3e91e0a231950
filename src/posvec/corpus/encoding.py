"""Lines → memory-mapped ids, once; the only reader that the trainer sees."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import WordIds
from posvec.corpus.cache import (
    CacheEntry,
    cache_entries,
    cache_folder,
    clear_cache,
    digest_of,
    new_entry,
    publish,
    read_meta,
)
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import get_tokenizer, tokenizer_version
from posvec.errors import CorpusError
from posvec.system.threads import map_in_order
from posvec.vocabulary import Vocabulary

__all__ = ["CacheEntry", "Chunk", "EncodedCorpus", "cache_entries", "clear_cache", "encode"]

# Tokens per chunk, if the corpus has many: enough that a call costs nothing, few enough that the learning rate falls
# smoothly and Ctrl-C is answered at once.
LONGEST_CHUNK = 20_000

# Bytes of a mapped file that training may leave behind in memory before they are given back: a process must not seem to
# grow with its text. The system keeps them as long as it has room, so that the next epoch reads no disk.
_LEFT_BEHIND = 1 << 24

# Words of a line at most: longer ones become several, so that a chunk is never much more than this.
_LONGEST_LINE = 100_000

_VERSION = 1
_IDS = "ids.u32"
_LINES = "lines.u64"


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus as integers, mapped from files: lines that have no token are left out, those of more than 100,000 cut.

    A line that is cut becomes several of 100,000 tokens and the rest: no window reaches over the cuts.
    """

    ids: NDArray[np.uint32]
    """(tokens,) ids; V = len(vocabulary) stands for a word outside the vocabulary, so that distances survive."""
    lines: NDArray[np.uint64]
    """(lines + 1,) where each line starts in ``ids``, and their end."""
    in_vocabulary: int
    """How many of the ids are below V."""
    digest: str
    """Identifies input, tokenizer and vocabulary."""

    @property
    def tokens(self) -> int:
        return len(self.ids)

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.lines) - 1

    @property
    def chunks(self) -> int:
        """How many chunks there are: whole lines of about as many tokens as are trained in one go."""
        return len(self._starts) - 1

    def chunk(self, index: int) -> Chunk:
        begin, end = self._starts[index : index + 2].tolist()
        before = int(self._starts[max(0, index - 1)])
        _leave_behind(self.ids, int(self.lines[before]), int(self.lines[begin]))
        _leave_behind(self.lines, before, begin)
        return Chunk(self.ids, self.lines, begin, end, int(self.lines[begin]))

    @property
    def chunk_length(self) -> int:
        """Tokens of a chunk, or the rest of a line more."""
        return chunk_length(self.tokens)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The lines at which chunks begin, and the number of lines."""
        inner = np.searchsorted(self.lines, chunk_targets(self.tokens, self.chunk_length))
        return np.unique(np.concatenate([[0], inner, [len(self)]]))


def _leave_behind(mapped: NDArray[Any], before: int, now: int) -> None:
    """Give back the pages behind an item of a mapped file, once so many have been passed since an earlier item.

    Whoever still reads there finds the same again.
    """
    first, last = (place * mapped.itemsize // _LEFT_BEHIND * _LEFT_BEHIND for place in (before, now))
    mapping = getattr(mapped, "_mmap", None)
    if last > first and isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED, first, last - first)


@dataclass(frozen=True)
class Chunk:
    """Lines ``begin`` to ``end - 1`` of some that are at hand."""

    ids: NDArray[np.uint32]
    lines: NDArray[np.uint64]
    begin: int
    end: int
    tokens_before: int
    """In the corpus."""
    first_line: int = 0
    """The number in the corpus of the first line at hand."""


def chunk_length(tokens: int) -> int:
    """Tokens of a chunk of a corpus."""
    return min(LONGEST_CHUNK, max(500, tokens // 500))


def chunk_targets(tokens: int, length: int) -> NDArray[np.uint64]:
    """The tokens of a corpus behind which the first line that begins is the first of a chunk."""
    return np.arange(length, tokens, length, dtype=np.uint64)


def cut_lines(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The tokens of each line, where a line of too many is several."""
    if not len(lengths) or lengths.max() <= _LONGEST_LINE:
        return lengths
    pieces = (lengths + np.uint64(_LONGEST_LINE - 1)) // np.uint64(_LONGEST_LINE)
    cut = np.full(int(pieces.sum()), _LONGEST_LINE, np.uint64)
    cut[np.cumsum(pieces).astype(np.intp) - 1] = lengths - (pieces - np.uint64(1)) * np.uint64(_LONGEST_LINE)
    return cut


def encoded_digest(corpus: Corpus, vocabulary: Vocabulary) -> str:
    """Identifies input, tokenizer and vocabulary."""
    return digest_of(
        _VERSION, corpus.digest, tokenizer_version(corpus.tokenizer), corpus.errors, len(vocabulary), vocabulary.digest
    )


def encode(
    corpus: Corpus,
    vocabulary: Vocabulary,
    threads: int = 0,
    progress: ProgressCallback | None = None,
    cache: Path | None = None,
) -> EncodedCorpus:
    """The ids of a corpus, from the cache if they are there, else made by ``threads`` threads and put there.

    The lines keep their order whatever the number of threads. ``cache`` is the folder to use in place of the usual one.
    """
    digest = encoded_digest(corpus, vocabulary)
    path = (cache or cache_folder()) / "encoded" / digest
    meta = read_meta(path)
    if meta is not None:
        try:
            encoded = _open(path, meta, digest)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # cleared by someone at this very moment, or not ours: make it
        else:
            if progress:
                progress(1.0)
            return encoded
    with new_entry(path) as temporary:
        meta = _write(temporary, corpus, vocabulary, threads, progress)
        # Mapped before it gets its name: from then on others may clear it away, which a mapping survives.
        encoded = _open(temporary, meta, digest)
        publish(temporary, path, {"name": corpus.name, **meta})
    return encoded


def _write(
    folder: Path, corpus: Corpus, vocabulary: Vocabulary, threads: int, progress: ProgressCallback | None
) -> dict[str, Any]:
    tokens = in_vocabulary = lines = 0
    encode_block = partial(WordIds(vocabulary.words).encode, get_tokenizer(corpus.tokenizer))
    with (folder / _IDS).open("wb", buffering=0) as ids_file, (folder / _LINES).open("wb") as lines_file:
        lines_file.write(np.zeros(1, np.uint64).tobytes())
        for ids, lengths, known in map_in_order(encode_block, corpus.blocks(progress), threads):
            lengths = cut_lines(lengths)
            _write_all(ids_file, ids)
            lines_file.write((np.cumsum(lengths, dtype=np.uint64) + np.uint64(tokens)).tobytes())
            tokens += len(ids)
            lines += len(lengths)
            in_vocabulary += known
    corpus.check_unchanged()
    if not tokens:
        raise CorpusError(f"there is no word in {corpus.name}; give a text that has words")
    return {"tokens": tokens, "lines": lines, "in_vocabulary": in_vocabulary}


def _write_all(file: Any, ids: NDArray[np.uint32]) -> None:
    left = memoryview(ids.tobytes())
    while left:  # a full disk can take a part without a word, and says so the next time
        left = left[file.write(left) :]


def _open(folder: Path, meta: dict[str, Any], digest: str) -> EncodedCorpus:
    ids = np.memmap(folder / _IDS, np.uint32, "r")
    lines = np.memmap(folder / _LINES, np.uint64, "r")
    if len(ids) != meta["tokens"] or len(lines) != meta["lines"] + 1 or lines[-1] != len(ids):
        raise ValueError("sizes do not match")
    return EncodedCorpus(ids, lines, int(meta["in_vocabulary"]), digest)
