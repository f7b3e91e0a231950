"""Count and encode a corpus on a cluster: tasks process pieces of the text, and their results are merged.

The results are the same as on one machine. Encoded pieces stay in Ray's object store, which sends them to the workers
that need them, spills to disk what does not fit into memory, and recomputes what was lost with its node.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import WordCounter, WordIds
from posvec.config import VocabularyConfig
from posvec.corpus.counting import no_words_error
from posvec.corpus.encoding import Chunk, chunk_length, chunk_targets, cut_lines, encoded_digest
from posvec.corpus.lines import TextPiece, text_blocks
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import CorpusError
from posvec.system.extras import require_extra
from posvec.vocabulary import Vocabulary

_MAX_PIECE_BYTES = 32 << 20
_CACHED_SHARDS = 2  # per worker


def count(
    corpus: Corpus, config: VocabularyConfig, parallel: int, progress: ProgressCallback | None = None
) -> Vocabulary:
    """Return the vocabulary of a corpus.

    Each task counts the words of a piece; other tasks merge the counts of one part of the words each.
    """
    ray = require_extra("ray", "distributed")
    counting = ray.remote(num_returns=parallel + 1)(_count_piece)
    counted = [counting.remote(piece, corpus.errors, corpus.tokenizer, parallel) for piece in _pieces(corpus, parallel)]
    tokens = sum(_follow([parts[0] for parts in counted], progress))
    merging = ray.remote(_merge)
    merged = ray.get([merging.remote(config.min_count, *(parts[1 + i] for parts in counted)) for i in range(parallel)])
    corpus.check_unchanged()
    kept = {word: number for each in merged for word, number in zip(each.words, each.counts.tolist(), strict=True)}
    if not kept:
        distinct, highest = sum(each.distinct for each in merged), max(each.highest for each in merged)
        raise no_words_error(corpus.name, distinct, tokens, highest, config)
    vocabulary = Vocabulary.from_counts(kept, config)
    vocabulary.total_words = tokens  # including dropped words
    return vocabulary


def encode(
    corpus: Corpus, vocabulary: Vocabulary, parallel: int, progress: ProgressCallback | None = None
) -> ShardedCorpus:
    """Encode a corpus into shards in the object store."""
    ray = require_extra("ray", "distributed")
    words = ray.put(vocabulary.words)
    encoding = ray.remote(num_returns=2)(_encode_piece)
    encoded = [encoding.remote(piece, corpus.errors, corpus.tokenizer, words) for piece in _pieces(corpus, parallel)]
    sizes = np.array(_follow([size for size, _ in encoded], progress), np.int64).reshape(-1, 3)
    corpus.check_unchanged()
    filled = [i for i, (tokens, _, _) in enumerate(sizes.tolist()) if tokens]
    if not filled:
        raise CorpusError(f"there are no words in {corpus.name}; give a text that has words")
    shards, sizes = [encoded[i][1] for i in filled], sizes[filled]
    first_tokens, first_lines = (np.concatenate([[0], np.cumsum(column)]) for column in sizes.T[:2])
    tokens = int(first_tokens[-1])
    targets = chunk_targets(tokens, chunk_length(tokens)).astype(np.int64)
    finding = ray.remote(_find_starts)
    starts = ray.get(
        [
            finding.remote(shard, before, targets[(targets > before) & (targets <= end)])
            for shard, before, end in zip(shards, first_tokens.tolist(), first_tokens[1:].tolist(), strict=False)
        ]
    )
    found = [
        [lines + line, token] for lines, each in zip(first_lines.tolist(), starts, strict=False) for line, token in each
    ]
    bounds = np.unique(np.array([[0, 0], *found, [first_lines[-1], first_tokens[-1]]], np.int64), axis=0)
    return ShardedCorpus(
        shards, first_tokens, first_lines, bounds, int(sizes[:, 2].sum()), encoded_digest(corpus, vocabulary)
    )


@dataclass
class ShardedCorpus:
    """An encoded corpus in shards; each worker has a copy of this object, which refers to the shards."""

    shards: Sequence[Any]
    """References to the ids of each shard and the offsets of its lines in them."""
    first_tokens: NDArray[np.int64]
    """(shards + 1,)"""
    first_lines: NDArray[np.int64]
    bounds: NDArray[np.int64]
    """(chunks + 1, 2): the line and the token at which each chunk begins."""
    in_vocabulary: int
    digest: str
    _cache: OrderedDict[int, tuple[NDArray[np.uint32], NDArray[np.uint64]]] = field(default_factory=OrderedDict)

    @property
    def tokens(self) -> int:
        return int(self.first_tokens[-1])

    def __len__(self) -> int:
        return int(self.first_lines[-1])

    @property
    def chunks(self) -> int:
        return len(self.bounds) - 1

    def chunk(self, index: int) -> Chunk:
        """Return a chunk: a view of one shard, or a copy of lines from several."""
        (begin, token), (end, last) = self.bounds[index : index + 2].tolist()
        first = int(np.searchsorted(self.first_tokens, token, "right")) - 1
        if last <= self.first_tokens[first + 1]:
            ids, lines = self._shard(first)
            before = int(self.first_lines[first])
            return Chunk(ids, lines, begin - before, end - before, token, before)
        pieces, lengths = [], []
        for number in range(first, int(np.searchsorted(self.first_tokens, last))):
            ids, lines = self._shard(number)
            low, high = (min(max(line - int(self.first_lines[number]), 0), len(lines) - 1) for line in (begin, end))
            pieces.append(ids[int(lines[low]) : int(lines[high])])
            lengths.append(np.diff(lines[low : high + 1]))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.uint64)
        return Chunk(np.concatenate(pieces), starts, 0, end - begin, token, begin)

    def _shard(self, number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        with _LOCK:
            if number not in self._cache:
                self._cache[number] = require_extra("ray", "distributed").get(self.shards[number])
                if len(self._cache) > _CACHED_SHARDS:
                    self._cache.popitem(last=False)
            return self._cache[number]


_LOCK = threading.Lock()


@dataclass(frozen=True)
class _Counts:
    """The words of one part that are frequent enough, and what the message needs if none are."""

    words: list[str]
    counts: NDArray[np.int64]
    distinct: int
    highest: int


def _pieces(corpus: Corpus, parallel: int) -> Iterator[TextPiece]:
    """Return pieces of the text: several per process, so that none waits long for the last one."""
    return corpus.pieces(min(_MAX_PIECE_BYTES, corpus.size_hint // (4 * parallel) + 1))


def _follow(results: Sequence[Any], progress: ProgressCallback | None) -> list[Any]:
    """Wait for tasks and return their results in order; report the fraction that has finished."""
    ray = require_extra("ray", "distributed")
    waiting = list(results)
    while waiting:
        _, waiting = ray.wait(waiting, num_returns=1)
        if progress:
            progress(1 - len(waiting) / len(results))
    return list(ray.get(list(results)))


def _count_piece(piece: TextPiece, errors: str, tokenizer: str, parts: int) -> list[Any]:
    """Return the number of tokens, then the counts of words, partitioned by a hash of the word."""
    counter = WordCounter(get_tokenizer(tokenizer))
    for block in text_blocks(piece, errors):
        counter.add(block)
    words, counts = counter.most_common(1, None)
    part = np.fromiter((zlib.crc32(word.encode()) % parts for word in words), np.int64, len(words))
    split = [np.flatnonzero(part == i) for i in range(parts)]
    return [counter.tokens, *(([words[i] for i in indices.tolist()], counts[indices]) for indices in split)]


def _merge(min_count: int, *counted: tuple[list[str], NDArray[np.int64]]) -> _Counts:
    total: dict[str, int] = {}
    for words, counts in counted:
        for word, number in zip(words, counts.tolist(), strict=True):
            total[word] = total.get(word, 0) + number
    kept = [word for word, number in total.items() if number >= min_count]
    return _Counts(kept, np.array([total[word] for word in kept], np.int64), len(total), max(total.values(), default=0))


def _encode_piece(piece: TextPiece, errors: str, tokenizer: str, words: list[str]) -> tuple[Any, Any]:
    """Return the numbers of tokens, lines and tokens in the vocabulary; then the ids and the offsets of lines."""
    encode_block: Callable[[bytes], Any] = partial(WordIds(words).encode, get_tokenizer(tokenizer))
    ids, lengths, inside = [np.empty(0, np.uint32)], [np.empty(0, np.uint64)], 0
    for block in text_blocks(piece, errors):
        block_ids, block_lengths, known = encode_block(block)
        ids.append(block_ids)
        lengths.append(cut_lines(block_lengths))
        inside += known
    lines = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.uint64)
    all_ids = np.concatenate(ids)
    return (len(all_ids), len(lines) - 1, inside), (all_ids, lines)


def _find_starts(
    shard: tuple[NDArray[np.uint32], NDArray[np.uint64]], before: int, targets: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Return the line of the shard, and the token of the corpus, at which each chunk begins."""
    lines = shard[1].astype(np.int64)
    first_lines = np.searchsorted(lines, targets - before)
    return list(zip(first_lines.tolist(), (before + lines[first_lines]).tolist(), strict=True))
