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
from posvec.query.masked import ContextWeighting, Prediction, Ranking, check_ranking, not_finite_score_error
from posvec.query.masked_tokens import factors_of_heads, log_priors
from posvec.query.parsing import parse_integer
from posvec.system.arrays import DoubleArray, sigmoid

_FADING_STEPS = 24  # of the Gauss-Legendre quadrature

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
    """What one context word contributes to the log-probability or to the score of a masked word.

    Attributes
    ----------
    word
        The context word.
    position
        Its position relative to the masked word.
    value
        Its contribution.

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
    """The log-probability of a masked word as the sum of the prior and the contributions of its context words.

    With the paper's ranking, it is the score that is explained, and there is no prior.

    Attributes
    ----------
    sentence
        The sentence, with one [MASK].
    masked_word
        The word whose probability is explained.
    contributions
        What each context word contributes, in the order of the sentence.
    score
        s(w, C), with the paper's ranking the sum of the contributions.
    probability
        P(w | C), the exponential of the sum of the prior and the contributions, or sigma(score).
    cluster
        The cluster of positional features that the score is limited to; None if it uses all features.
    prior
        The logarithm of the probability of the word without context; None with the paper's ranking.

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
    prior: float | None = None

    @property
    def total(self) -> float:
        """What is explained: the log-probability, or with the paper's ranking the score."""
        return (self.prior or 0.0) + sum(each.value for each in self.contributions)

    def tables(self) -> list[Table]:
        """Return one table with a row for each contribution, followed by their sum."""
        rows: list[Sequence[object]] = [(each.word, f"{each.position:+d}", each.value) for each in self.contributions]
        if self.prior is None:
            name, last = "Score", ("score", None, self.score)
        else:
            name, last = "Log-probability", ("log-probability", None, self.total)
            rows.insert(0, ("prior", None, self.prior))
        title = f"{name} of {self.masked_word} in: {self.sentence} (probability {self.probability:.3f})"
        return [Table(title, ("context word", "position", "contribution"), [*rows, last])]


def predict(
    model: Model,
    sentences: str | Sequence[str],
    topn: int = 10,
    words: Sequence[str] = (),
    cluster: FeatureCluster | str | None = None,
    weighting: ContextWeighting = "trained",
    ranking: Ranking = "calibrated",
) -> MaskedWords:
    """Predict the masked words of sentences, with their ranks, scores s(w, C) and probabilities.

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
    ranking
        How words are ranked: ``calibrated`` by their probability in the context, ``paper`` by their score.

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
    predict = partial(model.predict_masked, features=features, weighting=weighting, ranking=ranking)
    predictions = []
    for sentence in sentences:
        found = {each.word: each for each in predict(sentence, topn)}
        if words:
            found |= {each.word: each for each in predict(sentence, 0, words)}
        predictions.append(tuple(sorted(found.values(), key=lambda each: each.rank)))
    return MaskedWords(sentences, tuple(predictions), chosen.name if chosen else None)


@dataclass(frozen=True)
class Candidate:
    """A word that may fill a gap.

    Attributes
    ----------
    word
        The word.
    fraction
        Its probability relative to those of all candidates, which add up to 1.
    probability
        P(w | C), among all words of the vocabulary.
    rank
        Its rank among all words of the vocabulary.

    Examples
    --------
    >>> from posvec.evaluation.masked import Candidate
    >>> Candidate("their", fraction=0.9, probability=0.018, rank=7).word
    'their'
    """

    word: str
    fraction: float
    probability: float
    rank: int


@dataclass(frozen=True)
class Candidates(Result):
    """Words that may fill the gap of a sentence, the most probable one first.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked
    >>> found = masked.choose(posvec.load("model"), "the cat [MASK] the dog", ["sees", "river"])
    >>> round(sum(each.fraction for each in found.candidates), 6)
    1.0
    """

    sentence: str
    candidates: tuple[Candidate, ...]

    def tables(self) -> list[Table]:
        """Return one table with a row for each candidate."""
        rows = [(each.word, each.fraction, each.probability, each.rank) for each in self.candidates]
        return [Table(self.sentence, ("candidate", "among these", "probability", "rank"), rows)]


def choose(model: Model, sentence: str | Sequence[str], candidates: Sequence[str]) -> Candidates:
    """Rank words that may fill the gap of a sentence, for example the readings of a blurred or misspelt word.

    Parameters
    ----------
    model
        A model with output vectors.
    sentence
        A sentence with one [MASK].
    candidates
        Words of the model's vocabulary.

    Returns
    -------
    Candidates
        The words, the most probable one first.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import masked
    >>> found = masked.choose(posvec.load("model"), "the [MASK] sees the dog", ["cat", "cow"])
    >>> found.candidates[0].fraction >= found.candidates[1].fraction
    True
    """
    candidates = list(dict.fromkeys(candidates))
    if not candidates:
        raise ConfigError("there are no candidates; give at least one word")
    found = sorted(model.predict_masked(sentence, words=candidates), key=lambda each: each.rank)
    total = sum(each.probability for each in found) or 1.0
    return Candidates(
        sentence if isinstance(sentence, str) else " ".join(sentence),
        tuple(Candidate(each.word, each.probability / total, each.probability, each.rank) for each in found),
    )


def explain(
    model: Model,
    sentence: str | Sequence[str],
    masked_word: str,
    cluster: FeatureCluster | str | None = None,
    weighting: ContextWeighting = "trained",
    ranking: Ranking = "calibrated",
) -> Explanation:
    """Compute what every context word contributes to the log-probability, or to the score, of a masked word.

    The score is linear in the context words. The context word m at position p adds

        c_m(w) = (S_m * [d_p, 1, ..., 1]) . v_w / N

    to the score of w, where S_m and N are those of :mod:`posvec.query.masked`. The log-probability is

        log P(w | C) = log P(w) + sum_m a c_m(w) - log sum_w' P(w') exp(sum_m a c_m(w'))

    with the factor a and the prior P(w) of the calibration. Its last term, which all context words have in common, is
    divided among them by letting the whole context fade in (the method of Aumann and Shapley): with P_t the
    probabilities when a is t times as large,

        contribution of m = integral over t from 0 to 1 of a c_m(w) - sum_w' P_t(w') a c_m(w')

    A contribution is positive if the context word makes w more probable, compared with the words that compete with w.

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
    ranking
        ``calibrated`` explains the log-probability, ``paper`` the score.

    Returns
    -------
    Explanation
        The contributions and their sum.

    Examples
    --------
    >>> import math, posvec
    >>> from posvec.evaluation import masked
    >>> explanation = masked.explain(posvec.load("model"), "the cat [MASK] the dog", "sees")
    >>> [(each.word, each.position) for each in explanation.contributions]
    [('the', -2), ('cat', -1), ('the', 1), ('dog', 2)]
    >>> math.isclose(math.exp(explanation.total), explanation.probability)
    True
    """
    check_ranking(ranking)
    chosen = _cluster(model, cluster)
    context = model.context(sentence)
    masked_id = model.masked_id(masked_word)
    parts = model.contributions(context, weighting)
    if chosen:
        parts[:, np.setdiff1d(np.arange(parts.shape[1]), chosen.features)] = 0
    values = parts @ model.output_vectors[masked_id].astype(np.float64)
    score = float(values.sum())
    if not math.isfinite(score):
        raise not_finite_score_error(masked_word)
    prior, probability = None, float(sigmoid(score))
    if ranking == "calibrated":
        prior, values = _shares_of_log_probability(model, parts, masked_id)
        probability = math.exp(min(0.0, prior + float(values.sum())))
    contributions = tuple(
        Contribution(word, position, value) for (word, position), value in zip(context, values.tolist(), strict=True)
    )
    return Explanation(
        sentence if isinstance(sentence, str) else " ".join(sentence),
        masked_word,
        contributions,
        score,
        probability,
        chosen.name if chosen else None,
        prior,
    )


def _shares_of_log_probability(model: Model, parts: DoubleArray, masked_id: int) -> tuple[float, DoubleArray]:
    """Return the logarithm of the prior of a word, and what each context word adds to it."""
    factors = factors_of_heads(model.config, model.calibrated, np.array([len(parts)]))[0]
    scores = (parts * model.of_features(factors)) @ model.output_vectors[:].T.astype(np.float64)
    if not np.isfinite(scores).all():
        raise not_finite_score_error(model.vocabulary.words[int(np.isfinite(scores).all(0).argmin())])
    priors, total = log_priors(model.vocabulary, model.calibrated), scores.sum(0)
    values = scores[:, masked_id].copy()
    for t, weight in zip(*np.polynomial.legendre.leggauss(_FADING_STEPS), strict=True):
        logits = priors + (t + 1) / 2 * total
        probabilities = np.exp(logits - np.logaddexp.reduce(logits))
        values -= weight / 2 * (scores @ probabilities)
    logits = priors + total
    log_probability = float(logits[masked_id] - np.logaddexp.reduce(logits))
    prior = float(priors[masked_id])
    values += (log_probability - prior - values.sum()) / len(values)  # the error of the quadrature, about 1e-6
    return prior, values


def _row(prediction: Prediction) -> tuple[object, ...]:
    return prediction.rank, prediction.word, prediction.score, prediction.probability


def _cluster(model: Model, cluster: FeatureCluster | str | None) -> FeatureCluster | None:
    return find(model)[cluster] if isinstance(cluster, str) else cluster
