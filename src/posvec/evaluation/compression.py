"""Smaller models: fewer words, fewer buckets of n-grams, fewer bytes for each number.

A word vector is the mean of n rows: the word's own and those of its n-grams. The rows of n-grams are chosen and coded
first. What words of the vocabulary lose by that goes into their own rows, which are coded last,

    u'_w = n' * vector_w - sum of the decoded rows of its n-grams that are left,

where n' counts what is left. So buckets that are left out change no word of the vocabulary, and of the errors of codes
only that of the word's own row remains, divided by n'. Words outside the vocabulary are made of what is left.

Buckets are kept by the length of their vector times the number of words that use them (fastText's ``quantize`` goes by
length alone): what they would be missed by.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.sources import ProgressCallback
from posvec.errors import ConfigError, ModelError, PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.results import Result, Table
from posvec.formats import load
from posvec.model import Model
from posvec.storage.folders import check_output, load_folder
from posvec.storage.quantization import CODED, AbsentTable, Compression, StackedTable, VectorTable, encode
from posvec.subwords import SubwordRows, saved_rows
from posvec.system.files import find_files
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

Files = Iterable[str | os.PathLike[str]]
METHODS = (*CODED, "prune")


@dataclass(frozen=True)
class Score:
    """A test before and after."""

    name: str
    before: float
    after: float | None
    """None if too few of the words are left to tell."""
    covered_before: float
    covered_after: float
    """The share of its questions or pairs whose words have vectors; the score is over these."""

    @property
    def change(self) -> float | None:
        return None if self.after is None else self.after - self.before


@dataclass(frozen=True)
class CompressionResult(Result):
    """What a compressed model takes, and what it lost."""

    method: str
    bytes_before: int
    bytes_after: int
    words_before: int
    words_after: int
    ngram_rows_before: int
    ngram_rows_after: int
    vectors_only: bool
    scores: tuple[Score, ...]

    def tables(self) -> list[Table]:
        times = self.bytes_before / self.bytes_after
        size = Table(
            f"Compressed by {self.method} to 1/{times:.1f}" + (", word vectors alone" if self.vectors_only else ""),
            ("", "before", "after"),
            [
                ("megabytes", self.bytes_before / 1e6, self.bytes_after / 1e6),
                ("words", self.words_before, self.words_after),
                ("n-gram rows", self.ngram_rows_before, self.ngram_rows_after),
            ],
            ".2f",
        )
        loss = Table(
            "Quality",
            ("", "before", "after", "change", "covered before", "covered after"),
            [
                (each.name, each.before, each.after, each.change, each.covered_before, each.covered_after)
                for each in self.scores
            ],
        )
        return [size, loss] if self.scores else [size]


def compress_model(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    method: str = "int8",
    *,
    words: int | None = None,
    buckets: int | None = None,
    vectors_only: bool = False,
    sub_vector: int = 2,
    seed: int = 1,
    questions: Files = (),
    pairs: Files = (),
    overwrite: bool = False,
    progress: ProgressCallback | None = None,
) -> CompressionResult:
    """Save a model, of posvec or of fastText, as a smaller one; returns both sizes, and the loss on tests if given."""
    source, target = Path(source), Path(target)
    _check(method, words, buckets, sub_vector, seed)
    if source.resolve() == target.resolve():
        raise ModelError(f"{target} is the model itself, which would be lost; choose another folder for the new one")
    check_output(target, overwrite)
    model = load(source)
    if not isinstance(model, Model):
        raise ModelError(f"{source} has word vectors alone, and a model can be compressed; name one")
    before = _tests(model, questions, pairs)  # first: what is wrong with the files is told before the long work
    compress(
        model,
        method,
        words=words,
        buckets=buckets,
        vectors_only=vectors_only,
        sub_vector=sub_vector,
        seed=seed,
        progress=progress,
    ).save(target, overwrite)
    smaller = Model.load(target)
    return CompressionResult(
        method,
        _size(source),
        _size(target),
        len(model.vocabulary),
        len(smaller.vocabulary),
        len(model.rows.bucket_ids),
        len(smaller.rows.bucket_ids),
        vectors_only,
        _compared(before, smaller, questions, pairs),
    )


def compress(
    model: Model,
    method: str = "int8",
    *,
    words: int | None = None,
    buckets: int | None = None,
    vectors_only: bool = False,
    sub_vector: int = 2,
    seed: int = 1,
    progress: ProgressCallback | None = None,
) -> Model:
    """A smaller model that answers like any other but is not trained further.

    ``method``: float16, int8 or pq (see :mod:`posvec.storage.quantization`), or prune, which leaves
    numbers as they are. With each, only the ``words`` most frequent words and the ``buckets`` most useful rows of
    n-grams are kept, if given.
    ``vectors_only`` leaves out the output vectors, without which no masked word is predicted. ``sub_vector``: numbers
    that pq has one byte for. ``seed``: of its k-means. Positional vectors, which take some kilobytes, stay as they are.
    """
    _check(method, words, buckets, sub_vector, seed)
    if model.compression:
        raise ModelError("the model is compressed already, and would lose twice; compress the one it was made from")
    if method == "pq" and sub_vector > model.config.model.dim:
        raise ConfigError(f"sub_vector is {sub_vector}, but the vectors have only {model.config.model.dim} numbers")
    vocabulary, rows, kept = _pruned(model, words, buckets)
    done, total = 0, len(kept) + (1 if vectors_only else 2) * len(vocabulary)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done / total)

    def coded(table: VectorTable, ids: NDArray[np.intp]) -> VectorTable:
        return encode(method, table, ids, advance, sub_vector, seed)

    own, ids = model.vectors.table[: len(vocabulary)], np.arange(len(vocabulary))
    input_vectors: VectorTable
    if len(kept):
        ngrams = coded(model.input_vectors, kept)
        # Zeros in place of the words' own rows: what the n-grams alone would give.
        rest = WordVectors(vocabulary, rows, StackedTable(np.zeros(own.shape, np.float32), ngrams)).table
        own = (own - rest) * np.diff(rows.row_begin).astype(np.float32)[:, None]
        stacked = StackedTable(coded(own, ids), ngrams)
        input_vectors = stacked if method in CODED else stacked[:]
    else:
        input_vectors = coded(own, ids)
    return Model(
        model.config,
        vocabulary,
        rows,
        input_vectors,
        AbsentTable(*own.shape) if vectors_only else coded(model.output_vectors, ids),
        model.positional_vectors,
        model.report,
        compression=Compression(method if method in CODED else "float32", rows.pruned, vectors_only),
    )


def _check(method: str, words: int | None, buckets: int | None, sub_vector: int, seed: int) -> None:
    if method not in METHODS:
        raise ConfigError(f"there is no method {method!r}; choose from {', '.join(METHODS)}")
    if method == "prune" and words is None and buckets is None:
        raise ConfigError("prune needs to know what to keep; give a number of words, of buckets, or both")
    for name, value, least in (("words", words, 1), ("buckets", buckets, 0), ("sub_vector", sub_vector, 1)):
        if value is not None and value < least:
            raise ConfigError(f"{name} is {value}, but must be at least {least}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}, but must be at least 0")


def _pruned(model: Model, words: int | None, buckets: int | None) -> tuple[Vocabulary, SubwordRows, NDArray[np.intp]]:
    """The words that are kept, what they are made of, and which rows of the model's table their n-grams are."""
    old = model.vocabulary
    vocabulary = Vocabulary(old.words[:words], old.counts[:words], old.total_words, old.config)
    kept = np.arange(len(model.rows.bucket_ids))
    if buckets is not None and buckets < len(kept):
        uses = np.bincount(model.rows.rows, minlength=model.rows.table_rows)[len(old) :]
        lengths = np.concatenate(
            [
                np.linalg.norm(model.input_vectors[len(old) + ids], axis=1)
                for ids in np.array_split(kept, len(kept) // 4096 + 1)
            ]
        )
        kept = np.sort(np.argsort(-lengths * uses, kind="stable")[:buckets])
    pruned = len(kept) < len(model.rows.bucket_ids)
    rows = saved_rows(vocabulary, model.config.subwords, model.rows.bucket_ids[kept], pruned)
    return vocabulary, rows, len(old) + kept


def _compared(
    before: dict[str, tuple[float, float]], model: Model, questions: Files, pairs: Files
) -> tuple[Score, ...]:
    after: dict[str, tuple[float, float]] = {}
    for tests in ((questions, ()), *(((), [file]) for path in pairs for file in find_files(Path(path)))):
        with contextlib.suppress(PosvecError):  # too few words are left; the files themselves were read before
            after |= _tests(model, *tests)
    scores = []
    for name, (score, coverage) in before.items():
        left, covered = after.get(name, (None, 0.0))
        scores.append(Score(name, score, left, coverage, covered))
    return tuple(scores)


def _tests(model: Model, questions: Files, pairs: Files) -> dict[str, tuple[float, float]]:
    """Score and coverage by the name of the test: accuracy of analogies, Spearman's correlation of similarities."""
    scores = {}
    if questions := [Path(path) for path in questions]:
        asked = analogy.evaluate(model, questions)
        scores["analogies"] = asked.accuracy, asked.coverage
    if pairs := [Path(path) for path in pairs]:
        for file in similarity.evaluate(model, pairs).files:
            scores[file.name] = file.spearman, file.coverage
    return scores


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    files = load_folder(path).files.values()
    return sum(file.stat().st_size for file in (*files, path / "config.json"))
