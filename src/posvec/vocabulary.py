"""Words and their counts → ids, cut-offs, keep probabilities and negative-sampling weights."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import Config, VocabularyConfig
from posvec.corpus.cache import cache_folder, digest_of, new_entry, publish, read_meta
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import get_tokenizer, tokenizer_version
from posvec.errors import CorpusError, ModelError
from posvec.system.atomic import replacing
from posvec.system.threads import map_in_order, thread_count

_FORMAT = "posvec vocabulary"
_VERSION = 1


class Vocabulary:
    """The words that get a vector, by descending count and then alphabetically; a word's place is its id."""

    def __init__(
        self, words: list[str], counts: NDArray[np.int64], total_words: int, config: VocabularyConfig | None = None
    ) -> None:
        self.words = words
        self.counts = counts
        self.total_words = total_words
        """Tokens of the corpus, those of dropped words too."""
        self.config = config or VocabularyConfig()

    @staticmethod
    def count(
        corpus: Corpus,
        config: VocabularyConfig | None = None,
        threads: int = 0,
        progress: ProgressCallback | None = None,
        cache: Path | None = None,
    ) -> Vocabulary:
        """Count the words of a corpus, or take them from the cache if that was done before."""
        config = config or VocabularyConfig()
        key = digest_of(
            _VERSION,
            corpus.digest,
            tokenizer_version(corpus.tokenizer),
            corpus.errors,
            config.min_count,
            config.max_words,
        )
        path = (cache or cache_folder()) / "vocabularies" / key
        with suppress(ModelError):
            if read_meta(path) is not None:
                vocabulary = Vocabulary.load(path / "vocabulary.txt")
                vocabulary.config = config
                if progress:
                    progress(1.0)
                return vocabulary
        vocabulary = _count(corpus, config, threads, progress)
        corpus.check_unchanged()
        # Counting again is cheap: a cache that cannot be written is no reason to stop here.
        with suppress(CorpusError, ModelError), new_entry(path) as temporary:
            vocabulary.save(temporary / "vocabulary.txt")
            publish(temporary, path, {"name": f"vocabulary of {corpus.name}"})
        return vocabulary

    @staticmethod
    def from_counts(counts: Mapping[str, int], config: VocabularyConfig | None = None) -> Vocabulary:
        """The vocabulary of words that were counted elsewhere, under the same cut-offs."""
        config = config or VocabularyConfig()
        try:
            "".join(counts).encode()
        except (TypeError, UnicodeEncodeError) as error:
            raise CorpusError(f"the counts given have a word that is not text: {error}; remove it") from error
        return _chosen(dict(counts), sum(counts.values()), config)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def digest(self) -> str:
        """Identifies the words and their order, which is what ids depend on."""
        return digest_of(*self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self):,} words>"

    def keep_probabilities(self) -> NDArray[np.float32]:
        """How often a token of each word survives subsampling, (V,).

        f is a word's share of the tokens of all *kept* words, as in word2vec; dropped words do not count.
        """
        r = self.config.sample
        if r == 0:
            return np.ones(len(self), np.float32)
        ratio: NDArray[np.float64] = r / (self.counts / self.counts.sum())
        keep = np.sqrt(ratio) + (ratio if self.config.subsampling == "word2vec" else 0)
        return np.minimum(keep, 1).astype(np.float32)

    def negative_weights(self) -> NDArray[np.float64]:
        """The probability of each word to be drawn as a negative example, (V,): count ** exponent, normalized."""
        # Relative to the largest count, so that no exponent overflows.
        weights: NDArray[np.float64] = (self.counts / self.counts.max()) ** self.config.negative_exponent
        weights /= weights.sum()
        return weights

    def alias_table(self) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        """``negative_weights`` for drawing in constant time.

        Draw i uniformly from 0..V-1 and u from [0, 1): the negative is i if u < probability[i], else alias[i].
        """
        return _kernel.alias_table(self.negative_weights())

    def merge(self, other: Vocabulary) -> Vocabulary:
        """All words of both with their counts added, in order again; ids change. No word of either is cut off."""
        counts = dict(zip(self.words, self.counts.tolist(), strict=True))
        for word, count in zip(other.words, other.counts.tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
        everything = dataclasses.replace(self.config, min_count=1, max_words=None)
        merged = _chosen(counts, self.total_words + other.total_words, everything)
        merged.config = self.config
        return merged

    def save(self, path: str | Path) -> None:
        """Write a text file: a header in JSON, then a word, a tab and its count in each line."""
        with replacing(path) as stream:
            self.dump(stream)

    def dump(self, stream: IO[bytes]) -> None:
        """Write the same to an open file."""
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "words": len(self),
            "total_words": self.total_words,
            "settings": dataclasses.asdict(self.config),
        }
        stream.write(json.dumps(header).encode() + b"\n")
        for word, count in zip(self.words, self.counts.tolist(), strict=True):
            stream.write(f"{word.translate(_ESCAPES)}\t{count}\n".encode())

    @staticmethod
    def load(path: str | Path) -> Vocabulary:
        """Read what ``save`` wrote."""
        try:
            text = Path(path).read_bytes().decode("utf-8")
        except FileNotFoundError as error:
            raise ModelError(f"there is no vocabulary {path}; check the spelling") from error
        except UnicodeDecodeError as error:
            raise ModelError(f"{path} is damaged or not a vocabulary of posvec: not UTF-8; make it again") from error
        except OSError as error:
            raise ModelError(f"cannot read the vocabulary {path}: {error.strerror}; check its permissions") from error
        first, *lines = text.split("\n")
        header = _header(first, path)
        if not lines or lines.pop() != "" or len(lines) != header["words"]:
            raise ModelError(f"{path} is damaged: it should have {header['words']:,} words; make it again")
        try:
            # All lines at once: opening a model waits for this.
            fields = "\t".join(lines).split("\t") if lines else []
            if any(line.count("\t") != 1 for line in lines):
                raise ValueError("a line is not a word, a tab and a count")
            words = [word if "\\" not in word else _unescape(word) for word in fields[::2]]
            counts = np.array(list(map(int, fields[1::2])), np.int64)
            config = Config().replace(**header["settings"]).vocabulary
            total = int(header["total_words"])
        except (ValueError, OverflowError, TypeError, KeyError) as error:
            raise ModelError(f"{path} is damaged ({error}); make it again") from error
        if not words or counts.sum(dtype=np.float64) >= 2**63:
            raise ModelError(f"{path} is damaged: it has no words, or more than can be counted; make it again")
        if len(set(words)) != len(words) or not (counts > 0).all() or (counts[1:] > counts[:-1]).any():
            raise ModelError(f"{path} is damaged: words are doubled or not ordered by count; make it again")
        return Vocabulary(words, counts, total, config)


def _count(corpus: Corpus, config: VocabularyConfig, threads: int, progress: ProgressCallback | None) -> Vocabulary:
    tokenizer = get_tokenizer(corpus.tokenizer)
    # Each thread counts for itself; a counter waits here while nobody uses it.
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
    return Vocabulary(words, counts, total.tokens, config)


def _chosen(counts: dict[str, int], total_words: int, config: VocabularyConfig) -> Vocabulary:
    kept = sorted((-count, word) for word, count in counts.items() if count >= config.min_count)[: config.max_words]
    if not kept:
        raise no_words_error("the counts given", len(counts), total_words, max(counts.values(), default=0), config)
    return Vocabulary([word for _, word in kept], np.array([-n for n, _ in kept], np.int64), total_words, config)


def no_words_error(name: str, distinct: int, tokens: int, highest: int, config: VocabularyConfig) -> CorpusError:
    """What to say where no word occurs often enough."""
    if not tokens:
        return CorpusError(f"there is no word in {name}; give a text that has words")
    return CorpusError(
        f"no word of {name} occurs {config.min_count:,} times: it has {tokens:,} words, {distinct:,} of them distinct, "
        f"and the most frequent occurs {highest:,} times; lower min_count or give more text"
    )


_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def _unescape(word: str) -> str:
    parts = word.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r") for part in parts)


def _header(line: str, path: str | Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
        known = header["format"] == _FORMAT and isinstance(header["words"], int) and isinstance(header["version"], int)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise ModelError(f"{path} is damaged or not a vocabulary of posvec; make it with posvec vocab")
    if header["version"] > _VERSION:
        raise ModelError(f"{path} was written by a newer posvec; upgrade with pip install --upgrade posvec")
    return dict(header)
