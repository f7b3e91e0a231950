"""Context vectors and scores of masked words, as they are in training.

The masked word is what word2vec calls the center word or target word. With S_m the sum of the R_m rows of context word
m (its own row and those of its n-grams), and p_m its position,

    u_C = 1/N sum_m [d_p_m, 1, ..., 1] * S_m        s(w, C) = u_C . v_w

In a model with two heads, each head has its own S_m, R_m and N, and s is the sum of the scores of the heads.

The weighting of the context words decides what stands for S_m and N:

``trained``  the weighting that the model was trained with. With ``context_mean=rows``, N is the sum of R_m, so that a
             context word counts as often as it has rows. With ``context_mean=words``, N is the number of context words.
``equal``    the paper's definition for its qualitative measures: the word's vector u_m = S_m / R_m in place of S_m, and
             the number of context words as N, so that all context words count equally.

For models without n-grams, where R_m = 1, all of these are the same.

The ranking of words decides what becomes of the scores:

``calibrated``  P(w | C), the softmax of the calibrated scores and the prior (:mod:`posvec.storage.calibration`). The
                probabilities of all words add up to 1.
``paper``       the paper's: words are ranked by s(w, C) itself, which prefers rare words, and their probability is
                sigma(s), that of being no negative example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from posvec.errors import ConfigError, PosvecError, UnknownWordError
from posvec.query.contexts import MASK, PAD_WORD, context_of_mask, mask_word, split_sentence
from posvec.query.exact import ranks, top_indices
from posvec.query.lookup import not_finite_error
from posvec.query.masked_tokens import factors_of_heads, log_priors
from posvec.query.parsing import parse_integer
from posvec.query.positions import PositionQueries
from posvec.query.subword_lookup import SubwordLookup
from posvec.storage.calibration import Calibration
from posvec.storage.tables import VectorTable
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray, sigmoid
from posvec.system.mapping import check_mapped
from posvec.vocabulary import Vocabulary

ContextWeighting = Literal["trained", "equal"]
WEIGHTINGS = ("trained", "equal")
Ranking = Literal["calibrated", "paper"]
RANKINGS = ("calibrated", "paper")


@dataclass(frozen=True)
class Prediction:
    """A prediction of a masked word.

    Attributes
    ----------
    word
        The predicted word.
    rank
        Its rank among all words of the vocabulary; 1 is best.
    score
        s(w, C) = u_C . v_w
    probability
        P(w | C), or sigma(score) with the ranking of the paper.
    """

    word: str
    rank: int
    score: float
    probability: float


class ContextTerms(NamedTuple):
    """What context words add to u_C: the sum of ``terms``, weighted by position, is divided by the sum of ``sizes``.

    The terms are S_m or u_m, (n, D), and the sizes are R_m or 1 in each head, (n, heads).
    """

    terms: DoubleArray
    sizes: DoubleArray


class MaskedWordQueries(PositionQueries, ABC):
    """Methods of models that compute context vectors and predict masked words."""

    vocabulary: Vocabulary
    output_vectors: VectorTable
    calibration: Calibration | None

    @property
    @abstractmethod
    def vectors(self) -> SubwordLookup: ...

    # ---- contexts -----------------------------------------------------------------------------------------------

    def split(self, sentence: str | Sequence[str]) -> list[str]:
        """Split a sentence into words with the tokenizer of the model, keeping [MASK] and [PAD]."""
        return split_sentence(sentence, self.config.text.tokenizer)

    def counted_words(self, words: Sequence[str]) -> list[str]:
        """Return the words that count as positions: as in training, all words or those that have a vector."""
        if self.config.training.positions != "kept":
            return list(words)
        return [word for word in words if word in (MASK, PAD_WORD) or self.has_vector(word)]

    def has_vector(self, word: str) -> bool:
        """Return whether a word of a sentence has a vector; [MASK] and [PAD] have none."""
        return word not in (MASK, PAD_WORD) and self.vectors.has_vector(word)

    def context(self, sentence: str | Sequence[str], position: int | None = None) -> list[tuple[str, int]]:
        """Return the context words of the [MASK], or of the word at an index, each with its relative position."""
        words = self.split(sentence)
        words = words if position is None else mask_word(words, position)
        return context_of_mask(self.counted_words(words), self.config.model.window, self.has_vector)

    def context_terms(self, words: Iterable[str], weighting: ContextWeighting = "trained") -> ContextTerms:
        """Return what each context word adds to u_C, before it is weighted by its position.

        Parameters
        ----------
        words
            Words that have a vector.
        weighting
            ``trained`` or ``equal``, see :mod:`posvec.query.masked`.

        Returns
        -------
        ContextTerms
            The terms, (n, D), and their sizes in each head, (n, heads).

        Examples
        --------
        >>> import posvec
        >>> terms, sizes = posvec.load("model").context_terms(["cat", "the"])
        >>> terms.shape, sizes.tolist()
        ((2, 32), [[1.0, 7.0], [1.0, 7.0]])
        """
        words = list(words)
        sizes = self.context_sizes(words, weighting)
        sums, counts = self.vectors.row_sums(words)
        return ContextTerms(sums / self.per_feature(counts) if weighting == "equal" else sums, sizes)

    def context_sizes(self, words: Iterable[str], weighting: ContextWeighting = "trained") -> DoubleArray:
        """Return the sizes of :meth:`context_terms` alone, (n, heads): what each context word adds to N."""
        check_weighting(weighting)
        counts = self.vectors.row_counts(words).astype(np.float64)
        if weighting == "trained" and self.config.model.context_mean == "rows":
            return counts
        return np.sign(counts)

    def per_feature(self, divisors: DoubleArray | IndexArray) -> DoubleArray:
        """Return for each feature the divisor of its head, (..., D), from those of the heads, (..., heads).

        Divisors of 0, of a head in which there are no rows to be divided, become 1.
        """
        return self.of_features(np.where(divisors == 0, 1.0, divisors))

    def of_features(self, values: DoubleArray) -> DoubleArray:
        """Return for each feature the value of its head, (..., D), from those of the heads, (..., heads)."""
        return np.repeat(values, [head.dim for head in self.config.heads], axis=-1)

    def contributions(self, context: Sequence[tuple[str, int]], weighting: ContextWeighting = "trained") -> DoubleArray:
        """Return the contribution of each context word to the context vector u_C, which is their sum.

        Parameters
        ----------
        context
            The context words and their positions, as :meth:`context` returns them.
        weighting
            ``trained`` or ``equal``, see :mod:`posvec.query.masked`.

        Returns
        -------
        ndarray
            The contributions, of shape (n, D).

        Examples
        --------
        >>> import numpy as np, posvec
        >>> model = posvec.load("model")
        >>> parts = model.contributions(model.context("the cat [MASK] the dog"))
        >>> np.allclose(parts.sum(0), model.context_vector("the cat [MASK] the dog"))
        True
        """
        terms, sizes = self.context_terms([word for word, _ in context], weighting)
        positional = terms[:, : self.config.model.positional_dim]
        with np.errstate(over="ignore", invalid="ignore"):
            positional *= np.array([self.position(position) for _, position in context]).reshape(positional.shape)
        terms /= self.per_feature(sizes.sum(0))
        if not np.isfinite(terms).all():
            self.check_finite_positions()
            raise not_finite_error(context[int(np.isfinite(terms).all(1).argmin())][0])
        return terms

    def context_vector(
        self,
        sentence: str | Sequence[str],
        position: int | None = None,
        weighting: ContextWeighting = "trained",
    ) -> FloatArray:
        """Return u_C, the context vector of a masked word.

        Parameters
        ----------
        sentence
            A sentence with one [MASK]. [PAD] takes up a position and contributes nothing; words without a vector are
            skipped, as in training.
        position
            The index of the word to mask, in a sentence without [MASK]; the first word has index 0.
        weighting
            ``trained`` weights context words as in the training of this model; ``equal`` gives all of them the same
            weight, as in the paper's qualitative measures. See :mod:`posvec.query.masked`.

        Returns
        -------
        ndarray
            The context vector, of shape (D,).

        Examples
        --------
        >>> import posvec
        >>> posvec.load("model").context_vector("the cat [MASK] the dog").shape
        (32,)
        """
        return self._context_vector(self.context(sentence, position), weighting)

    def _context_vector(self, context: Sequence[tuple[str, int]], weighting: ContextWeighting) -> FloatArray:
        # Summed in an order that does not depend on positions, so that a model without positional features gives
        # permuted sentences exactly the same vector.
        with np.errstate(over="ignore"):
            vector: FloatArray = self.contributions(sorted(context), weighting).sum(0).astype(np.float32)
        if not np.isfinite(vector).all():
            raise PosvecError("the context vector is too large for float32; train the model again at a lower rate")
        return vector

    def weighted(self, word: str, position: int) -> DoubleArray:
        """Return u_w * [d_p, 1, ..., 1], the vector of a word weighted by its position."""
        vector: DoubleArray = self.contributions([(word, position)], "equal")[0]
        return vector

    # ---- predictions --------------------------------------------------------------------------------------------

    @property
    def calibrated(self) -> Calibration:
        """How scores become probabilities: the calibration that was fitted, or else that of theory."""
        return self.calibration or Calibration.of_theory(len(self.config.heads))

    def predict_masked(
        self,
        sentence: str | Sequence[str],
        topn: int = 10,
        words: Sequence[str] = (),
        features: Sequence[int] | None = None,
        weighting: ContextWeighting = "trained",
        ranking: Ranking = "calibrated",
    ) -> list[Prediction]:
        """Predict the masked word of a sentence.

        Parameters
        ----------
        sentence
            A sentence with one [MASK].
        topn
            The number of predictions.
        words
            Return the predictions of these words instead of the best ones.
        features
            Use only these features in the score.
        weighting
            How context words are weighted, see :meth:`context_vector`.
        ranking
            ``calibrated`` ranks words by their probability P(w | C); ``paper`` by their score s(w, C) = u_C . v_w, see
            :mod:`posvec.query.masked`.

        Returns
        -------
        list of Prediction
            The best words, or the given ones, with their ranks, scores and probabilities.

        Examples
        --------
        >>> import posvec
        >>> [each.rank for each in posvec.load("model").predict_masked("the [MASK] sees the dog", topn=2)]
        [1, 2]
        """
        topn = parse_integer("topn", topn)
        if isinstance(words, str):
            raise PosvecError(f"words is a list of words to predict; put {words!r} in a list")
        check_ranking(ranking)
        context = self.context(sentence)
        context_vector = self._context_vector(context, weighting)
        if features is not None:
            dim = len(context_vector)
            used = [parse_integer("a feature", feature, 0) for feature in features]
            if any(feature >= dim for feature in used):
                raise ConfigError(f"a feature is {max(used)}, but must be less than {dim}, the number of features")
            context_vector[np.setdiff1d(np.arange(dim), used)] = 0
        scores = self._scores(context_vector)
        logits = scores if ranking == "paper" else self._logits(context_vector, scores, len(context))
        if words:
            chosen = np.array([self.masked_id(word) for word in words])
            rank = ranks(logits, chosen)
        else:
            chosen = top_indices(logits, topn)
            rank = np.arange(1, len(chosen) + 1)
        best = logits[chosen]
        probabilities = sigmoid(best) if ranking == "paper" else np.exp(best - np.logaddexp.reduce(logits))
        values = zip(*(each.tolist() for each in (chosen, rank, scores[chosen], probabilities)), strict=True)
        return [Prediction(self.vocabulary.words[i], *others) for i, *others in values]

    def _logits(self, context_vector: FloatArray, scores: DoubleArray, length: int) -> DoubleArray:
        """The calibrated scores of all words, with the prior, in a context of so many words."""
        calibration = self.calibrated
        factors = factors_of_heads(self.config, calibration, np.array([length]))[0]
        logits: DoubleArray = log_priors(self.vocabulary, calibration)
        if len(factors) == 1:
            logits += factors[0] * scores
        else:
            logits += self._scores((context_vector * self.of_features(factors)).astype(np.float32))
        return logits

    def masked_id(self, word: str) -> int:
        """Return the row of a word in the output vectors; only words of the vocabulary have one."""
        if word not in self.vocabulary:
            raise UnknownWordError(f"the model cannot predict {word}: not in its vocabulary; try a more frequent word")
        return self.vocabulary.index[word]

    def _scores(self, context_vector: FloatArray) -> DoubleArray:
        """The scores of all words; scaling by a power of two is exact and avoids overflow in float32."""
        check_mapped(self.output_vectors)
        exponent = int(np.frexp(np.abs(context_vector).max())[1])
        with np.errstate(over="ignore", invalid="ignore"):
            products = self.output_vectors @ np.ldexp(context_vector, -exponent)
        scores: DoubleArray = np.ldexp(products.astype(np.float64), exponent)
        if not np.isfinite(scores).all():
            raise not_finite_score_error(self.vocabulary.words[int(np.isfinite(scores).argmin())])
        return scores


def check_weighting(weighting: str) -> None:
    """Raise ConfigError unless this is a weighting of context words."""
    if weighting not in WEIGHTINGS:
        raise ConfigError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")


def check_ranking(ranking: str) -> None:
    """Raise ConfigError unless this is a ranking of words."""
    if ranking not in RANKINGS:
        raise ConfigError(f"ranking must be one of {', '.join(RANKINGS)}, not {ranking!r}")


def not_finite_score_error(word: str) -> PosvecError:
    """Return the error for a masked word whose score is infinite or undefined."""
    return PosvecError(f"the score of {word!r} is not finite; train the model again or restore it from a copy")
