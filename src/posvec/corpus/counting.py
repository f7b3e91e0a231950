"""Counting the words of a corpus by several threads."""

from __future__ import annotations

from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import VocabularyConfig
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import CorpusError
from posvec.system.threads import map_in_order, thread_count


def count_words(
    corpus: Corpus, config: VocabularyConfig, threads: int, progress: ProgressCallback | None
) -> tuple[list[str], NDArray[np.int64], int]:
    """Return the words to keep with their counts, in the order of a vocabulary, and the number of all tokens."""
    tokenizer = get_tokenizer(corpus.tokenizer)
    # Each thread counts into a counter of its own, taken from this queue of unused counters.
    counters = [_kernel.WordCounter(tokenizer) for _ in range(thread_count(threads))]
    idle: SimpleQueue[_kernel.WordCounter] = SimpleQueue()
    for counter in counters:
        idle.put(counter)

    def add(block: bytes) -> None:
        counter = idle.get()
        try:
            counter.add(block)
        finally:
            idle.put(counter)

    for _ in map_in_order(add, corpus.blocks(progress), threads):
        pass
    total, *others = sorted(counters, key=lambda counter: -counter.distinct)
    while others:
        total.merge(others.pop())
    words, counts = total.most_common(config.min_count, config.max_words)
    if not words:
        highest = total.most_common(1, 1)[1]
        raise no_words_error(corpus.name, total.distinct, total.tokens, int(highest[0]) if len(highest) else 0, config)
    return words, counts, total.tokens


def no_words_error(name: str, distinct: int, tokens: int, highest: int, config: VocabularyConfig) -> CorpusError:
    """Return the error for a text in which no word occurs often enough."""
    if not tokens:
        return CorpusError(f"there are no words in {name}; give a text that has words")
    return CorpusError(
        f"no word of {name} occurs {config.min_count:,} times: it has {tokens:,} words, {distinct:,} of them distinct, "
        f"and the most frequent occurs {highest:,} times; lower min_count or give more text"
    )
