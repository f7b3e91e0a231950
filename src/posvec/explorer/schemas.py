"""Responses of the API that are not results of the library themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posvec.config import SETTINGS, setting_values
from posvec.evaluation.clusters import Clusters, FeatureCluster
from posvec.explorer.loaded_models import LoadedModel
from posvec.presets import default_settings
from posvec.query.neighbors import Neighbor


@dataclass(frozen=True)
class Problem:
    """The reason why a request failed: one sentence that names the thing and the remedy."""

    error: str


@dataclass(frozen=True)
class UnknownWord:
    """The response to a question about a word that the model does not know: one sentence that says so."""

    error: str


@dataclass(frozen=True)
class ModelSummary:
    """The name, kind and size of a model."""

    name: str
    kind: str
    words: int
    dim: int
    positional_dim: int
    window: int
    subwords: bool
    tokenizer: str
    can_predict: bool
    """Whether the model predicts masked words: false if it was compressed to its word vectors alone."""

    @staticmethod
    def of(loaded: LoadedModel) -> ModelSummary:
        """Summarize a model.

        Parameters
        ----------
        loaded
            The model.

        Returns
        -------
        ModelSummary
            Its name, kind and size.

        Examples
        --------
        >>> import posvec
        >>> from posvec.explorer.loaded_models import LoadedModel
        >>> from posvec.explorer.schemas import ModelSummary
        >>> ModelSummary.of(LoadedModel("animals", posvec.load("model"))).kind
        'two-heads'
        """
        config = loaded.model.config
        return ModelSummary(
            loaded.name,
            config.kind,
            len(loaded.model.vocabulary),
            config.model.dim,
            config.model.positional_dim,
            config.model.window,
            config.subwords.subwords,
            config.text.tokenizer,
            loaded.model.has_outputs,
        )


@dataclass(frozen=True)
class SettingValue:
    """The value of a setting of a model, with the default for models of its kind, its help and what it followed."""

    name: str
    value: str | int | float | bool | None
    default: str | int | float | bool | None
    help: str
    origin: str
    """What the setting was chosen by when the model was trained; empty if it was not chosen."""


@dataclass(frozen=True)
class ModelDetails:
    """Everything about a model except its parameters."""

    summary: ModelSummary
    ngram_rows: int
    bytes: int
    """The size of all parameters."""
    settings: tuple[SettingValue, ...]
    report: dict[str, Any] | None
    """The training report: losses, words and seconds of every epoch, and totals."""
    interrupted: bool

    @staticmethod
    def of(loaded: LoadedModel) -> ModelDetails:
        """Describe a model.

        Parameters
        ----------
        loaded
            The model.

        Returns
        -------
        ModelDetails
            Its summary, sizes, settings and training report.
        """
        model = loaded.model
        values, defaults = setting_values(model.config), default_settings(model.config)
        settings = [
            SettingValue(name, values[name], defaults[name], each.help, model.setting_origin(name))
            for name, each in SETTINGS.items()
        ]
        return ModelDetails(
            ModelSummary.of(loaded),
            len(model.rows.bucket_ids),
            sum(
                table.nbytes
                for table in (model.input_vectors, model.word_head, model.output_vectors, model.positional_vectors)
            ),
            tuple(settings),
            model.report.to_dict() if model.report else None,
            model.state is not None,
        )


@dataclass(frozen=True)
class PositionalFeatures:
    """Clusters of positional features, and the weight of every feature at every position."""

    positions: tuple[int, ...]
    clusters: tuple[FeatureCluster, ...]
    silhouette: float | None
    weights: list[list[float]]
    """|d_p,j|: one list per position, one number per feature."""

    @staticmethod
    def of(clusters: Clusters) -> PositionalFeatures:
        """Convert clusters of the library, with weights rounded to five decimals.

        Parameters
        ----------
        clusters
            The clusters of a model.

        Returns
        -------
        PositionalFeatures
            The same clusters and weights as lists.
        """
        weights = [[round(weight, 5) for weight in row] for row in clusters.weights.tolist()]
        return PositionalFeatures(clusters.positions, clusters.clusters, clusters.silhouette, weights)


@dataclass(frozen=True)
class NearWord:
    """A word and its similarity to the query: a cosine, or the score of 3CosMul."""

    word: str
    similarity: float

    @staticmethod
    def list_of(neighbors: Sequence[Neighbor]) -> list[NearWord]:
        """Convert neighbours of the library.

        Parameters
        ----------
        neighbors
            The neighbours, nearest first.

        Returns
        -------
        list of NearWord
            The same words in the same order.
        """
        return [NearWord(*neighbor) for neighbor in neighbors]


@dataclass(frozen=True)
class WordPart:
    """A word's own vector or one of its n-grams, and the fraction of the word's vector that it contributes."""

    text: str
    fraction: float | None
    """Null if the model has no vector for the n-gram."""


@dataclass(frozen=True)
class WordDetails:
    """A word, its count and frequency rank, and the parts of its vector."""

    word: str
    in_vocabulary: bool
    rank: int | None
    """1 is the most frequent word."""
    count: int | None
    parts: list[WordPart]

    @staticmethod
    def of(loaded: LoadedModel, word: str) -> WordDetails:
        """Describe a word.

        Parameters
        ----------
        loaded
            The model.
        word
            The word, in the vocabulary or not.

        Returns
        -------
        WordDetails
            Its count, rank and parts.

        Raises
        ------
        UnknownWordError
            If the model has no vector for the word.

        Examples
        --------
        >>> import posvec
        >>> from posvec.explorer.loaded_models import LoadedModel
        >>> from posvec.explorer.schemas import WordDetails
        >>> details = WordDetails.of(LoadedModel("animals", posvec.load("model")), "cats")
        >>> details.in_vocabulary, details.parts[0].text
        (False, '<ca')
        """
        vectors = loaded.model.vectors
        parts = [WordPart(*part) for part in vectors.subword_contributions(word)]
        index = vectors.key_to_index.get(word)
        if index is None:
            return WordDetails(word, False, None, None, parts)
        return WordDetails(word, True, index + 1, int(vectors.vocabulary.counts[index]), parts)


@dataclass(frozen=True)
class PairSimilarity:
    """The cosine of two words, and the rank of the second among the neighbours of the first."""

    first: str
    second: str
    similarity: float
    rank: int
