"""The parameters of a model, and what follows from them: word vectors, context vectors, scores of masked words."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import ModelError, PosvecError, UnknownWordError
from posvec.initializers import initialize
from posvec.query.exact import top_indices
from posvec.storage.folders import Folder
from posvec.storage.quantization import Compression
from posvec.storage.records import TrainingReport, TrainingState
from posvec.storage.tables import VectorTable
from posvec.subwords import SubwordRows, build_rows
from posvec.system.arrays import FloatArray, is_padded, padded_table, sigmoid
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

MASK, PAD_WORD = "[MASK]", "[PAD]"


@dataclass(frozen=True)
class Prediction:
    """A word that may stand in the gap: its rank (1 is best), its score s(w, C) and sigma(score)."""

    word: str
    rank: int
    score: float
    probability: float


class Model:
    """A general, subword, positional or constrained positional model: the four differ in two settings only.

    ``input_vectors`` u (V + B', D): words, then n-gram buckets; ``output_vectors`` v (V, D); ``positional_vectors`` d
    (2c, D'). Train one with :func:`posvec.train`, open one with :func:`posvec.load`.
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
    ) -> None:
        self.config = config
        self.vocabulary = vocabulary
        self.rows = rows
        self.input_vectors, self.output_vectors = input_vectors, output_vectors
        self.positional_vectors = positional_vectors
        self.report = report
        self.state = state
        """Where training stands if it was interrupted, else None."""
        self.origin = origin
        """The folder that the model was loaded from, if it was; its tables are those of the files, then."""
        self.compression = compression
        """How the model was made smaller, if it was: see :mod:`posvec.evaluation.compression`."""

    @staticmethod
    def create(config: Config, vocabulary: Vocabulary, bucket_ids: NDArray[np.uint32] | None = None) -> Model:
        """A model with initial values. ``bucket_ids`` keeps the order of an earlier model's rows."""
        rows = build_rows(vocabulary, config.subwords, bucket_ids)
        shape = config.model
        input_vectors = padded_table(rows.table_rows, shape.dim)
        output_vectors = padded_table(len(vocabulary), shape.dim)
        positional_vectors = np.empty((2 * shape.window, shape.positional_dim), np.float32)
        initialize(
            shape.initializer,
            input_vectors,
            positional_vectors,
            shape.positional_dim,
            config.training.seed,
            config.training.threads,
        )
        return Model(config, vocabulary, rows, input_vectors, output_vectors, positional_vectors)

    def grow(self, vocabulary: Vocabulary, config: Config) -> Model:
        """A copy with more words, to be trained further: everything learnt is kept, new rows get initial values."""
        kept = dataclasses.replace(config.model, initializer=self.config.model.initializer)
        for before, now in ((self.config.model, kept), (self.config.subwords, config.subwords)):
            for name, value in dataclasses.asdict(before).items():
                if getattr(now, name) != value:
                    raise ModelError(
                        f"a model keeps its {name} when it is trained further: it has {value}, so leave out "
                        f"{name}={getattr(now, name)}"
                    )
        input_vectors, output_vectors = self.trained_tables()
        grown = Model.create(config, vocabulary, self.rows.bucket_ids)
        new_input, new_output = grown.trained_tables()
        places = np.array([vocabulary.index[word] for word in self.vocabulary.words])
        old, new, buckets = len(self.vocabulary), len(vocabulary), len(self.rows.bucket_ids)
        new_input[places] = input_vectors[:old]
        new_input[new : new + buckets] = input_vectors[old:]
        new_output[places] = output_vectors
        grown.positional_vectors[:] = self.positional_vectors
        return grown

    def trainable(self) -> Model:
        """This model if its tables can be written, else a copy in memory: a loaded model is mapped read-only."""
        before = self.trained_tables()
        if is_padded(before[0]) and before[0].flags.writeable:
            return self
        input_vectors, output_vectors = (padded_table(*table.shape) for table in before)
        input_vectors[:], output_vectors[:] = before
        positional = self.positional_vectors.copy()
        return Model(
            self.config, self.vocabulary, self.rows, input_vectors, output_vectors, positional, self.report, self.state
        )

    @property
    def has_outputs(self) -> bool:
        """Whether there are output vectors, which masked words are predicted by; compression can leave them out."""
        return self.compression is None or not self.compression.vectors_only

    def trained_tables(self) -> tuple[FloatArray, FloatArray]:
        """The input and the output vectors as training needs them; ModelError if the model is compressed."""
        tables = self.input_vectors, self.output_vectors
        if self.compression or not isinstance(tables[0], np.ndarray) or not isinstance(tables[1], np.ndarray):
            raise ModelError("a compressed model cannot be trained further; train the one that it was made from")
        return tables[0], tables[1]

    # ---- what the model knows ---------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> WordVectors:
        """The word vectors, made when first asked for: each the mean of its word's rows."""
        return WordVectors(self.vocabulary, self.rows, self.input_vectors, self.origin)

    def context_vector(self, sentence: str | Sequence[str], position: int | None = None) -> FloatArray:
        """u_C of the one [MASK] in a sentence: the mean of u_w * [d_p, 1, ..., 1] over up to c words on each side.

        A sentence without [MASK] needs the ``position`` of the word to be masked, 0 for the first one. [PAD] holds a
        position and contributes nothing; a word with no vector is passed over, as in training.
        """
        # Summed in an order that does not depend on positions, so that a model without them gives permuted
        # sentences the very same vector.
        context = sorted(self.context(sentence, position))
        total = sum((self.weighted(*each) for each in context), np.zeros(self.config.model.dim))
        return (total / len(context)).astype(np.float32)

    def context(self, sentence: str | Sequence[str], position: int | None = None) -> list[tuple[str, int]]:
        """The context words of the one [MASK] in a sentence, or of the word at ``position``, each with its position."""
        words = self.split(sentence)
        return self._context(words if position is None else _masked(words, position))

    def weighted(self, word: str, position: int) -> NDArray[np.float64]:
        """What a context word brings to u_C at its position, (D,): u_w * [d_p, 1, ..., 1]."""
        weighted: NDArray[np.float64] = self.vectors[word].astype(np.float64)
        weighted[: self.config.model.positional_dim] *= self.position(position)
        return weighted

    def sentence_vector(self, sentence: str | Sequence[str], method: str = "mean", a: float = 1e-3) -> FloatArray:
        """The vector of a sentence, by ``mean``, ``sif`` or ``positional``: see :mod:`posvec.query.sentences`."""
        vector: FloatArray = self.sentence_vectors([sentence], method, a)[0]
        return vector

    def sentence_vectors(
        self,
        sentences: Iterable[str | Sequence[str]],
        method: str = "mean",
        a: float = 1e-3,
        remove_component: bool = False,
    ) -> FloatArray:
        """The vectors of many sentences, (n, D); without what they have in common, if ``remove_component``."""
        from posvec.query.sentences import sentence_vectors

        return sentence_vectors(self, sentences, method, a, remove_component)

    def predict_masked(
        self,
        sentence: str | Sequence[str],
        topn: int = 10,
        words: Sequence[str] = (),
        features: Sequence[int] | None = None,
    ) -> list[Prediction]:
        """The best words for the [MASK] of a sentence by s(w, C) = u_C . v_w, or the ranks of the ``words`` given.

        With ``features``, these alone enter the score.
        """
        context_vector = self.context_vector(sentence)
        if features is None:
            scores = self.output_vectors @ context_vector
        else:
            scores = self.output_vectors[:, list(features)] @ context_vector[list(features)]
        chosen = np.array([self.masked_id(word) for word in words]) if words else top_indices(scores, topn)
        return [
            Prediction(
                self.vocabulary.words[i],
                1 + int((scores > scores[i]).sum()) + (int((scores[:i] == scores[i]).sum())),
                float(scores[i]),
                float(sigmoid(float(scores[i]))),
            )
            for i in chosen.tolist()
        ]

    def masked_id(self, word: str) -> int:
        """The row of a word in the output vectors; only words of the vocabulary have one."""
        if word not in self.vocabulary:
            raise UnknownWordError(f"the model cannot predict {word}: not in its vocabulary; try a more frequent word")
        return self.vocabulary.index[word]

    @property
    def positions(self) -> list[int]:
        """-c..-1, 1..c, in the order of the rows of the positional vectors."""
        window = self.config.model.window
        return [*range(-window, 0), *range(1, window + 1)]

    def position(self, position: int) -> FloatArray:
        """d_p, (D',), for p in -c..-1, 1..c."""
        window = self.config.model.window
        row = position + window if position < 0 else position + window - 1
        vector: FloatArray = self.positional_vectors[row]
        return vector

    def position_importance(self) -> dict[int, float]:
        """The l2 norm of d_p for every position p, min-max scaled to 0..1."""
        self.check_positional()
        norms = np.linalg.norm(self.positional_vectors, axis=1)
        span = norms.max() - norms.min()
        scaled = (norms - norms.min()) / (span if span > 0 else 1)
        return dict(zip(self.positions, scaled.tolist(), strict=True))

    def check_positional(self) -> None:
        """Raises if there are no positional vectors."""
        if self.config.model.positional_dim == 0:
            raise PosvecError(
                f"a {self.config.kind} model has no positional vectors; train a positional or constrained model"
            )

    def split(self, sentence: str | Sequence[str]) -> list[str]:
        """The words of a sentence as the model's tokenizer finds them, with [MASK] and [PAD]; a list stays as it is."""
        if not isinstance(sentence, str):
            for word in sentence if isinstance(sentence, Iterable) else [sentence]:
                if not isinstance(word, str):
                    raise PosvecError(f"a sentence is a string or a list of words, and {word!r} is neither")
            return list(sentence)
        tokenizer = get_tokenizer(self.config.text.tokenizer)
        words: list[str] = []
        for part in re.split(r"(\[MASK\]|\[PAD\])", sentence):
            words += (
                [part] if part in (MASK, PAD_WORD) else [w for line in tokenizer.split(part.encode()) for w in line]
            )
        return words

    def places(self, words: Sequence[str]) -> list[str]:
        """The words that positions are counted by: as in training, all of them or those that have a vector."""
        if self.config.training.positions != "kept":
            return list(words)
        return [word for word in words if word in (MASK, PAD_WORD) or self.has_vector(word)]

    def has_vector(self, word: str) -> bool:
        """Whether a word of a sentence has a vector; [MASK] and [PAD] have none."""
        return word not in (MASK, PAD_WORD) and self.vectors.has_vector(word)

    def _context(self, words: list[str]) -> list[tuple[str, int]]:
        """The context words of the gap, each with its position."""
        if words.count(MASK) != 1:
            raise PosvecError(
                f"a sentence needs exactly one {MASK} where the word is to be predicted, not {words.count(MASK)}"
            )
        words = self.places(words)
        gap, window = words.index(MASK), self.config.model.window
        context = [
            (word, place - gap)
            for place, word in enumerate(words)
            if 0 < abs(place - gap) <= window and self.has_vector(word)
        ]
        if not context:
            raise UnknownWordError(
                "no word of the sentence near its [MASK] has a vector in this model; use other words"
            )
        return context

    # ---- storage ----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Save as a folder: config.json, vocabulary.txt and model.safetensors, replaced as one or not at all."""
        from posvec.storage.model_files import save_model

        save_model(self, path, overwrite)

    @staticmethod
    def load(path: str | os.PathLike[str], verify: bool = False) -> Model:
        """Open a saved model. The tables are mapped from the file, not read; ``verify`` checks every byte of them."""
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
        """Save with a model card, as the Hugging Face hub has it: :mod:`posvec.storage.hub`."""
        from posvec.storage.hub import save_pretrained

        save_pretrained(self, folder, overwrite=overwrite, license=license, language=language)

    @staticmethod
    def from_pretrained(
        name: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None
    ) -> Model:
        """Open a folder, or fetch owner/name from the Hugging Face hub."""
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
        """Upload to the Hugging Face hub as owner/name, with a card; returns the address of the commit."""
        from posvec.storage.hub import push_to_hub

        return push_to_hub(self, name, private=private, token=token, license=license, language=language)

    def __repr__(self) -> str:
        shape = self.config.model
        return (
            f"<{self.config.kind} model: {len(self.vocabulary):,} words, {len(self.rows.bucket_ids):,} n-gram rows, "
            f"D={shape.dim}, D'={shape.positional_dim}, c={shape.window}"
            + (f", compressed: {self.compression}>" if self.compression else ">")
        )


def _masked(words: list[str], position: int) -> list[str]:
    if MASK in words:
        raise PosvecError(f"the sentence has its {MASK} already; leave out the position, or the {MASK}")
    if not 0 <= position < len(words):
        raise PosvecError(
            f"position {position} is not in the sentence, which has {len(words)} words; the first has position 0"
        )
    return [*words[:position], MASK, *words[position + 1 :]]
