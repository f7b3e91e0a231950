"""Compression of models, and the measurement of what it loses.

:func:`compress` makes a smaller model with fewer words, fewer n-gram buckets or fewer bytes per number.
:func:`compress_model` also saves it, and compares the sizes and the scores on test sets before and after.

A word vector is the mean of n rows: the row of the word itself and the rows of its n-grams. The rows of n-grams are
pruned and quantized first. The rows of the vocabulary's words compensate for the error and are quantized last:

    u'_w = n' * vector_w - sum of the decoded rows of its remaining n-grams,

where n' is the number of remaining rows. Therefore, pruning buckets does not change the vectors of the vocabulary's
words, and only the quantization error of the word's own row, divided by n', remains. Vectors of words outside the
vocabulary are composed of the remaining buckets.

The buckets that are kept have the largest product of the length of their vector and the number of words that use them.
(``quantize`` in fastText considers only the length.)
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posvec.corpus.sources import ProgressCallback
from posvec.errors import ConfigError, ModelError, PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.results import Result, Table
from posvec.formats import load_model_or_vectors
from posvec.model import Model
from posvec.query.head_weights import meaning_features
from posvec.storage.folders import check_output, load_folder
from posvec.storage.quantization import QUANTIZATIONS, Compression, quantize
from posvec.storage.tables import AbsentTable, StackedTable, VectorTable
from posvec.subwords import SubwordRows, saved_rows
from posvec.system.arrays import IndexArray
from posvec.system.files import find_files
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

TestSetPaths = Iterable[str | os.PathLike[str]]
METHODS = (*QUANTIZATIONS, "prune")


@dataclass(frozen=True)
class ScoreChange:
    """The score on a test set before and after compression.

    Attributes
    ----------
    name
        The name of the test set.
    before, after
        The scores over the covered questions or pairs, whose words have vectors: the accuracy of analogies, or
        Spearman's correlation of similarities. ``after`` is None if too few words are left to compute it.
    covered_before, covered_after
        The fractions of questions or pairs that are covered.

    Examples
    --------
    >>> from posvec.evaluation.compression import ScoreChange
    >>> ScoreChange("pairs", before=0.75, after=0.5, covered_before=1.0, covered_after=1.0).change
    -0.25
    """

    name: str
    before: float
    after: float | None
    covered_before: float
    covered_after: float

    @property
    def change(self) -> float | None:
        """The difference of the scores."""
        return None if self.after is None else self.after - self.before


@dataclass(frozen=True)
class CompressionResult(Result):
    """The sizes and scores of a model before and after compression.

    Attributes
    ----------
    method
        "float16", "int8", "pq" or "prune".
    bytes_before, bytes_after
        The sizes of the saved models.
    words_before, words_after
        The numbers of words in the vocabulary.
    ngram_rows_before, ngram_rows_after
        The numbers of rows for n-grams.
    vectors_only
        Whether the compressed model has no output vectors.
    scores
        The scores on the test sets.

    Examples
    --------
    >>> from posvec.evaluation.compression import compress_model
    >>> result = compress_model("model", "compressed", "int8", vectors_only=True, overwrite=True)
    >>> result.method, result.words_before == result.words_after, result.vectors_only, result.scores
    ('int8', True, True, ())
    """

    method: str
    bytes_before: int
    bytes_after: int
    words_before: int
    words_after: int
    ngram_rows_before: int
    ngram_rows_after: int
    vectors_only: bool
    scores: tuple[ScoreChange, ...]

    def tables(self) -> list[Table]:
        """Return the sizes and, if there are test sets, the scores."""
        ratio = self.bytes_before / self.bytes_after
        without_outputs = ", without output vectors" if self.vectors_only else ""
        size = Table(
            f"Compressed with {self.method} to 1/{ratio:.1f} of the size{without_outputs}",
            ("", "before", "after"),
            [
                ("megabytes", self.bytes_before / 1e6, self.bytes_after / 1e6),
                ("words", self.words_before, self.words_after),
                ("n-gram rows", self.ngram_rows_before, self.ngram_rows_after),
            ],
            ".2f",
        )
        loss = Table(
            "Scores",
            ("", "before", "after", "change", "coverage before", "coverage after"),
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
    questions: TestSetPaths = (),
    pairs: TestSetPaths = (),
    overwrite: bool = False,
    progress: ProgressCallback | None = None,
) -> CompressionResult:
    """Compress a saved model and measure its size and scores before and after.

    Parameters
    ----------
    source
        A saved model of posvec, or a ``.bin`` file of fastText.
    target
        The folder of the compressed model.
    method, words, buckets, vectors_only, sub_vector, seed
        See :func:`compress`.
    questions, pairs
        Files of analogy questions and of pairs with similarity scores to measure the loss of quality.
    overwrite
        Replace a model that is already at ``target``.
    progress
        Called with the fraction of the compression that is done.

    Returns
    -------
    CompressionResult
        The sizes and scores.

    Examples
    --------
    >>> from posvec.evaluation.compression import compress_model
    >>> result = compress_model("model", "compressed", "float16", words=5, pairs=["pairs.tsv"], overwrite=True)
    >>> result.words_after, result.bytes_after < result.bytes_before, result.scores[0].name
    (5, True, 'pairs')
    """
    source, target = Path(source), Path(target)
    _check(method, words, buckets, sub_vector, seed)
    if source.resolve() == target.resolve():
        raise ModelError(f"{target} is the model to compress and would be overwritten; choose another folder")
    check_output(target, overwrite)
    model = load_model_or_vectors(source)
    if not isinstance(model, Model):
        raise ModelError(f"{source} contains only word vectors; name a model")
    before = _tests(model, questions, pairs)  # errors in the test files are reported before the long compression
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
    """Make a smaller model, which supports the same queries but cannot be trained further.

    Positional vectors are kept as they are, since they take only some kilobytes.

    Parameters
    ----------
    model
        The model.
    method
        "float16", "int8" or "pq" (product quantization) quantize the vectors, see
        :mod:`posvec.storage.quantization`. "prune" only removes words and buckets.
    words
        Keep this many of the most frequent words; None keeps all.
    buckets
        Keep this many of the most useful n-gram buckets; None keeps all.
    vectors_only
        Leave out the output vectors, so that masked words cannot be predicted.
    sub_vector
        For "pq", the number of consecutive numbers that share one byte.
    seed
        For "pq", the seed of k-means.
    progress
        Called with the fraction that is done.

    Returns
    -------
    Model
        The compressed model.

    Raises
    ------
    ConfigError
        If a setting is out of range.
    ModelError
        If the model is already compressed.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.compression import compress
    >>> model = posvec.load("model")
    >>> smaller = compress(model, "int8", words=5, vectors_only=True)
    >>> len(smaller.vocabulary), smaller.has_outputs
    (5, False)
    """
    _check(method, words, buckets, sub_vector, seed)
    if model.compression:
        raise ModelError("the model is already compressed; compress the original model instead")
    dim = min(head.dim for head in model.config.heads)
    if method == "pq" and sub_vector > dim:
        raise ConfigError(f"sub_vector is {sub_vector}, but must be at most {dim}, the dimension")
    vocabulary, rows, kept = _pruned(model, words, buckets)
    tables = len(model.config.heads) + (not vectors_only)  # with a row for each word
    done, total = 0, len(kept) + tables * len(vocabulary)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done / total)

    def quantized(table: VectorTable, ids: IndexArray) -> VectorTable:
        return quantize(method, table, ids, advance, sub_vector, seed)

    whole = WordVectors(model.vocabulary, model.rows, model.input_vectors)  # of the only head, or the spelling head
    own, ids = whole.table[: len(vocabulary)], np.arange(len(vocabulary))
    input_vectors: VectorTable
    if len(kept):
        ngrams = quantized(model.input_vectors, kept)
        # With rows of zeros for the words themselves, the word vectors are what the n-grams alone contribute.
        rest = WordVectors(vocabulary, rows, StackedTable(np.zeros(own.shape, np.float32), ngrams)).table
        own = (own - rest) * np.diff(rows.row_begin).astype(np.float32)[:, None]
        stacked = StackedTable(quantized(own, ids), ngrams)
        input_vectors = stacked if method in QUANTIZATIONS else stacked[:]
    else:
        input_vectors = quantized(own, ids)
    return Model(
        model.config,
        vocabulary,
        rows,
        input_vectors,
        AbsentTable(len(ids), model.config.model.dim) if vectors_only else quantized(model.output_vectors, ids),
        model.positional_vectors,
        model.report,
        compression=Compression(method if method in QUANTIZATIONS else "float32", rows.pruned, vectors_only),
        word_head=quantized(_word_head(model, vectors_only), ids)
        if model.config.model.word_dim
        else model.word_head[ids],
        calibration=model.calibration,
    )


def _word_head(model: Model, vectors_only: bool) -> VectorTable:
    """The features of the word head, together with those of the output vectors if these are not kept."""
    outputs = model.vectors.word_head_outputs
    if not vectors_only or outputs is None:
        return model.word_head
    words, word_dim = np.arange(len(model.vocabulary)), model.config.model.word_dim
    return meaning_features(model.word_head[words], outputs[words][:, :word_dim])


def _check(method: str, words: int | None, buckets: int | None, sub_vector: int, seed: int) -> None:
    if method not in METHODS:
        raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if method == "prune" and words is None and buckets is None:
        raise ConfigError("the method prune needs a number of words or buckets to keep; give words, buckets or both")
    for name, value, minimum in (("words", words, 1), ("buckets", buckets, 0), ("sub_vector", sub_vector, 1)):
        if value is not None and value < minimum:
            raise ConfigError(f"{name} is {value}, but must be at least {minimum}")
    if seed < 0:
        raise ConfigError(f"seed is {seed}, but must be at least 0")


def _pruned(model: Model, words: int | None, buckets: int | None) -> tuple[Vocabulary, SubwordRows, IndexArray]:
    """The vocabulary that is kept, the rows that make up its words, and the rows of n-grams in the model's table."""
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
    before: dict[str, tuple[float, float]], model: Model, questions: TestSetPaths, pairs: TestSetPaths
) -> tuple[ScoreChange, ...]:
    after: dict[str, tuple[float, float]] = {}
    for tests in ((questions, ()), *(((), [file]) for path in pairs for file in find_files(Path(path)))):
        with contextlib.suppress(PosvecError):  # too few words are left; errors in the files were raised before
            after |= _tests(model, *tests)
    scores = []
    for name, (score, coverage) in before.items():
        score_after, coverage_after = after.get(name, (None, 0.0))
        scores.append(ScoreChange(name, score, score_after, coverage, coverage_after))
    return tuple(scores)


def _tests(model: Model, questions: TestSetPaths, pairs: TestSetPaths) -> dict[str, tuple[float, float]]:
    """The score and coverage of each test set, by its name."""
    scores = {}
    if questions := [Path(path) for path in questions]:
        answered = analogy.evaluate(model, questions)
        scores["analogies"] = answered.accuracy, answered.coverage
    if pairs := [Path(path) for path in pairs]:
        for file in similarity.evaluate(model, pairs).files:
            scores[file.name] = file.spearman, file.coverage
    return scores


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    files = load_folder(path).files.values()
    return sum(file.stat().st_size for file in (*files, path / "config.json"))
