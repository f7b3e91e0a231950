"""Importance of context words according to clusters of positional features.

The importance of context word w according to cluster J is the mean of |u_w,j| over j in J, where u_w is the word's
vector, the mean of its rows. A word belongs to the class of the cluster J according to which it is most important; how
often its rows count in a context vector (see :mod:`posvec.query.masked`) does not change its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posvec.errors import ConfigError
from posvec.evaluation.clusters import Clusters, find
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.exact import top_indices
from posvec.query.lookup import not_finite_error
from posvec.query.parsing import parse_integer
from posvec.system.arrays import FloatArray

_ROWS = 1 << 14  # words whose importance is computed at a time, so that the table is never copied as a whole


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
    topn = parse_integer("topn", topn, 0)
    if order not in ("importance", "ratio"):
        raise ConfigError(f"order must be importance or ratio, not {order!r}")
    if restrict_vocab is not None:
        restrict_vocab = min(parse_integer("restrict_vocab", restrict_vocab, 1), len(model.vocabulary))
    clusters = clusters or find(model)
    table = importance(model.vectors.unweighted.table[:restrict_vocab], clusters, model.vocabulary.words)
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
    given = tuple(
        _word(word, importance(model.vectors.unweighted[word][np.newaxis], clusters, [word])[0], clusters)
        for word in words
    )
    return ContextWords(listed, dict(zip(clusters.names, sizes.tolist(), strict=True)), given)


def importance(vectors: FloatArray, clusters: Clusters, words: Sequence[str] = ()) -> FloatArray:
    """Return the mean of |u_w,j| over the features of each cluster, (N, clusters), for word vectors (N, D).

    Parameters
    ----------
    vectors
        The vectors.
    clusters
        Clusters of positional features.
    words
        The words of the vectors, for error messages.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import clusters, context_words
    >>> model = posvec.load("model")
    >>> found = clusters.find(model)
    >>> table = context_words.importance(model.vectors.table, found, model.vocabulary.words)
    >>> table.shape == (len(model.vocabulary), len(found))
    True
    """
    table = np.empty((len(vectors), len(clusters)), np.float32)
    for begin in range(0, len(vectors), _ROWS):
        part = np.abs(vectors[begin : begin + _ROWS])
        for number, cluster in enumerate(clusters):
            # In float64, because the sum of finite numbers can exceed float32.
            table[begin : begin + _ROWS, number] = part[:, list(cluster.features)].mean(1, dtype=np.float64)
    finite = np.isfinite(table).all(1)
    if not finite.all():
        row = int(finite.argmin())
        raise not_finite_error(words[row] if len(words) > row else f"row {row}")
    return table


def _word(word: str, values: FloatArray, clusters: Clusters) -> ContextWord:
    importance = dict(zip(clusters.names, values.tolist(), strict=True))
    return ContextWord(word, clusters.names[int(values.argmax())], importance)


def _rows(words: Sequence[ContextWord]) -> list[tuple[object, ...]]:
    return [(each.word, each.cluster, *each.importance.values()) for each in words]
