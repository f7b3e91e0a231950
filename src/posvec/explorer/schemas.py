"""What the API answers with, where the library's own results do not say it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posvec.config import SETTINGS
from posvec.evaluation.clusters import Cluster, Clusters
from posvec.explorer.opened import OpenedModel
from posvec.query.neighbors import Neighbor


@dataclass(frozen=True)
class Problem:
    """Why a request was not answered: one sentence that names the thing and the remedy."""

    error: str


@dataclass(frozen=True)
class Unknown:
    """The answer to a question about a word that the model does not know: one sentence that says so."""

    error: str


@dataclass(frozen=True)
class ModelSummary:
    """An opened model at a glance."""

    name: str
    kind: str
    words: int
    dim: int
    positional_dim: int
    window: int
    subwords: bool
    tokenizer: str
    predicts: bool
    """Whether it can fill gaps: not if it was compressed to its word vectors alone."""

    @staticmethod
    def of(opened: OpenedModel) -> ModelSummary:
        config = opened.model.config
        return ModelSummary(
            opened.name,
            config.kind,
            len(opened.model.vocabulary),
            config.model.dim,
            config.model.positional_dim,
            config.model.window,
            config.subwords.subwords,
            config.text.tokenizer,
            opened.model.has_outputs,
        )


@dataclass(frozen=True)
class SettingValue:
    """A setting of a model."""

    name: str
    value: str | int | float | bool | None
    default: str | int | float | bool | None
    help: str


@dataclass(frozen=True)
class ModelDetails:
    """All about a model but its parameters."""

    summary: ModelSummary
    ngram_rows: int
    bytes: int
    """Of all parameters."""
    settings: tuple[SettingValue, ...]
    report: dict[str, Any] | None
    """What training said when it was over: losses, words and seconds of every epoch, and sums."""
    interrupted: bool

    @staticmethod
    def of(opened: OpenedModel) -> ModelDetails:
        model = opened.model
        settings = [
            SettingValue(each.name, getattr(getattr(model.config, each.group), each.name), each.default, each.help)
            for each in SETTINGS.values()
        ]
        return ModelDetails(
            ModelSummary.of(opened),
            len(model.rows.bucket_ids),
            model.input_vectors.nbytes + model.output_vectors.nbytes + model.positional_vectors.nbytes,
            tuple(settings),
            model.report.to_dict() if model.report else None,
            model.state is not None,
        )


@dataclass(frozen=True)
class PositionalFeatures:
    """Clusters of positional features, and the weight of every feature at every position."""

    positions: tuple[int, ...]
    clusters: tuple[Cluster, ...]
    silhouette: float | None
    weights: list[list[float]]
    """|d_p,j|: a list for each position, a number for each feature."""

    @staticmethod
    def of(found: Clusters) -> PositionalFeatures:
        weights = [[round(weight, 5) for weight in row] for row in found.weights.tolist()]
        return PositionalFeatures(found.positions, found.clusters, found.silhouette, weights)


@dataclass(frozen=True)
class NearWord:
    """A word and its similarity to what was asked for: a cosine, or the score of 3CosMul."""

    word: str
    similarity: float

    @staticmethod
    def list_of(found: Sequence[Neighbor]) -> list[NearWord]:
        return [NearWord(*each) for each in found]


@dataclass(frozen=True)
class WordPart:
    """A word's own vector or an n-gram of it, and its share of the word's vector; none if the n-gram is unknown."""

    text: str
    share: float | None


@dataclass(frozen=True)
class WordDetails:
    """A word, how often it was read, and what its vector is made of."""

    word: str
    in_vocabulary: bool
    rank: int | None
    """1 is the most frequent word."""
    count: int | None
    parts: list[WordPart]

    @staticmethod
    def of(opened: OpenedModel, word: str) -> WordDetails:
        vectors = opened.model.vectors
        parts = [WordPart(*part) for part in vectors.parts(word)]
        place = vectors.key_to_index.get(word)
        if place is None:
            return WordDetails(word, False, None, None, parts)
        return WordDetails(word, True, place + 1, int(vectors.vocabulary.counts[place]), parts)


@dataclass(frozen=True)
class PairSimilarity:
    """Two words: the cosine of their vectors, and the place of the other among the neighbours of the one."""

    one: str
    other: str
    similarity: float
    rank: int
