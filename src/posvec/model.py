"""A model: its parameters, and the vectors and scores that follow from them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import INPUT_UNIT
from posvec.config import Config
from posvec.errors import ModelError
from posvec.heads import Head
from posvec.initializers import initialize
from posvec.query.masked import ContextWeighting, MaskedWordQueries, Prediction
from posvec.storage.calibration import Calibration
from posvec.storage.folders import Folder
from posvec.storage.quantization import Compression
from posvec.storage.records import TrainingReport, TrainingState
from posvec.storage.tables import VectorTable
from posvec.subwords import SubwordRows, build_rows
from posvec.system.arrays import FloatArray, is_padded, padded_table
from posvec.system.mapping import check_mapped
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

__all__ = ["Model", "Prediction"]


class ModelTables(NamedTuple):
    """The tables of a model that have a row for each word, by their names."""

    input_vectors: FloatArray
    output_vectors: FloatArray
    word_head: FloatArray


class Model(MaskedWordQueries):
    """A model with two heads, or one of the paper's: general, subword, positional or constrained positional.

    Train a model with :func:`posvec.train`, open a saved one with :func:`posvec.load`. The kinds differ in three
    settings only: whether words have n-grams; D', the number of positional features; and W, the number of features that
    belong to the word head.

    Attributes
    ----------
    config : Config
        All settings.
    vocabulary : Vocabulary
        The words and their counts.
    rows : SubwordRows
        Which rows of ``input_vectors`` each word is made of.
    input_vectors
        u, of shape (V + B', D - W): a row per word, then a row per n-gram bucket in use.
    output_vectors
        v, of shape (V, D).
    positional_vectors
        d, of shape (2c, D').
    report : TrainingReport or None
        How training went.
    state : TrainingState or None
        Where training stands, if it was interrupted.
    origin : Folder or None
        The folder from which the model was loaded; its tables are then mapped from the files.
    compression : Compression or None
        How the model was compressed, see :mod:`posvec.evaluation.compression`.
    word_head
        The features of u that come from words' own rows alone, of shape (V, W); W = 0 in models with one head, see
        :mod:`posvec.heads`.
    calibration : Calibration or None
        How scores become probabilities of masked words, if that was fitted; see :mod:`posvec.storage.calibration`.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> model.vectors["cat"].shape
    (32,)
    >>> [each.rank for each in model.predict_masked("the [MASK] sees the dog", topn=2)]
    [1, 2]
    """

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        rows: SubwordRows,
        input_vectors: VectorTable,
        output_vectors: VectorTable,
        positional_vectors: FloatArray,
        report: TrainingReport | None = None,
        state: TrainingState | None = None,
        origin: Folder | None = None,
        compression: Compression | None = None,
        word_head: VectorTable | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self.config = config
        self.vocabulary = vocabulary
        self.rows = rows
        self.input_vectors, self.output_vectors = input_vectors, output_vectors
        self.positional_vectors = positional_vectors
        self.report = report
        self.state = state
        self.origin = origin
        self.compression = compression
        self.calibration = calibration
        self.word_head: VectorTable = padded_table(len(vocabulary), 0) if word_head is None else word_head

    @staticmethod
    def create(config: Config, vocabulary: Vocabulary, bucket_ids: NDArray[np.uint32] | None = None) -> Model:
        """Create a model with initial values.

        Parameters
        ----------
        config
            All settings.
        vocabulary
            The words.
        bucket_ids
            The n-gram buckets of an earlier model, whose rows come first and in the same order.
        """
        model = Model.allocate(config, vocabulary, build_rows(vocabulary, config.subwords, bucket_ids))
        for number, (head, table) in enumerate(reversed(model._head_tables())):
            initialize(
                config.model.initializer,
                table,
                model.positional_vectors[:, head.positional],
                head.positional_dim,
                config.training.seed,
                config.training.threads,
                unit=INPUT_UNIT if config.training.precision == "fixed16" else 0.0,
                table=number,
            )
        return model

    @staticmethod
    def allocate(config: Config, vocabulary: Vocabulary, rows: SubwordRows) -> Model:
        """Create a model whose input and output vectors are zeros, and whose positional vectors have any values."""
        shape, word_dim, words = config.model, config.model.word_dim, len(vocabulary)
        return Model(
            config,
            vocabulary,
            rows,
            padded_table(rows.table_rows, shape.dim - word_dim),
            padded_table(words, shape.dim),
            np.empty((2 * shape.window, shape.positional_dim), np.float32),
            word_head=padded_table(words, word_dim),
        )

    def _head_tables(self) -> list[tuple[Head, FloatArray]]:
        """Return each head with the table of its input vectors."""
        tables = self.trained_tables()
        inputs = [tables.word_head, tables.input_vectors] if tables.word_head.size else [tables.input_vectors]
        return list(zip(self.config.heads, inputs, strict=True))

    def grow(self, vocabulary: Vocabulary, config: Config) -> Model:
        """Return a copy with more words, to be trained further; new rows get initial values.

        Parameters
        ----------
        vocabulary
            All words of this model, and new ones.
        config
            The settings of further training; the shape of the model must stay the same.
        """
        kept = dataclasses.replace(config.model, initializer=self.config.model.initializer)
        for before, now in ((self.config.model, kept), (self.config.subwords, config.subwords)):
            for name, value in dataclasses.asdict(before).items():
                if getattr(now, name) != value:
                    raise ModelError(
                        f"a model keeps its {name} when it is trained further: it has {value}, so leave out "
                        f"{name}={getattr(now, name)}"
                    )
        tables = self.trained_tables()
        grown = Model.create(config, vocabulary, self.rows.bucket_ids)
        new = grown.trained_tables()
        new_rows = np.array([vocabulary.index[word] for word in self.vocabulary.words])
        words, buckets = len(self.vocabulary), len(self.rows.bucket_ids)
        for new_table, table in zip(new, tables, strict=True):
            new_table[new_rows] = table[:words]
        new.input_vectors[len(vocabulary) : len(vocabulary) + buckets] = tables.input_vectors[words:]
        grown.positional_vectors[:] = self.positional_vectors
        return grown

    def trainable(self) -> Model:
        """Return this model if its tables are writable, otherwise a copy; a loaded model is mapped read-only."""
        before = self.trained_tables()
        if is_padded(before.input_vectors) and before.input_vectors.flags.writeable:
            return self
        after = ModelTables(*(padded_table(*table.shape) for table in before))
        for table, values in zip(after, before, strict=True):
            table[:] = values
        return self.with_tables(after, self.positional_vectors.copy())

    def with_tables(self, tables: ModelTables, positional_vectors: FloatArray) -> Model:
        """Return a model with the same words and settings and other vectors."""
        return Model(
            self.config,
            self.vocabulary,
            self.rows,
            tables.input_vectors,
            tables.output_vectors,
            positional_vectors,
            self.report,
            self.state,
            word_head=tables.word_head,
        )

    @property
    def has_outputs(self) -> bool:
        """Whether the model has output vectors, which predict masked words; compression can omit them."""
        return self.compression is None or not self.compression.vectors_only

    def require_outputs(self) -> None:
        """Raise ModelError if the model has no output vectors.

        Examples
        --------
        >>> import posvec
        >>> posvec.load("model").require_outputs()
        """
        if not self.has_outputs:
            raise ModelError(
                "a compressed model without output vectors predicts no words; use the one it was made from"
            )

    def setting_origin(self, name: str) -> str:
        """Return what a setting was chosen by when the model was trained; an empty string if it was not chosen.

        Examples
        --------
        >>> import posvec
        >>> posvec.train("corpus.txt", dim=32, epochs=1, threads=1).setting_origin("min_count")
        'follows the corpus'
        """
        record = self.state or self.report
        return record.before.origin(name) if record else ""

    def trained_tables(self) -> ModelTables:
        """Return the tables that are trained as float32 arrays; raise ModelError if the model is compressed."""
        tables = [getattr(self, name) for name in ModelTables._fields]
        if self.compression or not all(isinstance(table, np.ndarray) for table in tables):
            raise ModelError("a compressed model cannot be trained further; train the one that it was made from")
        for table in tables:
            check_mapped(table)
        return ModelTables(*tables)

    # ---- vectors --------------------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> WordVectors:
        """The word vectors: each is the mean of the rows of its word; with two heads see :mod:`posvec.heads`."""
        return WordVectors(
            self.vocabulary,
            self.rows,
            self.input_vectors,
            self.origin,
            self.word_head,
            word_head_outputs=self.output_vectors if self.config.model.word_dim and self.has_outputs else None,
        )

    def sentence_vector(self, sentence: str | Sequence[str], method: str = "mean", a: float = 1e-3) -> FloatArray:
        """Return the vector of a sentence, of shape (D,); see :meth:`sentence_vectors`."""
        vector: FloatArray = self.sentence_vectors([sentence], method, a)[0]
        return vector

    def sentence_vectors(
        self,
        sentences: Iterable[str | Sequence[str]],
        method: str = "mean",
        a: float = 1e-3,
        remove_component: bool = False,
        weighting: ContextWeighting = "trained",
    ) -> FloatArray:
        """Return the vectors of sentences, of shape (n, D).

        Parameters
        ----------
        sentences
            Strings or lists of words.
        method
            ``mean``, ``sif`` or ``positional``, see :mod:`posvec.query.sentences`.
        a
            The parameter of ``sif``.
        remove_component
            Subtract the first principal component of the batch.
        weighting
            For ``positional``, how context words are weighted, see :meth:`context_vector`.

        Examples
        --------
        >>> import posvec
        >>> posvec.load("model").sentence_vectors(["the cat sees the dog", "the river"]).shape
        (2, 32)
        """
        from posvec.query.sentences import sentence_vectors

        return sentence_vectors(self, sentences, method, a, remove_component, weighting)

    # ---- storage ----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Save the model as a folder: config.json, vocabulary.txt and model.safetensors.

        An existing model is replaced completely or not at all.

        Parameters
        ----------
        path
            The folder, or its address on a remote filesystem.
        overwrite
            Replace an existing model.

        Raises
        ------
        ModelError
            If the folder cannot be written, or holds a model and ``overwrite`` is false.
        """
        from posvec.storage.model_files import save_model

        save_model(self, path, overwrite)

    @staticmethod
    def load(path: str | os.PathLike[str], verify: bool = False) -> Model:
        """Open a saved model, see :func:`posvec.load`."""
        from posvec.storage.model_files import read_model

        return Model(**vars(read_model(path, verify)))

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        license: str | None = None,
        language: str | None = None,
    ) -> None:
        """Save the model with a model card for the Hugging Face hub."""
        from posvec.storage.hub import save_pretrained

        save_pretrained(self, folder, overwrite=overwrite, license=license, language=language)

    @staticmethod
    def from_pretrained(
        name: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None
    ) -> Model:
        """Open a folder, or download owner/name from the Hugging Face hub.

        Parameters
        ----------
        name
            A folder, or the name of a model on the hub, owner/name.
        revision
            A branch, tag or commit on the hub; by default the newest.
        token
            An access token, for private models.

        Returns
        -------
        Model
            The model, with its tables mapped read-only.

        Raises
        ------
        ModelError
            If there is no such model, or the hub cannot be reached.

        Examples
        --------
        >>> import posvec
        >>> posvec.Model.from_pretrained("model").config.kind
        'two-heads'
        >>> model = posvec.Model.from_pretrained("me/animals", revision="v1")  # doctest: +SKIP
        """
        from posvec.storage.hub import fetch_pretrained

        path = name if Path(name).exists() else fetch_pretrained(str(name), revision=revision, token=token)
        return Model.load(path)

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool = False,
        token: str | None = None,
        license: str | None = None,
        language: str | None = None,
    ) -> str:
        """Upload the model with a card to the Hugging Face hub as owner/name; return the address of the commit.

        The parameters are those of :func:`posvec.storage.hub.push_to_hub`.

        Examples
        --------
        >>> import posvec
        >>> posvec.load("model").push_to_hub("me/animals", license="mit")  # doctest: +SKIP
        """
        from posvec.storage.hub import push_to_hub

        return push_to_hub(self, name, private=private, token=token, license=license, language=language)

    def __repr__(self) -> str:
        shape = self.config.model
        return (
            f"<{self.config.kind} model: {len(self.vocabulary):,} words, {len(self.rows.bucket_ids):,} n-gram rows, "
            f"D={shape.dim}, " + (f"W={shape.word_dim}, " if shape.word_dim else "") + f"D'={shape.positional_dim}, "
            f"c={shape.window}" + (f", compressed: {self.compression}>" if self.compression else ">")
        )
