"""The vocabulary: words with their counts, ids, subsampling probabilities and negative-sampling weights."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.automatic import LEAST_MIN_COUNT
from posvec.config import Config, VocabularyConfig
from posvec.corpus.cache import cache_folder, digest_of, new_entry, publish, read_entry
from posvec.corpus.counting import count_words, no_words_error
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.corpus.tokenizers import tokenizer_version
from posvec.errors import CorpusError, ModelError
from posvec.system.atomic import replacing
from posvec.system.utf8 import decode_json

_FORMAT = "posvec vocabulary"
_VERSION = 1


class Vocabulary:
    """The words that have vectors, by descending count and then alphabetically; the index of a word is its id.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_counts({"the": 9, "dog": 5, "cat": 5, "emu": 1})
    >>> vocabulary.words, vocabulary.counts.tolist()
    (['the', 'cat', 'dog'], [9, 5, 5])
    >>> vocabulary.index["dog"], "emu" in vocabulary, len(vocabulary)
    (2, False, 3)
    """

    def __init__(
        self, words: list[str], counts: NDArray[np.int64], total_words: int, config: VocabularyConfig | None = None
    ) -> None:
        self.words = words
        self.counts = counts
        self.total_words = total_words
        """The tokens of the corpus, including those of words that were too rare to keep."""
        self.config = config or VocabularyConfig()

    @staticmethod
    def count(
        corpus: Corpus,
        config: VocabularyConfig | None = None,
        threads: int = 0,
        progress: ProgressCallback | None = None,
        cache: Path | None = None,
    ) -> Vocabulary:
        """Count the words of a corpus, or open the cached counts if that was done before.

        Parameters
        ----------
        corpus
            The text.
        config
            Which words to keep; by default, the defaults of the settings.
        threads
            How many threads to use; 0 is one per core.
        progress
            Called with the fraction that is done.
        cache
            The folder of the cache; by default :func:`posvec.corpus.cache.cache_folder`.

        Raises
        ------
        CorpusError
            If no word occurs often enough, or the text changed meanwhile.

        Examples
        --------
        >>> from posvec.corpus.sources import open_corpus
        >>> with open_corpus("corpus.txt") as corpus:
        ...     vocabulary = Vocabulary.count(corpus)
        >>> vocabulary.words[:2], vocabulary.total_words
        (['the', 'near'], 16000)
        """
        config = config or VocabularyConfig()
        text = (_VERSION, corpus.digest, tokenizer_version(corpus.tokenizer), corpus.errors)

        def path_of(min_count: int) -> Path:
            return (cache or cache_folder()) / "vocabularies" / digest_of(*text, min_count, config.max_words)

        path = path_of(config.min_count)
        # If min_count follows the corpus, the words are counted with the smallest one before it is chosen.
        for each in dict.fromkeys([path, path_of(min(config.min_count, LEAST_MIN_COUNT))]):
            cached = _cached(each)
            if cached is not None and cached.counts[0] >= config.min_count:
                if progress:
                    progress(1.0)
                return cached.limited(config)
        vocabulary = Vocabulary(*count_words(corpus, config, threads, progress), config)
        corpus.check_unchanged()
        # A cache that cannot be written is not an error here: counting again is cheap.
        with suppress(CorpusError, ModelError), new_entry(path) as temporary:
            vocabulary.save(temporary / "vocabulary.txt")
            publish(temporary, path, {"name": f"vocabulary of {corpus.name}"})
        return vocabulary

    def limited(self, config: VocabularyConfig) -> Vocabulary:
        """Return the same vocabulary with narrower limits: a higher ``min_count``, or fewer words at most.

        Examples
        --------
        >>> vocabulary = Vocabulary.from_counts({"the": 9, "dog": 5}, VocabularyConfig(min_count=2))
        >>> vocabulary.limited(VocabularyConfig(min_count=6)).words
        ['the']

        Raises
        ------
        CorpusError
            If no word is left.
        """
        kept = int(np.searchsorted(-self.counts, -config.min_count, "right"))  # counts descend
        kept = min(kept, len(self) if config.max_words is None else config.max_words)
        if not kept:
            raise no_words_error("the vocabulary", len(self), self.total_words, int(self.counts.max(initial=0)), config)
        return Vocabulary(self.words[:kept], self.counts[:kept], self.total_words, config)

    @staticmethod
    def from_counts(counts: Mapping[str, int], config: VocabularyConfig | None = None) -> Vocabulary:
        """Create a vocabulary from counts, with the same limits as if the words had been counted here.

        Parameters
        ----------
        counts
            How often each word occurs.
        config
            Which words to keep; by default, the defaults of the settings, which drop words of fewer than 5 tokens.

        Raises
        ------
        CorpusError
            If no word occurs often enough, or if counts are not integers or exceed 64 bits in total.

        Examples
        --------
        >>> Vocabulary.from_counts({"the": 9, "cat": 2}, VocabularyConfig(min_count=2))
        <Vocabulary of 2 words>
        """
        config = config or VocabularyConfig()
        try:
            "".join(counts).encode()
        except (TypeError, UnicodeEncodeError) as error:
            raise CorpusError(f"the counts contain a word that is not text: {error}; remove it") from error
        for word, count in counts.items():
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
                raise CorpusError(f"the count of {word!r:.80} is {count!r:.40}, but must be an integer of at least 0")
        exact = {word: int(count) for word, count in counts.items()}
        return _from_counts(exact, sum(exact.values()), config)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def digest(self) -> str:
        """Identifies the words and their order, which determine the ids."""
        return digest_of(*self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self):,} words>"

    def keep_probabilities(self) -> NDArray[np.float32]:
        """Return the probability that subsampling keeps a token of each word, (V,).

        The frequency of a word is relative to the tokens of the words in the vocabulary, as in word2vec, not to all
        tokens of the corpus.

        Examples
        --------
        >>> vocabulary = Vocabulary.from_counts({"the": 90, "cat": 10}, VocabularyConfig(sample=0.05))
        >>> vocabulary.keep_probabilities().round(2).tolist()
        [0.28999999165534973, 1.0]
        """
        r = self.config.sample
        if r == 0:
            return np.ones(len(self), np.float32)
        ratio: NDArray[np.float64] = r / (self.counts / self.counts.sum())
        keep = np.sqrt(ratio) + (ratio if self.config.subsampling == "word2vec" else 0)
        return np.minimum(keep, 1).astype(np.float32)

    def negative_weights(self) -> NDArray[np.float64]:
        """Return the probability that a negative example is each word, (V,): count ** exponent, normalized.

        Examples
        --------
        >>> vocabulary = Vocabulary.from_counts({"the": 9, "cat": 9, "dog": 9})
        >>> vocabulary.negative_weights().round(2).tolist()
        [0.33, 0.33, 0.33]
        """
        # Relative to the largest count, so that the power cannot overflow.
        weights: NDArray[np.float64] = (self.counts / self.counts.max()) ** self.config.negative_exponent
        weights /= weights.sum()
        return weights

    def alias_table(self) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        """Return the alias table of ``negative_weights``, from which negatives are drawn in constant time.

        Draw i uniformly from 0..V-1 and u from [0, 1): the negative is i if u < probability[i], else alias[i].

        Returns
        -------
        probability : ndarray
            (V,)
        alias : ndarray
            (V,)

        Examples
        --------
        >>> probability, alias = Vocabulary.from_counts({"the": 9, "cat": 9}).alias_table()
        >>> probability.tolist()
        [1.0, 1.0]
        """
        return _kernel.alias_table(self.negative_weights())

    def merge(self, other: Vocabulary) -> Vocabulary:
        """Return a vocabulary of the words of both, with their counts added; ids change, and no word is dropped.

        Examples
        --------
        >>> one, other = Vocabulary.from_counts({"cat": 7, "dog": 6}), Vocabulary.from_counts({"dog": 5})
        >>> merged = one.merge(other)
        >>> merged.words, merged.counts.tolist()
        (['dog', 'cat'], [11, 7])
        """
        counts = dict(zip(self.words, self.counts.tolist(), strict=True))
        for word, count in zip(other.words, other.counts.tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
        everything = dataclasses.replace(self.config, min_count=1, max_words=None)
        merged = _from_counts(counts, self.total_words + other.total_words, everything)
        merged.config = self.config
        return merged

    def save(self, path: str | Path) -> None:
        """Write a text file: a header in JSON, then a line for each word with a tab and its count.

        Raises
        ------
        ModelError
            If the file cannot be written.

        Examples
        --------
        >>> Vocabulary.from_counts({"cat": 7, "dog": 6}).save("vocabulary.txt")
        >>> Vocabulary.load("vocabulary.txt").words
        ['cat', 'dog']
        """
        with replacing(path) as stream:
            self.dump(stream)

    def dump(self, stream: IO[bytes]) -> None:
        """Write the content of :meth:`save` to an open binary file."""
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
        """Read a file that :meth:`save` wrote.

        Raises
        ------
        ModelError
            If the file is missing, unreadable or damaged.
        """
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
            # All lines at once, for speed: opening a model waits for this.
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
            raise ModelError(f"{path} is damaged: it has no words, or counts that are too large; make it again")
        if len(set(words)) != len(words) or not (counts > 0).all() or (counts[1:] > counts[:-1]).any():
            raise ModelError(f"{path} is damaged: words are repeated or not ordered by count; make it again")
        return Vocabulary(words, counts, total, config)


def _cached(path: Path) -> Vocabulary | None:
    """Return the vocabulary in an entry of the cache, or None if the entry is missing or damaged."""
    with suppress(ModelError):
        if read_entry(path) is not None:
            return Vocabulary.load(path / "vocabulary.txt")
    return None


def _from_counts(counts: dict[str, int], total_words: int, config: VocabularyConfig) -> Vocabulary:
    kept = sorted((-count, word) for word, count in counts.items() if count >= config.min_count)[: config.max_words]
    if not kept:
        raise no_words_error("the counts given", len(counts), total_words, max(counts.values(), default=0), config)
    if sum(-n for n, _ in kept) > np.iinfo(np.int64).max:
        raise CorpusError("the words occur more than 9.2e18 times, the most that 64 bits hold; divide the counts")
    return Vocabulary([word for _, word in kept], np.array([-n for n, _ in kept], np.int64), total_words, config)


_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def _unescape(word: str) -> str:
    parts = word.split("\\\\")
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r") for part in parts)


def _header(line: str, path: str | Path) -> dict[str, Any]:
    try:
        header = decode_json(line)
        known = header["format"] == _FORMAT and isinstance(header["words"], int) and isinstance(header["version"], int)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise ModelError(f"{path} is damaged or not a vocabulary of posvec; make it with posvec vocab")
    if header["version"] > _VERSION:
        raise ModelError(f"{path} was written by a newer posvec; upgrade with pip install --upgrade posvec")
    return dict(header)
