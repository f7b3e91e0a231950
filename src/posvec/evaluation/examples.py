"""Example sentences: pairs that differ in where a context word stands, and how much that changes the masked word.

For a cluster J they show the context word, the masked word and the pair of positions with the greatest change of
sigma(score), where only the features of J enter the score. The context word is one that J maximizes. Two sources:

- words: the context word alone, at every position in turn, [PAD] between it and the [MASK];
- a corpus: real sentences, each word masked in turn; the context word trades places with another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.sources import Corpus, Source
from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import CorpusError
from posvec.evaluation.clusters import Cluster, Clusters
from posvec.evaluation.clusters import find as find_clusters
from posvec.evaluation.context_words import importance
from posvec.evaluation.masked import explain
from posvec.evaluation.results import Result, Table
from posvec.model import MASK, PAD_WORD, Model
from posvec.query.exact import top_indices
from posvec.system.arrays import FloatArray, sigmoid
from posvec.training.pipeline import open_source

# Importance bounds the change of the score (appendix of the paper), so the search looks at the most important words.
_CONTEXT_WORDS = 100

_COLUMNS = ("context word", "masked word", "position", "by cluster", "by model", "sentence")


@dataclass(frozen=True)
class Example:
    """Two sentences that differ in the place of a context word; probabilities are of the masked word in each."""

    cluster: str
    context_word: str
    masked_word: str
    positions: tuple[int, int]
    sentences: tuple[str, str]
    probabilities: tuple[float, float]
    """By the features of the cluster alone."""
    model_probabilities: tuple[float, float]
    """By all features."""

    @property
    def change(self) -> float:
        return abs(self.probabilities[0] - self.probabilities[1])


@dataclass(frozen=True)
class Examples(Result):
    """Example sentences of every cluster, the greatest change first."""

    examples: tuple[Example, ...]
    corpus: str | None
    """Where the sentences come from; None if they are built from words."""

    def tables(self) -> list[Table]:
        """One table per cluster."""
        names = dict.fromkeys(each.cluster for each in self.examples)
        return [
            Table(f"Examples of {name} features", _COLUMNS, [row for each in self._of(name) for row in _rows(each)])
            for name in names
        ]

    def main_table(self) -> Table:
        rows = [(each.cluster, *row) for each in self.examples for row in _rows(each)]
        return Table("", ("cluster", *_COLUMNS), rows)

    def _of(self, cluster: str) -> list[Example]:
        return [each for each in self.examples if each.cluster == cluster]


def find(
    model: Model,
    clusters: Clusters | None = None,
    corpus: Source | None = None,
    topn: int = 3,
    restrict_vocab: int = 20_000,
    sentences: int = 1_000,
) -> Examples:
    """For every cluster, the ``topn`` pairs of sentences with the greatest change.

    Context words and masked words are among the ``restrict_vocab`` most frequent. Without a ``corpus`` each context
    word appears once; with one, the first ``sentences`` of it are searched and each appears once.
    """
    clusters = clusters or find_clusters(model)
    table = importance(model.vectors.table[:restrict_vocab], clusters)
    if corpus is None:
        found = [
            example for number in range(len(clusters)) for example in _from_words(model, clusters, number, table, topn)
        ]
        return Examples(tuple(found), None)
    with open_source(corpus, model.config) as opened:
        lines = islice(_lines(model, opened), sentences)
        found = _from_sentences(model, clusters, table.argmax(1), lines, topn)
    if not found:
        raise CorpusError(
            f"no sentence of {opened.name} has enough words that the model knows; give another corpus or more sentences"
        )
    return Examples(tuple(found), opened.name)


def _from_words(model: Model, clusters: Clusters, number: int, table: FloatArray, topn: int) -> Iterator[Example]:
    """For each of the most important words that a cluster maximizes: the masked word and positions of most change."""
    cluster = clusters.clusters[number]
    features = list(cluster.features)
    of_class = np.flatnonzero(table.argmax(1) == number)
    candidates = of_class[top_indices(table[of_class, number], _CONTEXT_WORDS)]
    output = model.output_vectors[: len(table), features]
    positional = model.positional_vectors[:, features]
    found = []
    for context_id in candidates.tolist():
        scores = (positional * model.vectors.table[context_id, features]) @ output.T  # (2c, masked words)
        change = sigmoid(scores.max(0)) - sigmoid(scores.min(0))
        change[context_id] = 0  # a word beside itself says nothing
        masked_id = int(change.argmax())
        found.append((float(change[masked_id]), context_id, masked_id, scores[:, masked_id]))
    for _, context_id, masked_id, by_position in sorted(found, key=lambda each: -each[0])[:topn]:
        context_word, masked_word = model.vocabulary.words[context_id], model.vocabulary.words[masked_id]
        more, less = (model.positions[int(row)] for row in (by_position.argmax(), by_position.argmin()))
        sentences = (_alone(context_word, more), _alone(context_word, less))
        yield _example(model, cluster, context_word, masked_word, (more, less), sentences)


def _from_sentences(
    model: Model, clusters: Clusters, classes: NDArray[np.intp], lines: Iterable[list[str]], topn: int
) -> list[Example]:
    """For each cluster the sentences in which two words that trade places change the masked word most."""
    best_swaps: dict[str, list[tuple[list[str], _Swap]]] = {cluster.name: [] for cluster in clusters}
    for line in lines:
        ids = np.array([model.vocabulary.index.get(word, -1) for word in line])
        for number, cluster in enumerate(clusters):
            movable = (ids >= 0) & (ids < len(classes))
            movable[movable] = classes[ids[movable]] == number
            swaps = _swaps(model, cluster, ids, movable, len(classes))
            if (swap := max(swaps, default=None, key=lambda each: each.change)) is not None:
                best_swaps[cluster.name].append((line, swap))
    found = []
    for cluster in clusters:
        for line, swap in sorted(best_swaps[cluster.name], key=lambda each: -each[1].change)[:topn]:
            begin = max(0, swap.masked - model.config.model.window)
            end = swap.masked + model.config.model.window + 1
            before = [*line[: swap.masked], MASK, *line[swap.masked + 1 :]]
            after = list(before)
            after[swap.one], after[swap.other] = before[swap.other], before[swap.one]
            positions = (swap.one - swap.masked, swap.other - swap.masked)
            sentences = (before[begin:end], after[begin:end])
            found.append(_example(model, cluster, line[swap.one], line[swap.masked], positions, sentences))
    return found


@dataclass(frozen=True)
class _Swap:
    """Places in a line: the masked word, the context word and the one that it trades places with."""

    change: float
    masked: int
    one: int
    other: int


def _swaps(
    model: Model, cluster: Cluster, ids: NDArray[np.intp], movable: NDArray[np.bool_], restrict_vocab: int
) -> Iterator[_Swap]:
    """For each word that can be masked, the swaps that raise and lower its score most."""
    features, window = list(cluster.features), model.config.model.window
    known = np.flatnonzero(ids >= 0)
    inputs = model.vectors.table[ids][:, features].astype(np.float64)  # rows of unknown words are never looked at
    outputs = model.output_vectors[ids][:, features]
    positional = model.positional_vectors[:, features]
    for masked in known[ids[known] < restrict_vocab].tolist():
        places = known[(known != masked) & (np.abs(known - masked) <= window)]
        if len(places) < 2 or not movable[places].any():
            continue
        rows = places - masked + window - (places > masked)
        # scores[a, b]: what the word at place a would contribute from place b
        scores = (inputs[places] * outputs[masked]) @ positional[rows].T / len(places)
        own = scores.diagonal()
        changed = (scores + scores.T - own[:, np.newaxis] - own)[movable[places]]
        # sigma grows with the score, so the greatest change is at one of the two ends
        for flat in (int(changed.argmax()), int(changed.argmin())):
            one, other = divmod(flat, len(places))
            change = abs(float(sigmoid(own.sum() + changed[one, other]) - sigmoid(own.sum())))
            if change > 0:
                yield _Swap(change, masked, int(places[movable[places]][one]), int(places[other]))


def _rows(example: Example) -> list[tuple[object, ...]]:
    """A row for each of the two sentences."""
    return [
        (example.context_word, example.masked_word, f"{position:+d}", by_cluster, by_model, sentence)
        for position, by_cluster, by_model, sentence in zip(
            example.positions, example.probabilities, example.model_probabilities, example.sentences, strict=True
        )
    ]


def _lines(model: Model, corpus: Corpus) -> Iterator[list[str]]:
    """The lines of a corpus as the model sees them: unknown words dropped, or in their place [PAD]."""
    tokenizer = get_tokenizer(corpus.tokenizer)
    keep = model.config.training.positions == "text"
    for block in corpus.blocks():
        for line in tokenizer.split(block):
            words = [word if word in model.vocabulary else PAD_WORD for word in line]
            words = words if keep else [word for word in words if word != PAD_WORD]
            if words:
                yield words


def _alone(context_word: str, position: int) -> list[str]:
    """A sentence of a single context word."""
    pads = [PAD_WORD] * (abs(position) - 1)
    return [context_word, *pads, MASK] if position < 0 else [MASK, *pads, context_word]


def _example(
    model: Model,
    cluster: Cluster,
    context_word: str,
    masked_word: str,
    positions: tuple[int, int],
    sentences: tuple[Sequence[str], Sequence[str]],
) -> Example:
    by_cluster = [explain(model, sentence, masked_word, cluster).probability for sentence in sentences]
    by_model = [explain(model, sentence, masked_word).probability for sentence in sentences]
    return Example(
        cluster.name,
        context_word,
        masked_word,
        positions,
        (" ".join(sentences[0]), " ".join(sentences[1])),
        (by_cluster[0], by_cluster[1]),
        (by_model[0], by_model[1]),
    )
