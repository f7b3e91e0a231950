"""Encoding: the text of a corpus as memory-mapped word ids, written once; training reads nothing else."""

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
    read_entry,
)
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import get_tokenizer, tokenizer_version
from posvec.errors import CorpusError
from posvec.system.checksums import ChecksumWriter
from posvec.system.threads import map_in_order
from posvec.vocabulary import Vocabulary

__all__ = ["CacheEntry", "Chunk", "EncodedCorpus", "cache_entries", "clear_cache", "encode"]

# Tokens per chunk of a large corpus: enough that the overhead of a call is negligible, and few enough that the learning
# rate falls smoothly and Ctrl-C takes effect at once.
LONGEST_CHUNK = 20_000

# Pages of a mapped file that were read are released in units of so many bytes, so that the memory of the process does
# not grow with the text. The page cache of the system keeps them while there is room, for the next epoch.
_RELEASED_BYTES = 1 << 24

# The maximum tokens of a line: a longer one becomes several lines, which bounds the size of a chunk.
_MAX_LINE_TOKENS = 100_000

_VERSION = 1
_IDS = "ids.u32"
_LINES = "lines.u64"


@dataclass(frozen=True)
class EncodedCorpus:
    """A corpus as word ids, mapped from files.

    Lines without tokens are left out. A line of more than 100,000 tokens becomes several of 100,000 and a shorter one;
    no window crosses these cuts.

    Examples
    --------
    >>> from posvec.corpus.sources import open_corpus
    >>> with open_corpus("corpus.txt") as corpus:
    ...     encoded = encode(corpus, Vocabulary.count(corpus))
    >>> encoded.tokens, len(encoded), encoded.chunks
    (16000, 2000, 32)
    """

    ids: NDArray[np.uint32]
    """(tokens,) ids; V = len(vocabulary) stands for a word outside the vocabulary, so that positions are preserved."""
    lines: NDArray[np.uint64]
    """(lines + 1,) the offset in ``ids`` at which each line starts, and the end of the last one."""
    in_vocabulary: int
    """The number of tokens that are words of the vocabulary."""
    digest: str
    """Identifies the input, the tokenizer and the vocabulary."""

    @property
    def tokens(self) -> int:
        return len(self.ids)

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.lines) - 1

    @property
    def chunks(self) -> int:
        """The number of chunks: whole lines of about ``chunk_length`` tokens, which are trained in one call."""
        return len(self._starts) - 1

    def chunk(self, index: int) -> Chunk:
        """Return a chunk, and release the memory of the chunks before it."""
        begin, end = self._starts[index : index + 2].tolist()
        before = int(self._starts[max(0, index - 1)])
        _release(self.ids, int(self.lines[before]), int(self.lines[begin]))
        _release(self.lines, before, begin)
        return Chunk(self.ids, self.lines, begin, end, int(self.lines[begin]))

    @property
    def chunk_length(self) -> int:
        """The tokens of a chunk; it also has the rest of its last line."""
        return chunk_length(self.tokens)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The lines at which chunks begin, and the number of lines."""
        inner = np.searchsorted(self.lines, chunk_targets(self.tokens, self.chunk_length))
        return np.unique(np.concatenate([[0], inner, [len(self)]]))


def _release(mapped: NDArray[Any], before: int, now: int) -> None:
    """Release the pages of a mapped file from the unit of the item ``before`` up to the unit of the item ``now``.

    A thread that still reads them reads the same content from the file again.
    """
    first, last = (item * mapped.itemsize // _RELEASED_BYTES * _RELEASED_BYTES for item in (before, now))
    mapping = getattr(mapped, "_mmap", None)
    if last > first and isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED, first, last - first)


@dataclass(frozen=True)
class Chunk:
    """The unit of training: lines ``begin`` to ``end - 1`` of ``lines``."""

    ids: NDArray[np.uint32]
    lines: NDArray[np.uint64]
    begin: int
    end: int
    tokens_before: int
    """The number of tokens of the corpus before this chunk."""
    first_line: int = 0
    """The number in the corpus of the first line in ``lines``."""


def chunk_length(tokens: int) -> int:
    """Return the tokens of a chunk of a corpus of so many tokens."""
    return min(LONGEST_CHUNK, max(500, tokens // 500))


def chunk_targets(tokens: int, length: int) -> NDArray[np.uint64]:
    """Return offsets of tokens: a chunk begins with the first line that begins at or after each of them."""
    return np.arange(length, tokens, length, dtype=np.uint64)


def cut_lines(lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Split lines of more tokens than the maximum; takes and returns the tokens of each line."""
    if not len(lengths) or lengths.max() <= _MAX_LINE_TOKENS:
        return lengths
    pieces = (lengths + np.uint64(_MAX_LINE_TOKENS - 1)) // np.uint64(_MAX_LINE_TOKENS)
    cut = np.full(int(pieces.sum()), _MAX_LINE_TOKENS, np.uint64)
    cut[np.cumsum(pieces).astype(np.intp) - 1] = lengths - (pieces - np.uint64(1)) * np.uint64(_MAX_LINE_TOKENS)
    return cut


def encoded_digest(corpus: Corpus, vocabulary: Vocabulary) -> str:
    """Return a digest that identifies the input, the tokenizer and the vocabulary."""
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
    """Convert a corpus to word ids, or open them from the cache if that was done before.

    Parameters
    ----------
    corpus
        The text.
    vocabulary
        The words that have ids.
    threads
        How many threads to use; 0 is one per core. The result does not depend on it.
    progress
        Called with the fraction that is done.
    cache
        The folder of the cache; by default :func:`posvec.corpus.cache.cache_folder`.

    Returns
    -------
    EncodedCorpus
        The ids, mapped from files of the cache.

    Raises
    ------
    CorpusError
        If there are no words in the text, it changed meanwhile, or the cache cannot be written.

    Examples
    --------
    >>> from posvec.config import VocabularyConfig
    >>> from posvec.corpus.sources import open_corpus
    >>> with open_corpus(["the cat", "the dog"]) as corpus:
    ...     vocabulary = Vocabulary.from_counts({"the": 2, "cat": 1}, VocabularyConfig(min_count=1))
    ...     encode(corpus, vocabulary).ids.tolist()
    [0, 1, 0, 2]
    """
    digest = encoded_digest(corpus, vocabulary)
    path = (cache or cache_folder()) / "encoded" / digest
    meta = read_entry(path, threads, progress)
    if meta is not None:
        try:
            encoded = _open(path, meta, digest)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # another process cleared the cache just now, or the files do not fit together: encode again
        else:
            if progress:
                progress(1.0)
            return encoded
    with new_entry(path) as temporary:
        meta, checksums = _write(temporary, corpus, vocabulary, threads, progress)
        # Mapped before it is published: from then on other processes may remove the files, which mappings survive.
        encoded = _open(temporary, meta, digest)
        publish(temporary, path, {"name": corpus.name, **meta}, checksums)
    return encoded


def _write(
    folder: Path, corpus: Corpus, vocabulary: Vocabulary, threads: int, progress: ProgressCallback | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the files of an entry; return its description and the checksums of the files."""
    tokens = in_vocabulary = lines = 0
    encode_block = partial(WordIds(vocabulary.words).encode, get_tokenizer(corpus.tokenizer))
    with ChecksumWriter(folder / _IDS) as ids_file, ChecksumWriter(folder / _LINES) as lines_file:
        lines_file.write(np.zeros(1, np.uint64).tobytes())
        for ids, lengths, known in map_in_order(encode_block, corpus.blocks(progress), threads):
            lengths = cut_lines(lengths)
            ids_file.write(ids.data)
            lines_file.write((np.cumsum(lengths, dtype=np.uint64) + np.uint64(tokens)).tobytes())
            tokens += len(ids)
            lines += len(lengths)
            in_vocabulary += known
    corpus.check_unchanged()
    if not tokens:
        raise CorpusError(f"there are no words in {corpus.name}; give a text that has words")
    meta = {"tokens": tokens, "lines": lines, "in_vocabulary": in_vocabulary}
    return meta, {_IDS: ids_file.checksum, _LINES: lines_file.checksum}


def _open(folder: Path, meta: dict[str, Any], digest: str) -> EncodedCorpus:
    ids = np.memmap(folder / _IDS, np.uint32, "r")
    lines = np.memmap(folder / _LINES, np.uint64, "r")
    if len(ids) != meta["tokens"] or len(lines) != meta["lines"] + 1 or not _are_offsets(lines, len(ids)):
        raise ValueError("the files do not fit together")
    return EncodedCorpus(ids, lines, int(meta["in_vocabulary"]), digest)


def _are_offsets(lines: NDArray[np.uint64], tokens: int) -> bool:
    """Whether lines begin at 0, end at the number of tokens, and each has at least one token and not too many."""
    if lines[0] != 0 or lines[-1] != tokens:
        return False
    step = _RELEASED_BYTES // lines.itemsize
    for begin in range(0, len(lines) - 1, step):
        lengths = np.diff(lines[begin : begin + step + 1])  # wraps around if lines are not in order
        if lengths.min() == 0 or lengths.max() > _MAX_LINE_TOKENS:
            return False
        _release(lines, begin, begin + step)
    return True
