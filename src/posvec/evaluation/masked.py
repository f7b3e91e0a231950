"""Masked words: which words a model puts into the gap of a sentence, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posvec.errors import ConfigError
from posvec.evaluation.clusters import Cluster, find
from posvec.evaluation.results import Result, Table, rich_table
from posvec.model import Model, Prediction
from posvec.system.arrays import sigmoid

_COLUMNS = ("rank", "word", "score", "probability")


@dataclass(frozen=True)
class MaskedWords(Result):
    """Predictions for each sentence: the best ones, and behind them the words that were asked for."""

    sentences: tuple[str, ...]
    predictions: tuple[tuple[Prediction, ...], ...]
    cluster: str | None
    """The cluster whose features alone entered the scores."""

    def tables(self) -> list[Table]:
        """One table per sentence."""
        return [
            Table(sentence, _COLUMNS, [_row(each) for each in predictions])
            for sentence, predictions in zip(self.sentences, self.predictions, strict=True)
        ]

    def main_table(self) -> Table:
        """All sentences in one table, a row for each prediction."""
        rows = [(table.title, *row) for table in self.tables() for row in table.rows]
        return Table("", ("sentence", *_COLUMNS), rows)

    def __rich__(self) -> Any:
        """Several sentences stand side by side, as in the paper's table: without scores, to be narrow enough."""
        from rich.columns import Columns
        from rich.text import Text

        if len(self.sentences) == 1:
            return super().__rich__()
        tables = []
        for table in self.tables():
            narrow = [(rank, word, probability) for rank, word, _, probability in table.rows]
            shown = rich_table(Table("", ("rank", "word", "probability"), narrow))
            shown.title, shown.title_justify = Text(table.title, "bold"), "left"  # as wide as its table
            tables.append(shown)
        return Columns(tables)


@dataclass(frozen=True)
class Contribution:
    """What one context word, at its position, adds to the score of a masked word."""

    word: str
    position: int
    value: float


@dataclass(frozen=True)
class Explanation(Result):
    """Why a masked word has its score: the score is linear, so what its context words contribute adds up to it."""

    sentence: str
    masked_word: str
    contributions: tuple[Contribution, ...]
    """From left to right."""
    score: float
    probability: float
    cluster: str | None
    """The cluster whose features alone entered the score."""

    def tables(self) -> list[Table]:
        rows: list[Sequence[object]] = [(each.word, f"{each.position:+d}", each.value) for each in self.contributions]
        rows.append(("score", None, self.score))
        title = f"Why {self.masked_word} in: {self.sentence} (probability {self.probability:.3f})"
        return [Table(title, ("context word", "position", "contribution"), rows)]


def predict(
    model: Model,
    sentences: str | Sequence[str],
    topn: int = 10,
    words: Sequence[str] = (),
    cluster: Cluster | str | None = None,
) -> MaskedWords:
    """The best words for the [MASK] of each sentence and the ``words`` given: rank, score s(w, C) and sigma(score).

    With a ``cluster`` of positional features, or its name, these features alone enter the score.
    """
    sentences = (sentences,) if isinstance(sentences, str) else tuple(sentences)
    if topn < 1 and not words:
        raise ConfigError("there is nothing to predict; ask for at least one of the best words, or name words")
    chosen = _cluster(model, cluster)
    features = chosen.features if chosen else None
    predictions = []
    for sentence in sentences:
        found = {each.word: each for each in model.predict_masked(sentence, topn, features=features)}
        if words:
            found |= {each.word: each for each in model.predict_masked(sentence, 0, words, features)}
        predictions.append(tuple(sorted(found.values(), key=lambda each: each.rank)))
    return MaskedWords(sentences, tuple(predictions), chosen.name if chosen else None)


def explain(
    model: Model, sentence: str | Sequence[str], masked_word: str, cluster: Cluster | str | None = None
) -> Explanation:
    """What every context word contributes to the score of ``masked_word``: (u_w * [d_p, 1, ..., 1]) . v / N."""
    chosen = _cluster(model, cluster)
    context = model.context(sentence)
    output = model.output_vectors[model.masked_id(masked_word)].astype(np.float64)
    if chosen:
        output[np.setdiff1d(np.arange(len(output)), chosen.features)] = 0
    contributions = tuple(
        Contribution(word, position, float(model.weighted(word, position) @ output) / len(context))
        for word, position in context
    )
    score = sum(each.value for each in contributions)
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


def _cluster(model: Model, cluster: Cluster | str | None) -> Cluster | None:
    return find(model)[cluster] if isinstance(cluster, str) else cluster
