"""Importance of context words: which words speak through which cluster of positional features.

The importance of context word w according to cluster J is the mean of |u_w,j| over j in J. A word belongs to the class
of the cluster that makes it most important: J maximizes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posvec.evaluation.clusters import Clusters, find
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.exact import top_indices
from posvec.system.arrays import FloatArray


@dataclass(frozen=True)
class ContextWord:
    """A word, the cluster that maximizes its importance, and its importance according to every cluster."""

    word: str
    cluster: str
    importance: Mapping[str, float]


@dataclass(frozen=True)
class ContextWords(Result):
    """The most important context words of every class, and the words that were asked for."""

    top: Mapping[str, tuple[ContextWord, ...]]
    """Cluster → words that it maximizes, in the order asked for."""
    class_sizes: Mapping[str, int]
    """Cluster → number of words that it maximizes."""
    words: tuple[ContextWord, ...]
    """Those asked for."""

    def tables(self) -> list[Table]:
        columns = ("word", "class", *self.class_sizes)
        listed = [each for words in self.top.values() for each in words]
        sizes = ", ".join(f"{name} {size:,}" for name, size in self.class_sizes.items())
        tables = [Table(f"Top context words of each class (words in all: {sizes})", columns, _rows(listed))]
        return [Table("Words asked for", columns, _rows(self.words)), *tables] if self.words else tables


def top(
    model: Model,
    clusters: Clusters | None = None,
    topn: int = 10,
    words: Sequence[str] = (),
    restrict_vocab: int | None = None,
    order: Literal["importance", "ratio"] = "importance",
) -> ContextWords:
    """For every cluster, the ``topn`` most important of the words that it maximizes; and the classes of ``words``.

    With ``restrict_vocab`` only that many of the most frequent words are listed and counted. The order "ratio" puts
    first the words whose importance falls most from their own cluster to the next one: words with large vectors, which
    are important everywhere, do not crowd out those that are at home in one cluster.
    """
    clusters = clusters or find(model)
    table = importance(model.vectors.table[:restrict_vocab], clusters)
    classes = table.argmax(1)
    listed = {}
    for number, name in enumerate(clusters.names):
        of_class = np.flatnonzero(classes == number)
        values = table[of_class, number]
        if order == "ratio" and len(clusters) > 1:
            values = values / np.maximum(np.sort(table[of_class])[:, -2], np.finfo(np.float32).tiny)
        chosen = of_class[top_indices(values, topn)]
        listed[name] = tuple(_word(model.vocabulary.words[i], table[i], clusters) for i in chosen)
    sizes = np.bincount(classes, minlength=len(clusters))
    asked = tuple(_word(word, importance(model.vectors[word][np.newaxis], clusters)[0], clusters) for word in words)
    return ContextWords(listed, dict(zip(clusters.names, sizes.tolist(), strict=True)), asked)


def importance(vectors: FloatArray, clusters: Clusters) -> FloatArray:
    """Mean |u_w,j| over the features of each cluster: of word vectors (N, D) the table (N, clusters)."""
    columns = [np.abs(vectors[:, list(cluster.features)]).mean(1) for cluster in clusters]
    table: FloatArray = np.stack(columns, 1)
    return table


def _word(word: str, values: FloatArray, clusters: Clusters) -> ContextWord:
    importance = dict(zip(clusters.names, values.tolist(), strict=True))
    return ContextWord(word, clusters.names[int(values.argmax())], importance)


def _rows(words: Sequence[ContextWord]) -> list[tuple[object, ...]]:
    return [(each.word, each.cluster, *each.importance.values()) for each in words]
