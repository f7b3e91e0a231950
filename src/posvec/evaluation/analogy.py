"""Word analogies: a is to b as c is to which word?

3CosAdd answers with the word d that maximizes cos(d, b - a + c), 3CosMul with the word that maximizes
cos(d, b) cos(d, c) / (cos(d, a) + eps), where cosines are shifted to 0..1 (Levy and Goldberg 2014). The words a, b and
c themselves are excluded. The word vectors have length 1, and the length of b - a + c does not affect which d is best,
so both scores are sums over the words of the question (for 3CosMul, sums of logarithms):

    score(d) = plus[b, d] + plus[c, d] + minus[a, d]

A test set has many questions but few distinct words. One matrix product per chunk of candidates gives plus and minus
for all of them, so a question costs only two additions per candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.sources import ProgressCallback
from posvec.errors import ConfigError, PosvecError
from posvec.evaluation.lines import as_paths, skipped_note
from posvec.evaluation.lookup import Lookup, UnknownWordPolicy
from posvec.evaluation.questions import Question, QuestionSection, read_questions
from posvec.evaluation.results import Result, Table
from posvec.system.arrays import FloatArray, IndexArray
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

AnalogyMethod = Literal["3cosadd", "3cosmul"]
METHODS: dict[str, str] = {"3cosadd": "3CosAdd", "3cosmul": "3CosMul"}

WRONG, RIGHT, SKIPPED = 0, 1, -1

CANDIDATE_CHUNK = 4096
"""Candidates per matrix product, few enough that the scores of a thousand words stay in the cache."""

_EPSILON = np.float32(1e-6)  # Compat: the value in gensim; Levy and Goldberg use 1e-3


@dataclass(frozen=True)
class AnswerCounts:
    """The number of right answers to the questions of one or several sections.

    Attributes
    ----------
    name
        The name of the section.
    kind
        "semantic", "syntactic", or None if the test set does not say.
    accuracy
        ``correct / total``; None if no question was asked.
    coverage
        The fraction of questions that were asked.
    correct
        The number of questions answered correctly.
    total
        The number of questions that were asked.
    skipped
        The number of questions that were not asked because a word has no vector.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import analogy
    >>> (animals,) = analogy.evaluate(posvec.load("model"), "questions.txt").sections
    >>> animals.name, animals.total, animals.accuracy == animals.correct / animals.total
    ('animals', 2, True)
    """

    name: str
    kind: str | None
    accuracy: float | None
    coverage: float
    correct: int
    total: int
    skipped: int


@dataclass(frozen=True)
class AnalogyResult(Result):
    """The accuracy of a model on analogy questions.

    Attributes
    ----------
    accuracy
        ``correct / total``, between 0 and 1.
    coverage
        The fraction of questions that were asked.
    correct, total, skipped
        The numbers of questions that were answered correctly, that were asked, and that were not asked because a word
        has no vector.
    sections
        The counts of each section.
    groups
        The counts of semantic and of syntactic questions, if the test set distinguishes them.
    questions
        The paths of the question files.
    method, restrict_vocab, case_fold, oov
        The arguments of :func:`evaluate`.
    invalid_lines
        The number of malformed lines that were skipped.
    outcomes
        ``RIGHT``, ``WRONG`` or ``SKIPPED`` for each question in the order of the files; not written to files.
    kinds
        The kind of each question, or an empty string; not written to files.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import analogy
    >>> result = analogy.evaluate(posvec.load("model"), "questions.txt", method="3cosmul")
    >>> result.method, result.questions, len(result.outcomes)
    ('3cosmul', ('questions.txt',), 2)
    """

    accuracy: float
    coverage: float
    correct: int
    total: int
    skipped: int
    sections: tuple[AnswerCounts, ...]
    groups: tuple[AnswerCounts, ...]
    questions: tuple[str, ...]
    method: str
    restrict_vocab: int | None
    case_fold: bool
    oov: str
    invalid_lines: int
    outcomes: NDArray[np.int8] = field(repr=False, compare=False)
    kinds: NDArray[np.str_] = field(repr=False, compare=False)

    def tables(self) -> list[Table]:
        """Return one table with a row for each section, each group and the total."""
        total = AnswerCounts("total", None, self.accuracy, self.coverage, self.correct, self.total, self.skipped)
        scope = "all words" if self.restrict_vocab is None else f"{self.restrict_vocab:,} most frequent words"
        return [
            Table(
                f"Analogies ({METHODS[self.method]}, {scope}{skipped_note(self.invalid_lines)})",
                ("section", "accuracy", "correct", "total", "skipped", "coverage"),
                [
                    (counts.name, counts.accuracy, counts.correct, counts.total, counts.skipped, counts.coverage)
                    for counts in (*self.sections, *self.groups, total)
                ],
                ".1%",
            )
        ]


def evaluate(
    model: Model | WordVectors,
    questions: str | Path | Iterable[str | Path],
    method: AnalogyMethod = "3cosadd",
    restrict_vocab: int | None = 200_000,
    case_fold: bool = True,
    oov: UnknownWordPolicy = "skip",
    skip_invalid: bool = False,
    progress: ProgressCallback | None = None,
) -> AnalogyResult:
    """Measure the accuracy of a model on word analogies.

    With the default arguments but ``restrict_vocab=300_000``, the accuracy equals that of gensim's
    ``evaluate_word_analogies``.

    Parameters
    ----------
    model
        A model or word vectors.
    questions
        Files or folders of questions, see :func:`posvec.evaluation.questions.read_questions`, or names of datasets.
    method
        "3cosadd" or "3cosmul".
    restrict_vocab
        Questions and answers are limited to this many most frequent words; None means all words. Questions with other
        words are skipped and counted.
    case_fold
        Treat words that differ only in case as the same word.
    oov
        With "subwords", words outside the vocabulary get vectors from their n-grams and can also be answers.
    skip_invalid
        Skip malformed lines instead of raising an error.
    progress
        Called with the fraction that is done. An exception that it raises ends the evaluation.

    Returns
    -------
    AnalogyResult
        The accuracy, in total and by section.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import analogy
    >>> result = analogy.evaluate(posvec.load("model"), "questions.txt")
    >>> result.total, result.skipped, result.coverage
    (2, 0, 1.0)
    >>> [section.name for section in result.sections]
    ['animals']
    """
    if method not in METHODS:
        raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    paths = as_paths(questions)
    sections, invalid = read_questions(paths, skip_invalid)
    lookup = Lookup(model, restrict_vocab, case_fold, oov)
    asked = [question for section in sections for question in section.questions]
    outcomes = _outcomes(lookup, asked, method, progress)
    if (outcomes == SKIPPED).all():
        raise PosvecError(
            f"none of the {len(outcomes):,} questions of {', '.join(map(str, paths))} can be asked, because each has a "
            f"word without a vector, for example: {' '.join([*asked[0][:3], *asked[0].answers])}; use questions in the "
            "language of the model, or a larger restrict_vocab"
        )
    names = np.repeat([i for i, _ in enumerate(sections)], [len(section.questions) for section in sections])
    kinds = np.array([section.kind or "" for section in sections])[names]
    total = _answer_counts("total", None, outcomes)
    assert total.accuracy is not None
    return AnalogyResult(
        total.accuracy,
        total.coverage,
        total.correct,
        total.total,
        total.skipped,
        tuple(_answer_counts(section.name, section.kind, outcomes[names == i]) for i, section in enumerate(sections)),
        tuple(_answer_counts(kind, kind, outcomes[kinds == kind]) for kind in _kinds(sections)),
        tuple(map(str, paths)),
        method,
        restrict_vocab,
        case_fold,
        oov,
        invalid,
        outcomes,
        kinds,
    )


def _kinds(sections: list[QuestionSection]) -> list[str]:
    return sorted({section.kind for section in sections if section.kind})


def _answer_counts(name: str, kind: str | None, outcomes: NDArray[np.int8]) -> AnswerCounts:
    correct = int((outcomes == RIGHT).sum())
    skipped = int((outcomes == SKIPPED).sum())
    total = len(outcomes) - skipped
    coverage = total / len(outcomes) if len(outcomes) else 0.0
    return AnswerCounts(name, kind, correct / total if total else None, coverage, correct, total, skipped)


def _outcomes(
    lookup: Lookup, questions: list[Question], method: AnalogyMethod, progress: ProgressCallback | None
) -> NDArray[np.int8]:
    outcomes = np.full(len(questions), SKIPPED, np.int8)
    asked, given, accepted = [], [], []
    for i, question in enumerate(questions):
        a, b, c = (lookup.row(word) for word in question[:3])
        answers = {row for row in map(lookup.row, question.answers) if row is not None}
        if a is not None and b is not None and c is not None and answers:
            asked.append(i)
            given.append((a, b, c))
            accepted.append(answers)
    if asked:
        # np.unique also sorts by a and then b, so that questions with the same a and b are adjacent.
        distinct, inverse = np.unique(np.array(given), axis=0, return_inverse=True)
        answered = _answer(lookup, distinct, method, progress)[inverse.reshape(-1)].tolist()
        outcomes[asked] = [row in answers for row, answers in zip(answered, accepted, strict=True)]
    return outcomes


def _answer(
    lookup: Lookup, questions: IndexArray, method: AnalogyMethod, progress: ProgressCallback | None
) -> IndexArray:
    """The row of the best answer to each question, -1 if there is none.

    Questions are sorted triples of rows (a, b, c). The row of an answer is that of its most frequent case variant.
    """
    given = np.unique(questions)
    a, b, c = np.searchsorted(given, questions).T
    vectors = lookup.unit_vectors(given)
    variants = lookup.case_variants()
    given_index = np.full(len(lookup), -1)
    given_index[given] = np.arange(len(given))
    begins = np.flatnonzero(np.diff(a, prepend=-1) | np.diff(b, prepend=-1)).tolist()
    ends = [*begins[1:], len(questions)]

    def best_of_chunk(begin: int) -> tuple[IndexArray, FloatArray]:
        chunk = np.arange(begin, min(begin + CANDIDATE_CHUNK, len(lookup)))
        plus, minus = _score_terms(vectors @ lookup.unit_vectors(chunk).T, method)
        # The words of a question and their case variants are excluded: a term of minus infinity excludes a candidate.
        # Deviation: gensim considers only its five best candidates and finds no answer if all of them are excluded.
        words = given_index[variants[chunk]]
        (candidates,) = np.nonzero(words >= 0)
        plus[words[candidates], candidates] = minus[words[candidates], candidates] = -np.inf
        best = np.empty(len(questions), np.intp)
        scores = np.empty(len(questions), np.float32)
        for first, last in zip(begins, ends, strict=True):
            sums = plus[c[first:last]]
            sums += plus[b[first]] + minus[a[first]]
            best[first:last] = sums.argmax(1)
            scores[first:last] = sums[np.arange(last - first), best[first:last]]
        return best + begin, scores

    answers = np.full(len(questions), -1)
    highest = np.full(len(questions), -np.inf, np.float32)
    chunks = range(0, len(lookup), CANDIDATE_CHUNK)
    for done, (best, scores) in enumerate(map_in_order(best_of_chunk, chunks), 1):
        better = scores > highest  # strictly: of equal candidates the more frequent word wins
        answers[better], highest[better] = variants[best[better]], scores[better]
        if progress:
            progress(done / len(chunks))
    return answers


def _score_terms(cosines: FloatArray, method: AnalogyMethod) -> tuple[FloatArray, FloatArray]:
    """The terms plus and minus of the module's docstring."""
    if method == "3cosadd":
        return cosines, -cosines
    shifted = np.maximum((1 + cosines) / 2, np.finfo(np.float32).tiny)  # rounding can produce a cosine below -1
    return np.log(shifted), -np.log(shifted + _EPSILON)
