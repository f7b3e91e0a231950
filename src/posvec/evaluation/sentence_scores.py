"""Sentences by their pseudo-log-likelihood: each word is masked in turn, and the log-probabilities add up.

Of several ways to write a sentence, the best has the highest score. Sentences of different lengths are compared by the
perplexity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.query.masked_tokens import likelihoods, mask_tokens


@dataclass(frozen=True)
class WordScore:
    """The log-probability of a word in its sentence, and its rank among all words; None if it is not predicted.

    Examples
    --------
    >>> WordScore("cat", -1.5, 2).rank
    2
    """

    word: str
    log_probability: float | None
    rank: int | None


@dataclass(frozen=True)
class SentenceScore:
    """The pseudo-log-likelihood of a sentence.

    Attributes
    ----------
    sentence
        The sentence.
    score
        The sum of the log-probabilities of its words.
    words
        Its words. Words outside the vocabulary, and a word without another one near it, are not predicted.

    Examples
    --------
    >>> found = SentenceScore("a cat", -3.0, (WordScore("a", -1.0, 1), WordScore("cat", -2.0, 5)))
    >>> found.predicted, round(found.perplexity, 2)
    (2, 4.48)
    """

    sentence: str
    score: float
    words: tuple[WordScore, ...]

    @property
    def predicted(self) -> int:
        """The number of words that are predicted."""
        return sum(each.rank is not None for each in self.words)

    @property
    def perplexity(self) -> float | None:
        """The exponential of the mean of minus the log-probabilities; None if no word is predicted."""
        return math.exp(-self.score / self.predicted) if self.predicted else None


@dataclass(frozen=True)
class SentenceScores(Result):
    """The pseudo-log-likelihoods of sentences.

    Examples
    --------
    >>> import posvec
    >>> result = score(posvec.load("model"), ["the cat sees the dog", "the sees cat dog the"])
    >>> [len(each.words) for each in result.sentences]
    [5, 5]
    """

    sentences: tuple[SentenceScore, ...]

    def tables(self) -> list[Table]:
        """Return a table of the sentences, and of a single one a table of its words."""
        rows = [(each.sentence, each.score, each.perplexity, each.predicted) for each in self.sentences]
        tables = [Table("", ("sentence", "score", "perplexity", "words"), rows)]
        if len(self.sentences) == 1:
            words = [(each.word, each.log_probability, each.rank) for each in self.sentences[0].words]
            tables.append(Table("", ("word", "log-probability", "rank"), words))
        return tables


def score(model: Model, sentences: str | Sequence[str]) -> SentenceScores:
    """Compute the pseudo-log-likelihoods of sentences.

    Parameters
    ----------
    model
        A model with output vectors.
    sentences
        One or several sentences.

    Returns
    -------
    SentenceScores
        The score of each sentence and of each of its words.

    Examples
    --------
    >>> import posvec
    >>> (found,) = score(posvec.load("model"), "the cat sees the dog").sentences
    >>> round(found.score, 6) == round(sum(word.log_probability for word in found.words), 6)
    True
    """
    sentences = [sentences] if isinstance(sentences, str) else list(sentences)
    lines = [model.split(sentence) for sentence in sentences]
    tokens = mask_tokens(model, lines)
    found = likelihoods(model, model.calibrated, tokens)
    predicted = {
        (line, offset): (log_probability, rank)
        for line, offset, log_probability, rank in zip(
            tokens.lines.tolist(),
            tokens.offsets.tolist(),
            found.log_probabilities.tolist(),
            found.ranks.tolist(),
            strict=True,
        )
    }
    scored = []
    for number, (sentence, words) in enumerate(zip(sentences, lines, strict=True)):
        scores = [WordScore(word, *predicted.get((number, i), (None, None))) for i, word in enumerate(words)]
        scored.append(SentenceScore(sentence, sum(each.log_probability or 0.0 for each in scores), tuple(scores)))
    return SentenceScores(tuple(scored))
