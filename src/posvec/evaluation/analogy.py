"""Word analogies: a is to b as c is to ?

3CosAdd looks for the word d that maximizes cos(d, b - a + c), 3CosMul for the one that maximizes cos(d, b) cos(d, c) /
(cos(d, a) + eps) with cosines moved to 0..1 (Levy and Goldberg 2014); a, b and c themselves are left out. The words are
unit vectors, and the length of b - a + c does not change which d is best, so both are sums over the words of a
question, the second one of logarithms:

    score(d) = plus[b, d] + plus[c, d] + minus[a, d]

A test set has many questions but few words. All plus and minus of its words come from one matrix product, a block of
candidates at a time; a question costs two additions per candidate.
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
from posvec.evaluation.lines import as_paths, told
from posvec.evaluation.lookup import Lookup, Rows, Unknown
from posvec.evaluation.questions import Question, Section, read_questions
from posvec.evaluation.results import Result, Table
from posvec.system.arrays import FloatArray
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

Method = Literal["3cosadd", "3cosmul"]
METHODS: dict[str, str] = {"3cosadd": "3CosAdd", "3cosmul": "3CosMul"}

WRONG, RIGHT, SKIPPED = 0, 1, -1

_BLOCK = 4096  # candidates at a time: what is held of them for a thousand words stays in the cache
_EPSILON = np.float32(1e-6)  # Compat: gensim's; Levy and Goldberg have 1e-3


@dataclass(frozen=True)
class Tally:
    """The questions of a section, or of several: how many were asked, and how many of these answered right."""

    name: str
    kind: str | None
    accuracy: float | None
    """correct / total, None if no question was asked."""
    coverage: float
    correct: int
    total: int
    skipped: int
    """Questions that were not asked for want of a vector."""


@dataclass(frozen=True)
class AnalogyResult(Result):
    """Accuracy over all questions that were asked, 0 to 1, and what it is made of."""

    accuracy: float
    coverage: float
    correct: int
    total: int
    skipped: int
    sections: tuple[Tally, ...]
    groups: tuple[Tally, ...]
    """Semantic and syntactic questions, where the test set has them apart."""
    questions: tuple[str, ...]
    method: str
    restrict_vocab: int | None
    case_fold: bool
    oov: str
    invalid_lines: int
    outcomes: NDArray[np.int8] = field(repr=False, compare=False)
    """RIGHT, WRONG or SKIPPED, of every question in the order of the files."""
    kinds: NDArray[np.str_] = field(repr=False, compare=False)
    """The kind of every question, or an empty string."""

    def tables(self) -> list[Table]:
        total = Tally("total", None, self.accuracy, self.coverage, self.correct, self.total, self.skipped)
        scope = "all words" if self.restrict_vocab is None else f"{self.restrict_vocab:,} most frequent words"
        return [
            Table(
                f"Analogies ({METHODS[self.method]}, {scope}{told(self.invalid_lines)})",
                ("section", "accuracy", "right", "asked", "skipped", "covered"),
                [
                    (tally.name, tally.accuracy, tally.correct, tally.total, tally.skipped, tally.coverage)
                    for tally in (*self.sections, *self.groups, total)
                ],
                ".1%",
            )
        ]


def evaluate(
    model: Model | WordVectors,
    questions: str | Path | Iterable[str | Path],
    method: Method = "3cosadd",
    restrict_vocab: int | None = 200_000,
    case_fold: bool = True,
    oov: Unknown = "skip",
    skip_invalid: bool = False,
    progress: ProgressCallback | None = None,
) -> AnalogyResult:
    """Ask a model the questions of files or folders (see :func:`posvec.evaluation.questions.read_questions`).

    Questions and answers are limited to the ``restrict_vocab`` most frequent words; None means all. Questions with
    other words are skipped and counted; with ``oov="subwords"`` these words get their vectors from n-grams and can be
    answers too. The score is that of gensim's ``evaluate_word_analogies``. ``progress`` hears the share that is
    done, and ends it all by raising.
    """
    if method not in METHODS:
        raise ConfigError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    paths = as_paths(questions)
    sections, invalid = read_questions(paths, skip_invalid)
    lookup = Lookup(model, restrict_vocab, case_fold, oov)
    asked = [question for section in sections for question in section.questions]
    outcomes = _outcomes(lookup, asked, method, progress)
    if (outcomes == SKIPPED).all():
        raise PosvecError(
            f"none of the {len(outcomes):,} questions of {', '.join(map(str, paths))} can be asked: each has a word "
            f"without a vector, as has: {' '.join([*asked[0][:3], *asked[0].answers])}; give questions in the language "
            "of the model, or a larger restrict_vocab"
        )
    names = np.repeat([i for i, _ in enumerate(sections)], [len(section.questions) for section in sections])
    kinds = np.array([section.kind or "" for section in sections])[names]
    total = _tally("total", None, outcomes)
    assert total.accuracy is not None
    return AnalogyResult(
        total.accuracy,
        total.coverage,
        total.correct,
        total.total,
        total.skipped,
        tuple(_tally(section.name, section.kind, outcomes[names == i]) for i, section in enumerate(sections)),
        tuple(_tally(kind, kind, outcomes[kinds == kind]) for kind in _kinds(sections)),
        tuple(map(str, paths)),
        method,
        restrict_vocab,
        case_fold,
        oov,
        invalid,
        outcomes,
        kinds,
    )


def _kinds(sections: list[Section]) -> list[str]:
    return sorted({section.kind for section in sections if section.kind})


def _tally(name: str, kind: str | None, outcomes: NDArray[np.int8]) -> Tally:
    correct = int((outcomes == RIGHT).sum())
    skipped = int((outcomes == SKIPPED).sum())
    total = len(outcomes) - skipped
    coverage = total / len(outcomes) if len(outcomes) else 0.0
    return Tally(name, kind, correct / total if total else None, coverage, correct, total, skipped)


def _outcomes(
    lookup: Lookup, questions: list[Question], method: Method, progress: ProgressCallback | None
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
        # Sorted by a, then b: what a question has in common with its neighbours is computed once.
        distinct, which = np.unique(np.array(given), axis=0, return_inverse=True)
        answered = _answer(lookup, distinct, method, progress)[which.reshape(-1)].tolist()
        outcomes[asked] = [row in answers for row, answers in zip(answered, accepted, strict=True)]
    return outcomes


def _answer(lookup: Lookup, questions: Rows, method: Method, progress: ProgressCallback | None) -> Rows:
    """The best answer of each question (rows a, b, c, sorted): the row of its most frequent variant, -1 for none."""
    given = np.unique(questions)
    a, b, c = np.searchsorted(given, questions).T
    vectors = lookup.unit(given)
    variants = lookup.first_variants()
    place = np.full(len(lookup), -1)
    place[given] = np.arange(len(given))
    begins = np.flatnonzero(np.diff(a, prepend=-1) | np.diff(b, prepend=-1)).tolist()
    ends = [*begins[1:], len(questions)]

    def best_of_block(begin: int) -> tuple[Rows, FloatArray]:
        block = np.arange(begin, min(begin + _BLOCK, len(lookup)))
        plus, minus = _parts(vectors @ lookup.unit(block).T, method)
        # A word of a question is no answer to it, in upper or lower case: minus infinity in any part makes the sum so.
        # Deviation: gensim gives up after five words, should all be variants of the question's.
        words = place[variants[block]]
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
    blocks = range(0, len(lookup), _BLOCK)
    for done, (best, scores) in enumerate(map_in_order(best_of_block, blocks), 1):
        better = scores > highest  # of equal ones the more frequent word stays
        answers[better], highest[better] = variants[best[better]], scores[better]
        if progress:
            progress(done / len(blocks))
    return answers


def _parts(cosines: FloatArray, method: Method) -> tuple[FloatArray, FloatArray]:
    if method == "3cosadd":
        return cosines, -cosines
    moved = np.maximum((1 + cosines) / 2, np.finfo(np.float32).tiny)  # rounding can take a cosine below -1
    return np.log(moved), -np.log(moved + _EPSILON)
