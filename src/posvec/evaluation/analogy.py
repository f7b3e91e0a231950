"""Word analogies: a is to b as c is to which word?

See :mod:`posvec.evaluation.analogy_search` for the definition of the answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.sources import ProgressCallback
from posvec.errors import ConfigError, PosvecError
from posvec.evaluation.analogy_search import AnalogyMethod, best_answers
from posvec.evaluation.lines import as_paths, skipped_note
from posvec.evaluation.lookup import Lookup, UnknownWordPolicy
from posvec.evaluation.questions import Question, QuestionSection, read_questions
from posvec.evaluation.results import Result, Table
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

METHODS: dict[str, str] = {"3cosadd": "3CosAdd", "3cosmul": "3CosMul"}

WRONG, RIGHT, SKIPPED = 0, 1, -1


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
    left_out
        The number of questions that were left out at random because there are too many, see
        :func:`posvec.evaluation.questions.read_questions`.
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
    left_out: int
    outcomes: NDArray[np.int8] = field(repr=False, compare=False)
    kinds: NDArray[np.str_] = field(repr=False, compare=False)

    def tables(self) -> list[Table]:
        """Return one table with a row for each section, each group and the total."""
        total = AnswerCounts("total", None, self.accuracy, self.coverage, self.correct, self.total, self.skipped)
        scope = "all words" if self.restrict_vocab is None else f"{self.restrict_vocab:,} most frequent words"
        return [
            Table(
                f"Analogies ({METHODS[self.method]}, {scope}{self._sample_note()}{skipped_note(self.invalid_lines)})",
                ("section", "accuracy", "correct", "total", "skipped", "coverage"),
                [
                    (counts.name, counts.accuracy, counts.correct, counts.total, counts.skipped, counts.coverage)
                    for counts in (*self.sections, *self.groups, total)
                ],
                ".1%",
            )
        ]

    def _sample_note(self) -> str:
        size = self.total + self.skipped
        return f"; a random sample of {size:,} of {size + self.left_out:,} questions" if self.left_out else ""


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
    outcomes = _outcomes(lookup, sections, method, progress)
    if (outcomes == SKIPPED).all():
        first = next(section.questions[0] for section in sections if section.questions)
        raise PosvecError(
            f"none of the {len(outcomes):,} questions of {', '.join(map(str, paths))} can be asked, because each has a "
            f"word without a vector, for example: {' '.join([*first[:3], *first.answers[:10]])}; use questions in the "
            "language of the model, or a larger restrict_vocab"
        )
    sizes = [len(section.questions) for section in sections]
    kinds = np.repeat(np.array([section.kind or "" for section in sections]), sizes)
    by_section = np.split(outcomes, np.cumsum(sizes)[:-1])
    total = _answer_counts("total", None, outcomes)
    assert total.accuracy is not None
    return AnalogyResult(
        total.accuracy,
        total.coverage,
        total.correct,
        total.total,
        total.skipped,
        tuple(
            _answer_counts(section.name, section.kind, part) for section, part in zip(sections, by_section, strict=True)
        ),
        tuple(_answer_counts(kind, kind, outcomes[kinds == kind]) for kind in _kinds(sections)),
        tuple(map(str, paths)),
        method,
        restrict_vocab,
        case_fold,
        oov,
        invalid,
        sum(section.left_out for section in sections),
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
    lookup: Lookup, sections: list[QuestionSection], method: AnalogyMethod, progress: ProgressCallback | None
) -> NDArray[np.int8]:
    outcomes = np.full(sum(len(section.questions) for section in sections), SKIPPED, np.int8)
    # Arrays, because millions of questions as Python's objects take gigabytes.
    asked, given, accepted = array("q"), array("q"), array("q")
    answer_rows = _AnswerRows(lookup)
    for i, question in enumerate(question for section in sections for question in section.questions):
        a, b, c = lookup.row(question.a), lookup.row(question.b), lookup.row(question.c)
        answers = answer_rows.number(question)
        if a is not None and b is not None and c is not None and answers is not None:
            asked.append(i)
            given.extend((a, b, c))
            accepted.append(answers)
    if asked:
        # np.unique also sorts by a and then b, so that questions with the same a and b are adjacent.
        distinct, inverse = np.unique(np.frombuffer(given, np.int64).reshape(-1, 3), axis=0, return_inverse=True)
        answered = best_answers(lookup, distinct, method, progress)[inverse.reshape(-1)]
        outcomes[np.frombuffer(asked, np.int64)] = [
            row in answer_rows.rows[answers] for row, answers in zip(answered.tolist(), accepted, strict=True)
        ]
    return outcomes


class _AnswerRows:
    """The rows of accepted answers. Questions made from pairs have the same answers as many others."""

    def __init__(self, lookup: Lookup) -> None:
        self.rows: list[frozenset[int]] = []
        self._lookup = lookup
        self._numbers: dict[tuple[str, ...], int | None] = {}

    def number(self, question: Question) -> int | None:
        """The index in ``rows`` of the answers to a question; None if no answer has a vector."""
        if question.answers not in self._numbers:
            rows = frozenset(row for row in map(self._lookup.row, question.answers) if row is not None)
            self._numbers[question.answers] = len(self.rows) if rows else None
            if rows:
                self.rows.append(rows)
        return self._numbers[question.answers]
