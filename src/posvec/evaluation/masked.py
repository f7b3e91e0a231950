"""Masked words: the words that a model predicts for the [MASK] of a sentence, and explanations of their scores.

The masked word is what word2vec calls the center word or target word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from posvec.errors import ConfigError
from posvec.evaluation.clusters import FeatureCluster, find
from posvec.evaluation.results import Result, Table, rich_table
from posvec.model import Model
from posvec.query.masked import ContextWeighting, Prediction, not_finite_score_error
from posvec.query.parsing import parse_integer
from posvec.system.arrays import sigmoid

_COLUMNS = ("rank", "word", "score", "probability")


@dataclass(frozen=True)
class MaskedWords(Result):
    """Predictions of the masked words of sentences.

    Attributes
    ----------
    sentences
        The sentences, each with one [MASK].
    predictions
        For each sentence, the best words and the requested words in the order of their ranks.
    cluster
        The cluster of positional features that the scores are limited to; None if they use all features.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked
    >>> result = masked.predict(posvec.load("model"), ["the [MASK] sees", "the cat [MASK]"], topn=2)
    >>> result.sentences, [len(each) for each in result.predictions], result.cluster
    (('the [MASK] sees', 'the cat [MASK]'), [2, 2], None)
    """

    sentences: tuple[str, ...]
    predictions: tuple[tuple[Prediction, ...], ...]
    cluster: str | None

    def tables(self) -> list[Table]:
        """Return a table for each sentence."""
        return [
            Table(sentence, _COLUMNS, [_row(each) for each in predictions])
            for sentence, predictions in zip(self.sentences, self.predictions, strict=True)
        ]

    def main_table(self) -> Table:
        """Return one table with a row for each prediction of each sentence."""
        rows = [(table.title, *row) for table in self.tables() for row in table.rows]
        return Table("", ("sentence", *_COLUMNS), rows)

    def __rich__(self) -> Any:
        """Render several sentences side by side as in the paper, without scores to save width."""
        from rich.columns import Columns
        from rich.text import Text

        if len(self.sentences) == 1:
            return super().__rich__()
        tables = []
        for table in self.tables():
            rows = [(rank, word, probability) for rank, word, _, probability in table.rows]
            rendered = rich_table(Table("", ("rank", "word", "probability"), rows))
            # A title of the table itself wraps at the width of the table.
            rendered.title, rendered.title_justify = Text(table.title, "bold"), "left"
            tables.append(rendered)
        return Columns(tables)


@dataclass(frozen=True)
class Contribution:
    """What one context word contributes to the score of a masked word.

    Attributes
    ----------
    word
        The context word.
    position
        Its position relative to the masked word.
    value
        Its contribution to the score.

    Examples
    --------
    >>> from posvec.evaluation.masked import Contribution
    >>> Contribution("cat", position=-1, value=0.25)
    Contribution(word='cat', position=-1, value=0.25)
    """

    word: str
    position: int
    value: float


@dataclass(frozen=True)
class Explanation(Result):
    """The score of a masked word as the sum of the contributions of its context words.

    Attributes
    ----------
    sentence
        The sentence with its [MASK].
    masked_word
        The word whose score is explained.
    contributions
        The contributions of the context words, from left to right.
    score
        The score of the masked word, the sum of the contributions.
    probability
        sigma(score).
    cluster
        The cluster of positional features that the score is limited to; None if it uses all features.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked
    >>> explanation = masked.explain(posvec.load("model"), "the cat [MASK] the dog", "sees")
    >>> explanation.masked_word, explanation.cluster, len(explanation.contributions)
    ('sees', None, 4)
    """

    sentence: str
    masked_word: str
    contributions: tuple[Contribution, ...]
    score: float
    probability: float
    cluster: str | None

    def tables(self) -> list[Table]:
        """Return one table with a row for each contribution, followed by the score."""
        rows: list[Sequence[object]] = [(each.word, f"{each.position:+d}", each.value) for each in self.contributions]
        rows.append(("score", None, self.score))
        title = f"Score of {self.masked_word} in: {self.sentence} (probability {self.probability:.3f})"
        return [Table(title, ("context word", "position", "contribution"), rows)]


def predict(
    model: Model,
    sentences: str | Sequence[str],
    topn: int = 10,
    words: Sequence[str] = (),
    cluster: FeatureCluster | str | None = None,
    weighting: ContextWeighting = "trained",
) -> MaskedWords:
    """Predict the masked words of sentences, with their ranks, scores s(w, C) and sigma(score).

    Parameters
    ----------
    model
        A model with output vectors.
    sentences
        One or several sentences, each with one [MASK]. A [PAD] occupies a position without contributing.
    topn
        The number of best words for each sentence.
    words
        Words that are also ranked, wherever they rank.
    cluster
        A cluster of positional features, or its name. The scores then use only the features of this cluster.
    weighting
        How context words are weighted: ``trained`` as in the training of the model, ``equal`` as in the paper's table
        of masked words. See :mod:`posvec.query.masked`.

    Returns
    -------
    MaskedWords
        The predictions for each sentence.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked
    >>> result = masked.predict(posvec.load("model"), "the cat [MASK] the dog", topn=3)
    >>> [each.rank for each in result.predictions[0]]
    [1, 2, 3]
    """
    sentences = (sentences,) if isinstance(sentences, str) else tuple(sentences)
    if parse_integer("topn", topn) < 1 and not words:
        raise ConfigError("there is nothing to predict; ask for at least one of the best words, or name words")
    chosen = _cluster(model, cluster)
    features = chosen.features if chosen else None
    predict = partial(model.predict_masked, features=features, weighting=weighting)
    predictions = []
    for sentence in sentences:
        found = {each.word: each for each in predict(sentence, topn)}
        if words:
            found |= {each.word: each for each in predict(sentence, 0, words)}
        predictions.append(tuple(sorted(found.values(), key=lambda each: each.rank)))
    return MaskedWords(sentences, tuple(predictions), chosen.name if chosen else None)


def explain(
    model: Model,
    sentence: str | Sequence[str],
    masked_word: str,
    cluster: FeatureCluster | str | None = None,
    weighting: ContextWeighting = "trained",
) -> Explanation:
    """Compute what every context word contributes to the score of a masked word.

    The score is linear in the context words. The context word m at position p contributes
    (S_m * [d_p, 1, ..., 1]) . v / N, where v is the output vector of the masked word, and S_m and N are those of
    :mod:`posvec.query.masked`.

    Parameters
    ----------
    model
        A model with output vectors.
    sentence
        A sentence with one [MASK], as text or tokens.
    masked_word
        A word of the model's vocabulary.
    cluster
        A cluster of positional features, or its name. The score then uses only the features of this cluster.
    weighting
        How context words are weighted, as in :func:`predict`.

    Returns
    -------
    Explanation
        The contributions and the score.

    Examples
    --------
    >>> import math, posvec
    >>> from posvec.evaluation import masked
    >>> explanation = masked.explain(posvec.load("model"), "the cat [MASK] the dog", "sees")
    >>> [(each.word, each.position) for each in explanation.contributions]
    [('the', -2), ('cat', -1), ('the', 1), ('dog', 2)]
    >>> math.isclose(sum(each.value for each in explanation.contributions), explanation.score)
    True
    """
    chosen = _cluster(model, cluster)
    context = model.context(sentence)
    output = model.output_vectors[model.masked_id(masked_word)].astype(np.float64)
    if chosen:
        output[np.setdiff1d(np.arange(len(output)), chosen.features)] = 0
    values = (model.contributions(context, weighting) @ output).tolist()
    contributions = tuple(
        Contribution(word, position, value) for (word, position), value in zip(context, values, strict=True)
    )
    score = sum(values)
    if not math.isfinite(score):
        raise not_finite_score_error(masked_word)
    return Explanation(
        sentence if isinstance(sentence, str) else " ".join(sentence),
        masked_word,
        contributions,
        score,
        float(sigmoid(score)),
        chosen.name if chosen else None,
    )


def _row(prediction: Prediction) -> tuple[object, ...]:
    return prediction.rank, prediction.word, prediction.score, prediction.probability


def _cluster(model: Model, cluster: FeatureCluster | str | None) -> FeatureCluster | None:
    return find(model)[cluster] if isinstance(cluster, str) else cluster
