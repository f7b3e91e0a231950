"""posvec, gensim and fastText with the same settings on the same lines; only training is timed.

D = 300, 3-6-grams, 2M buckets, 10 negatives, r = 1e-5, one epoch. Tables are allocated once and initialized in every
run, because trained ones would be a different start and would overflow after many runs. The time of a call on a tiny
text is spent before training starts (seconds in gensim, which copies the vocabulary); it is subtracted from each
trainer's time.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from one_epoch import one_epoch
from posvec import Config, Model, Vocabulary, make_config
from posvec.config import TextConfig
from posvec.corpus.encoding import LONGEST_CHUNK, EncodedCorpus, encode
from posvec.corpus.sources import open_corpus
from posvec.training.loop import train

TINY = 50  # lines of a text whose training takes almost no time


class Trained(NamedTuple):
    seconds: float
    kept_tokens: float  # the number of masked words


class Trainer(Protocol):
    rows_per_token: float  # input rows of a kept token: its own and its n-grams'

    def run(self) -> Trained: ...


@dataclass(frozen=True)
class Sample:
    """Every n-th line of a tokenized text, and the vocabulary of all of it; files are made in ``folder``."""

    folder: Path
    corpus: Path
    every: int

    @cached_property
    def text(self) -> Path:
        return self.write("text.txt")

    @cached_property
    def tiny(self) -> Path:
        return _copy_lines(self.text, self.folder / "tiny.txt", TINY, 1)

    @cached_property
    def lines(self) -> int:
        with self.text.open("rb") as lines:
            return sum(1 for _ in lines)

    @cached_property
    def words(self) -> int:
        return self.encoded.tokens

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.count(_opened(self.corpus), cache=self.folder)

    @cached_property
    def encoded(self) -> EncodedCorpus:
        return self.encode(self.vocabulary)

    def encode(self, vocabulary: Vocabulary, tiny: bool = False) -> EncodedCorpus:
        part = encode(_opened(self.tiny if tiny else self.text), vocabulary, cache=self.folder)
        return PartOfText(part.ids, part.lines, part.in_vocabulary, part.digest)

    def write(self, name: str) -> Path:
        return _copy_lines(self.corpus, self.folder / name, None, self.every)


class PartOfText(EncodedCorpus):
    """A short text in chunks as long as those of a long text, because each chunk takes some constant time."""

    @property
    def chunk_length(self) -> int:
        return LONGEST_CHUNK


class PosvecTrainer:
    def __init__(self, config: Config, base: Model, sample: Sample) -> None:
        """``base`` is any model with this D, these subwords and this vocabulary; its tables are trained."""
        shape = config.model
        positional = np.ones((2 * shape.window, shape.positional_dim), np.float32)
        tables = base.trained_tables()
        self.model = Model(
            config,
            base.vocabulary,
            base.rows,
            tables.input_vectors,
            tables.output_vectors,
            positional,
            word_head=tables.word_head,
        )
        self.rows_per_token = rows_per_token(
            np.diff(base.rows.row_begin.astype(np.int64)),
            base.vocabulary.counts * base.vocabulary.keep_probabilities(),
        )
        self._text, self._tiny = sample.encode(base.vocabulary), sample.encode(base.vocabulary, tiny=True)

    def run(self) -> Trained:
        self._initialize()
        report = train(self.model, self._text)
        return Trained(report.seconds - train(self.model, self._tiny).seconds, report.masked_words)

    def _initialize(self) -> None:
        input_vectors, output_vectors = self.model.trained_tables()
        dim = input_vectors.shape[1]
        some = np.random.default_rng(1).uniform(-1 / dim, 1 / dim, (4096, dim)).astype(np.float32)
        for begin in range(0, len(input_vectors), len(some)):
            rows = input_vectors[begin : begin + len(some)]
            rows[:] = some[: len(rows)]
        output_vectors[:] = 0
        self.model.positional_vectors[:] = 1


class GensimTrainer:
    def __init__(self, kind: str, window: int, threads: int, sample: Sample) -> None:
        from gensim.models import FastText, Word2Vec

        settings: dict[str, Any] = {
            "vector_size": 300, "window": window, "min_count": 5, "sample": 1e-5, "negative": 10, "sg": 0,
            "alpha": 0.05, "workers": threads, "epochs": 1,
        }  # fmt: skip
        subwords = {"bucket": 2_000_000, "min_n": 3, "max_n": 6}
        self._model = FastText(**settings, **subwords) if kind == "subword" else Word2Vec(**settings)
        vocabulary = sample.vocabulary
        self._model.build_vocab_from_freq(
            dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)), corpus_count=sample.lines
        )
        vectors = self._model.wv
        own_rows = np.ones(len(vectors))
        ngrams = np.array([len(rows) for rows in vectors.buckets_word]) if kind == "subword" else 0
        kept = vectors.expandos["count"] * (vectors.expandos["sample_int"] / 2**32)
        self.rows_per_token = rows_per_token(own_rows + ngrams, kept)
        self._sample = sample

    def run(self) -> Trained:
        trained = self._train(self._sample.text, self._sample.lines, self._sample.words)
        return Trained(trained.seconds - self._train(self._sample.tiny, TINY, 2000).seconds, trained.kept_tokens)

    def _train(self, path: Path, lines: int, words: int) -> Trained:
        started = time.monotonic()
        kept, _ = self._model.train(corpus_file=str(path), total_words=words, total_examples=lines, epochs=1)
        return Trained(time.monotonic() - started, kept)


class FastTextTrainer:
    """fastText counts, initializes and trains in one call: an epoch takes the time of two epochs minus that of one."""

    def __init__(self, kind: str, window: int, threads: int, sample: Sample) -> None:
        import fasttext

        self._module, self._sample = fasttext, sample
        self._settings: dict[str, Any] = {
            "model": "cbow", "dim": 300, "ws": window, "neg": 10, "minCount": 5, "t": 1e-5, "lr": 0.05,
            "thread": threads, "verbose": 0, "bucket": 2_000_000, "minn": 3, "maxn": 6,
        }  # fmt: skip
        if kind == "general":
            self._settings |= {"minn": 0, "maxn": 0}
        self.rows_per_token = 0.0  # until the first run has counted words
        self._kept = 0.0

    def run(self) -> Trained:
        seconds = self._seconds(2) - self._seconds(1)
        return Trained(seconds, self._kept)

    def _seconds(self, epochs: int) -> float:
        started = time.monotonic()
        model = self._module.train_unsupervised(str(self._sample.text), epoch=epochs, **self._settings)
        seconds = time.monotonic() - started
        if not self._kept:
            self._count(model)
        return seconds

    def _count(self, model: Any) -> None:
        """Compute the kept tokens and their rows. fastText counts its vocabulary from the lines that it trains on."""
        words, counts = model.get_words(include_freq=True)
        ratio = self._settings["t"] * counts.sum() / counts
        kept = counts * np.minimum(1, np.sqrt(ratio) + ratio)
        rows = np.array([len(model.get_subwords(word)[1]) for word in words])
        self._kept, self.rows_per_token = float(kept.sum()), rows_per_token(rows, kept)


def make_trainer(
    program: str, kind: str, window: int, threads: int, sample: Sample, tables: dict[bool, Model]
) -> Trainer:
    """``tables`` caches the models, with and without subwords, whose tables posvec's trainers share."""
    if program == "gensim":
        return GensimTrainer(kind, window, threads, sample)
    if program == "fasttext":
        return FastTextTrainer(kind, window, threads, sample)
    config = make_config(kind, **one_epoch(kind), window=window, threads=threads)
    subwords = config.subwords.subwords
    if subwords not in tables:
        tables[subwords] = Model.create(config, sample.vocabulary)
    return PosvecTrainer(config, tables[subwords], sample)


def rows_per_token(rows: np.ndarray, kept: np.ndarray) -> float:
    """The mean number of rows of a kept token."""
    return float(np.average(rows, weights=kept))


def _opened(path: Path) -> Any:
    return open_corpus(path, TextConfig(tokenizer="whitespace"))


def _copy_lines(source: Path, path: Path, end: int | None, every: int) -> Path:
    with source.open("rb") as lines, path.open("wb") as part:
        part.writelines(itertools.islice(lines, 0, end, every))
    return path
