"""Importance of context words according to clusters of positional features.

The importance of context word w according to cluster J is the mean of |u_w,j| over j in J. A word belongs to the class
of the cluster J according to which it is most important.
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
    """The class of a context word.

    Attributes
    ----------
    word
        The word.
    cluster
        The cluster according to which the word is most important.
    importance
        The importance of the word according to each cluster.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import context_words
    >>> (cat,) = context_words.top(posvec.load("model"), words=["cat"]).words
    >>> cat.cluster == max(cat.importance, key=cat.importance.get)
    True
    """

    word: str
    cluster: str
    importance: Mapping[str, float]


@dataclass(frozen=True)
class ContextWords(Result):
    """The most important context words of each class.

    Attributes
    ----------
    top
        For each cluster, the words of its class in the requested order.
    class_sizes
        For each cluster, the number of words in its class.
    words
        The classes of the requested words.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import context_words
    >>> result = context_words.top(posvec.load("model"), topn=1)
    >>> result.top.keys() == result.class_sizes.keys(), result.words
    (True, ())
    """

    top: Mapping[str, tuple[ContextWord, ...]]
    class_sizes: Mapping[str, int]
    words: tuple[ContextWord, ...]

    def tables(self) -> list[Table]:
        """Return the requested words, if there are any, and the top words of each class."""
        columns = ("word", "class", *self.class_sizes)
        listed = [each for words in self.top.values() for each in words]
        sizes = ", ".join(f"{name} {size:,}" for name, size in self.class_sizes.items())
        tables = [Table(f"Top context words of each class (class sizes: {sizes})", columns, _rows(listed))]
        return [Table("Requested words", columns, _rows(self.words)), *tables] if self.words else tables


def top(
    model: Model,
    clusters: Clusters | None = None,
    topn: int = 10,
    words: Sequence[str] = (),
    restrict_vocab: int | None = None,
    order: Literal["importance", "ratio"] = "importance",
) -> ContextWords:
    """List the most important context words of each class, and the classes of given words.

    Parameters
    ----------
    model
        A positional or constrained model.
    clusters
        Clusters of its positional features; by default those of :func:`posvec.evaluation.clusters.find`.
    topn
        The number of words to list for each cluster.
    words
        Words whose classes are also determined.
    restrict_vocab
        List and count only this many most frequent words; None means all words.
    order
        "importance" lists the words with the greatest importance. "ratio" lists the words with the greatest ratio of
        their importance to that according to the second most important cluster, so that words with long vectors, which
        are important according to all clusters, do not dominate the list.

    Returns
    -------
    ContextWords
        The words of each class.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import context_words
    >>> model = posvec.load("model")
    >>> result = context_words.top(model, topn=2, words=["cat"])
    >>> [each.word for each in result.words]
    ['cat']
    >>> sum(result.class_sizes.values()) == len(model.vocabulary)
    True
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
    given = tuple(_word(word, importance(model.vectors[word][np.newaxis], clusters)[0], clusters) for word in words)
    return ContextWords(listed, dict(zip(clusters.names, sizes.tolist(), strict=True)), given)


def importance(vectors: FloatArray, clusters: Clusters) -> FloatArray:
    """Return the mean of |u_w,j| over the features of each cluster, (N, clusters), for word vectors (N, D).

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import clusters, context_words
    >>> model = posvec.load("model")
    >>> context_words.importance(model.vectors.table, clusters.find(model)).shape == (len(model.vocabulary), 2)
    True
    """
    columns = [np.abs(vectors[:, list(cluster.features)]).mean(1) for cluster in clusters]
    table: FloatArray = np.stack(columns, 1)
    return table


def _word(word: str, values: FloatArray, clusters: Clusters) -> ContextWord:
    importance = dict(zip(clusters.names, values.tolist(), strict=True))
    return ContextWord(word, clusters.names[int(values.argmax())], importance)


def _rows(words: Sequence[ContextWord]) -> list[tuple[object, ...]]:
    return [(each.word, each.cluster, *each.importance.values()) for each in words]
