"""Example sentences: pairs that differ in the position of a context word, and the effect on the masked word.

For each cluster J of positional features, the examples show the context word, the masked word and the pair of positions
with the greatest change of sigma(score), where the score uses only the features of J. The context word is a word whose
importance is greatest according to J. The sentences come from one of two sources:

- words: sentences of a single context word, at every position in turn, with [PAD] between it and the [MASK];
- a corpus: real sentences in which each word is masked in turn, and the context word is swapped with another word.
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
from posvec.evaluation.clusters import Clusters, FeatureCluster
from posvec.evaluation.clusters import find as find_clusters
from posvec.evaluation.context_words import importance
from posvec.evaluation.masked import explain
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.contexts import MASK, PAD_WORD
from posvec.query.exact import top_indices
from posvec.query.masked import ContextTerms
from posvec.query.parsing import parse_integer
from posvec.storage.tables import finite_rows
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray, sigmoid
from posvec.training.sources import open_source

# The importance of a context word bounds the change of the score (appendix of the paper), so only this many of the most
# important words are searched.
_CONTEXT_WORDS = 100

_COLUMNS = ("context word", "masked word", "position", "by cluster", "by model", "sentence")


@dataclass(frozen=True)
class Example:
    """Two sentences that differ in the position of a context word.

    Attributes
    ----------
    cluster
        The name of the cluster.
    context_word
        The word that changes its position.
    masked_word
        The word whose probability changes.
    positions
        The position of the context word in each sentence, relative to the masked word.
    sentences
        The two sentences.
    probabilities
        The probability of the masked word in each sentence by the features of the cluster alone.
    model_probabilities
        The probability of the masked word in each sentence by all features.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import examples
    >>> example = examples.find(posvec.load("model"), topn=1).examples[0]
    >>> [example.context_word in sentence.split() for sentence in example.sentences], 0 < example.change < 1
    ([True, True], True)
    """

    cluster: str
    context_word: str
    masked_word: str
    positions: tuple[int, int]
    sentences: tuple[str, str]
    probabilities: tuple[float, float]
    model_probabilities: tuple[float, float]

    @property
    def change(self) -> float:
        """The difference of the probabilities by the features of the cluster."""
        return abs(self.probabilities[0] - self.probabilities[1])


@dataclass(frozen=True)
class Examples(Result):
    """Example sentences for each cluster.

    Attributes
    ----------
    examples
        The examples by cluster, those with the greatest change first.
    corpus
        The name of the corpus that the sentences come from; None if they are built from words.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import examples
    >>> found = examples.find(posvec.load("model"), corpus="corpus.txt", topn=1, sentences=20)
    >>> found.corpus, len(found.examples) == len(found.tables())
    ('corpus.txt', True)
    """

    examples: tuple[Example, ...]
    corpus: str | None

    def tables(self) -> list[Table]:
        """Return a table for each cluster."""
        names = dict.fromkeys(each.cluster for each in self.examples)
        return [
            Table(f"Examples of {name} features", _COLUMNS, [row for each in self._of(name) for row in _rows(each)])
            for name in names
        ]

    def main_table(self) -> Table:
        """Return one table with the examples of all clusters."""
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
    """Find pairs of sentences that show the effect of positional features.

    Parameters
    ----------
    model
        A positional or constrained model with output vectors.
    clusters
        Clusters of its positional features; by default those of :func:`posvec.evaluation.clusters.find`.
    corpus
        Where to take sentences from. Each sentence appears in one example of a cluster at most. Without a corpus,
        sentences are built from words, and each context word appears in one example of a cluster at most.
    topn
        The number of examples for each cluster.
    restrict_vocab
        Context words and masked words are among this many most frequent words.
    sentences
        The number of sentences of the corpus to search.

    Returns
    -------
    Examples
        The examples with the greatest change for each cluster.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import examples
    >>> found = examples.find(posvec.load("model"), corpus="corpus.txt", topn=1, sentences=20)
    >>> example = found.examples[0]
    >>> [sentence.split().count("[MASK]") for sentence in example.sentences]
    [1, 1]
    """
    topn, sentences = parse_integer("topn", topn, 0), parse_integer("sentences", sentences, 0)
    restrict_vocab = min(parse_integer("restrict_vocab", restrict_vocab, 1), len(model.vocabulary))
    clusters = clusters or find_clusters(model)
    table = importance(model.vectors.unweighted.table[:restrict_vocab], clusters, model.vocabulary.words)
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
    """For each of the most important words of a class, the masked word and the positions with the greatest change."""
    cluster = clusters.clusters[number]
    features = list(cluster.features)
    of_class = np.flatnonzero(table.argmax(1) == number)
    words = model.vocabulary.words
    # The context vector of a single word is proportional to S_m / N, which is u_m times a factor.
    factors = _single_word_factors(model, [words[i] for i in of_class.tolist()])
    candidates = of_class[top_indices(table[of_class, number] * factors, _CONTEXT_WORDS)]
    terms, sizes = model.context_terms([words[i] for i in candidates.tolist()])
    output = finite_rows(model.output_vectors, np.arange(len(table)))[:, features]
    positional = model.positional_vectors[:, features].astype(np.float64)
    found = []
    vectors = (terms / model.per_feature(sizes))[:, features]
    for context_id, vector in zip(candidates.tolist(), vectors, strict=True):
        scores = (positional * vector) @ output.T  # (2c, masked words)
        change = sigmoid(scores.max(0)) - sigmoid(scores.min(0))
        change[context_id] = 0  # a word that predicts itself makes no useful example
        masked_id = int(change.argmax())
        found.append((float(change[masked_id]), context_id, masked_id, scores[:, masked_id]))
    for _, context_id, masked_id, by_position in sorted(found, key=lambda each: -each[0])[:topn]:
        context_word, masked_word = model.vocabulary.words[context_id], model.vocabulary.words[masked_id]
        more, less = (model.positions[int(row)] for row in (by_position.argmax(), by_position.argmin()))
        sentences = (_single_word_sentence(context_word, more), _single_word_sentence(context_word, less))
        yield _example(model, cluster, context_word, masked_word, (more, less), sentences)


def _from_sentences(
    model: Model, clusters: Clusters, classes: IndexArray, lines: Iterable[list[str]], topn: int
) -> list[Example]:
    """For each cluster, the sentences in which swapping two words changes the masked word most."""
    best_swaps: dict[str, list[tuple[list[str], _Swap]]] = {cluster.name: [] for cluster in clusters}
    for line in lines:
        ids = np.array([model.vocabulary.index.get(word, -1) for word in line])
        terms = _line_terms(model, line, ids)
        for number, cluster in enumerate(clusters):
            movable = (ids >= 0) & (ids < len(classes))
            movable[movable] = classes[ids[movable]] == number
            swaps = _swaps(model, cluster, ids, terms, movable, len(classes))
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
    """A swap of two words, by their indices in the line: the masked word, the context word and the other word."""

    change: float
    masked: int
    one: int
    other: int


def _line_terms(model: Model, line: Sequence[str], ids: IndexArray) -> ContextTerms:
    """The terms and sizes of the words of a line; zeros for unknown words."""
    distinct, inverse = np.unique(ids[ids >= 0], return_inverse=True)
    terms, sizes = model.context_terms([model.vocabulary.words[i] for i in distinct.tolist()])
    of_line = ContextTerms(np.zeros((len(line), terms.shape[1])), np.zeros((len(line), sizes.shape[1])))
    of_line.terms[ids >= 0], of_line.sizes[ids >= 0] = terms[inverse.reshape(-1)], sizes[inverse.reshape(-1)]
    return of_line


def _swaps(
    model: Model,
    cluster: FeatureCluster,
    ids: IndexArray,
    terms: ContextTerms,
    movable: NDArray[np.bool_],
    restrict_vocab: int,
) -> Iterator[_Swap]:
    """For each word that can be masked, the swaps that increase and decrease its score most."""
    features, window = list(cluster.features), model.config.model.window
    known = np.flatnonzero(ids >= 0)
    inputs = terms.terms[:, features]
    outputs = finite_rows(model.output_vectors, ids[known])[:, features]
    positional = model.positional_vectors[:, features].astype(np.float64)
    for number in np.flatnonzero(ids[known] < restrict_vocab).tolist():
        masked = int(known[number])
        first, last = np.searchsorted(known, [masked - window, masked + window + 1])
        context = np.concatenate([known[first:number], known[number + 1 : last]])
        if len(context) < 2 or not movable[context].any():
            continue
        rows = context - masked + window - (context > masked)
        # scores[a, b]: what the context word a would contribute from the position of the context word b
        of_words = inputs[context] * outputs[number] / model.per_feature(terms.sizes[context].sum(0))[features]
        scores = of_words @ positional[rows].T
        own = scores.diagonal()
        changed = (scores + scores.T - own[:, np.newaxis] - own)[movable[context]]
        # sigma is monotonic, so the probability changes most where the score increases or decreases most.
        for flat in (int(changed.argmax()), int(changed.argmin())):
            one, other = divmod(flat, len(context))
            change = abs(float(sigmoid(own.sum() + changed[one, other]) - sigmoid(own.sum())))
            if change > 0:
                yield _Swap(change, masked, int(context[movable[context]][one]), int(context[other]))


def _single_word_factors(model: Model, words: Sequence[str]) -> DoubleArray:
    """How many times longer than u_m the context vector of a single word m is, (n,): R_m / N in the spelling head."""
    if model.config.model.context_mean == "rows":
        return np.ones(len(words))
    return (model.vectors.row_counts(words) / model.context_sizes(words))[:, -1]


def _rows(example: Example) -> list[tuple[object, ...]]:
    """Two rows, one for each sentence."""
    return [
        (example.context_word, example.masked_word, f"{position:+d}", by_cluster, by_model, sentence)
        for position, by_cluster, by_model, sentence in zip(
            example.positions, example.probabilities, example.model_probabilities, example.sentences, strict=True
        )
    ]


def _lines(model: Model, corpus: Corpus) -> Iterator[list[str]]:
    """The lines of a corpus in the words of the model: unknown words are dropped, or replaced by [PAD]."""
    tokenizer = get_tokenizer(corpus.tokenizer)
    keep = model.config.training.positions == "text"
    for block in corpus.blocks():
        for line in tokenizer.split(block):
            words = [word if word in model.vocabulary else PAD_WORD for word in line]
            words = words if keep else [word for word in words if word != PAD_WORD]
            if words:
                yield words


def _single_word_sentence(context_word: str, position: int) -> list[str]:
    """A sentence of a single context word."""
    pads = [PAD_WORD] * (abs(position) - 1)
    return [context_word, *pads, MASK] if position < 0 else [MASK, *pads, context_word]


def _example(
    model: Model,
    cluster: FeatureCluster,
    context_word: str,
    masked_word: str,
    positions: tuple[int, int],
    sentences: tuple[Sequence[str], Sequence[str]],
) -> Example:
    by_cluster = [explain(model, sentence, masked_word, cluster, ranking="paper").probability for sentence in sentences]
    by_model = [explain(model, sentence, masked_word, ranking="paper").probability for sentence in sentences]
    return Example(
        cluster.name,
        context_word,
        masked_word,
        positions,
        (" ".join(sentences[0]), " ".join(sentences[1])),
        (by_cluster[0], by_cluster[1]),
        (by_model[0], by_model[1]),
    )
