"""Readers of test sets: analogy questions (Google's format, BATS, tab-separated) and scored pairs of words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from posvec.errors import CorpusError
from posvec.evaluation.crossing import Crossed, largest_sample
from posvec.evaluation.lines import as_paths, each_line, fields, parse_lines
from posvec.system.console import plural
from posvec.system.files import find_files

RelationKind = Literal["semantic", "syntactic"]

QUESTION_LIMIT = 1_000_000
"""The largest number of questions made from pairs, unless there are more pairs. BATS has 98,000."""

SECTION_LIMIT = 10_000
"""The largest number of sections of a file, because a table has a row for each."""


class Question(NamedTuple):
    """An analogy question: a is to b as c is to any of the answers.

    Examples
    --------
    >>> from posvec.evaluation.questions import Question
    >>> Question("man", "king", "woman", ("queen",)).answers
    ('queen',)
    """

    a: str
    b: str
    c: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class QuestionSection:
    """The questions of one relation.

    Attributes
    ----------
    name
        The name of the section, or of the file if it has no sections.
    kind
        Whether the relation is semantic or syntactic; None if the test set does not say.
    questions
        The questions in the order of the file. Those made from pairs are made when they are read.
    left_out
        The number of questions that were left out at random, see :func:`read_questions`.

    Examples
    --------
    >>> from posvec.evaluation.questions import read_questions
    >>> (section,), _ = read_questions("questions.txt")
    >>> section.name, section.kind, len(section.questions), section.left_out
    ('animals', None, 2, 0)
    """

    name: str
    kind: RelationKind | None
    questions: Sequence[Question]
    left_out: int = 0


class Pair(NamedTuple):
    """Two words and the similarity score that people gave them.

    Examples
    --------
    >>> from posvec.evaluation.questions import Pair
    >>> Pair("cat", "dog", 9.0).score
    9.0
    """

    one: str
    other: str
    score: float


def read_questions(
    paths: str | Path | Iterable[str | Path], skip_invalid: bool = False
) -> tuple[list[QuestionSection], int]:
    """Read analogy questions.

    A line ``: name`` begins a section. Other lines have four fields, ``a b c answer``, or two, ``word answer``. Lines
    of two fields are the pairs of one relation, as in BATS: each ordered pair of lines becomes a question. Several
    accepted answers are separated by slashes, ``answer1/answer2``. Fields are separated by tabs or spaces.

    n pairs give n(n - 1) questions. If all pairs give more than ``QUESTION_LIMIT`` questions, and more questions than
    there are pairs, the largest sections are reduced to the same number of questions, which are drawn at random:
    always the same ones for the same files.

    Parameters
    ----------
    paths
        Files, or folders whose .txt files are read recursively.
    skip_invalid
        Skip malformed lines instead of raising an error.

    Returns
    -------
    tuple[list[QuestionSection], int]
        The sections, and the number of malformed lines that were skipped.

    Examples
    --------
    >>> from posvec.evaluation.questions import read_questions
    >>> sections, invalid = read_questions("questions.txt")
    >>> sections[0].name, sections[0].questions[0]
    ('animals', Question(a='cat', b='dog', c='horse', answers=('cow',)))
    """
    sections: list[QuestionSection] = []
    invalid = 0
    for file in _question_files(as_paths(paths)):
        found, skipped = _read_file(file, skip_invalid)
        sections += found
        invalid += skipped
    sections = _limited(sections)
    if not any(section.questions for section in sections):
        raise CorpusError(
            f"there is no question in {', '.join(map(str, as_paths(paths)))}; write one question per line, for "
            "example: Athens Greece Oslo Norway"
        )
    return sections, invalid


def read_pairs(path: str | Path, skip_invalid: bool = False) -> tuple[list[Pair], int]:
    """Read pairs of words with similarity scores.

    Lines have the fields ``word word score``, separated by tabs, commas, semicolons or spaces; further fields are
    ignored. The first line is taken as a header if it contains no number. Lines that begin with # are comments.

    Parameters
    ----------
    path
        The file.
    skip_invalid
        Skip malformed lines instead of raising an error.

    Returns
    -------
    tuple[list[Pair], int]
        The pairs, and the number of malformed lines that were skipped.

    Examples
    --------
    >>> from posvec.evaluation.questions import read_pairs
    >>> pairs, invalid = read_pairs("pairs.tsv")
    >>> pairs[0]
    Pair(one='cat', other='dog', score=9.0)
    """
    may_be_header = True

    def parse(line: str) -> Pair | None:
        nonlocal may_be_header
        first, may_be_header = may_be_header, False
        if line.startswith("#"):
            may_be_header = first
            return None
        try:
            return _pair(line)
        except ValueError:
            if first and not any(map(_is_number, _pair_fields(line))):
                return None
            raise

    parsed, invalid = parse_lines(path, parse, skip_invalid)
    pairs = [pair for pair in parsed if pair]
    if not pairs:
        raise CorpusError(f"there is no pair of words in {path}; write one pair per line, for example: tiger cat 7.35")
    if len({pair.score for pair in pairs}) == 1:
        raise CorpusError(
            f"all pairs of {path} have the score {pairs[0].score:g}; a correlation requires different scores"
        )
    return pairs, invalid


def is_pair_file(path: str | Path) -> bool:
    """Whether most lines of a file are pairs with scores rather than questions.

    Examples
    --------
    >>> from posvec.evaluation.questions import is_pair_file
    >>> is_pair_file("pairs.tsv"), is_pair_file("questions.txt")
    (True, False)
    """
    pairs = 0

    def count(line: str) -> None:
        nonlocal pairs
        _pair(line)
        pairs += 1

    return each_line(path, count, skip_invalid=True) < pairs


def _question_files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        found = find_files(path)
        if path.is_dir():  # BATS contains a metadata file beside its questions
            found = [file for file in found if file.suffix == ".txt"]
            if not found:
                raise CorpusError(f"the folder {path} has no .txt files in it; name a folder that has, or a file")
        files += found
    return files


def _read_file(path: Path, skip_invalid: bool) -> tuple[list[QuestionSection], int]:
    width = 0
    named: list[tuple[str, list[Question], list[_WordAndAnswers]]] = []
    shared = _Shared()

    def parse(line: str) -> None:
        nonlocal width
        if line.startswith(":"):
            if len(named) == SECTION_LIMIT:
                raise CorpusError(f"{path} has more than {SECTION_LIMIT:,} sections; leave some out")
            named.append((line[1:].strip(), [], []))
            return
        parts = fields(line)
        # The first question of a file decides whether its lines have two or four fields.
        if len(parts) not in ((width,) if width else (2, 4)):
            expected = {0: "four, or two", 2: "two, a word and its answer", 4: "four, a b c and the answer"}[width]
            raise ValueError(f"{plural(len(parts), 'field')} instead of {expected}")
        if not all(parts) or not _answers(parts[-1]):
            raise ValueError("one of its fields is empty")
        width = len(parts)
        if not named:
            named.append((path.stem, [], []))
        words = [shared.word(word) for word in parts[:-1]]
        answers = shared.answers(_answers(parts[-1]))
        _, questions, pairs = named[-1]
        if width == 4:
            questions.append(Question(words[0], words[1], words[2], answers))
        else:
            pairs.append(_WordAndAnswers(words[0], answers))

    invalid = each_line(path, parse, skip_invalid)
    google = any(name.startswith("gram") for name, *_ in named)
    return [
        QuestionSection(name, _relation_kind(name, width, google), Crossed(_cross, pairs) if width == 2 else questions)
        for name, questions, pairs in named
    ], invalid


class _WordAndAnswers(NamedTuple):
    """A line of two fields."""

    word: str
    answers: tuple[str, ...]


class _Shared:
    """Keeps equal words, and equal answers, only once: questions repeat them."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._answers: dict[tuple[str, ...], tuple[str, ...]] = {}

    def word(self, word: str) -> str:
        return self._words.setdefault(word, word)

    def answers(self, answers: tuple[str, ...]) -> tuple[str, ...]:
        found = self._answers.get(answers)
        return found or self._answers.setdefault(made := tuple(map(self.word, answers)), made)


def _cross(one: _WordAndAnswers, other: _WordAndAnswers) -> Question:
    return Question(one.word, one.answers[0], other.word, other.answers)


def _limited(sections: list[QuestionSection]) -> list[QuestionSection]:
    """Sections with at most as many questions made from pairs as are allowed."""
    crossed = [section.questions for section in sections if isinstance(section.questions, Crossed)]
    size = largest_sample(
        [made.pairs for made in crossed], max(QUESTION_LIMIT, sum(made.item_count for made in crossed))
    )
    return [
        replace(section, questions=made.limited(size), left_out=made.pairs - size)
        if isinstance(made := section.questions, Crossed) and made.pairs > size
        else section
        for section in sections
    ]


def _relation_kind(name: str, width: int, google: bool) -> RelationKind | None:
    # The names in BATS begin with a letter for Inflections, Derivations, Encyclopedia or Lexicography and a number, for
    # example I01 [noun - plural_reg].
    if width == 2:
        category = re.match(r"([IDEL])\d\d\b", name)
        return None if category is None else "syntactic" if category[1] in "ID" else "semantic"
    if not google:
        return None
    return "syntactic" if name.startswith("gram") else "semantic"


def _answers(field: str) -> tuple[str, ...]:
    return tuple(answer for answer in map(str.strip, field.split("/")) if answer)


def _pair(line: str) -> Pair:
    parts = _pair_fields(line)
    if len(parts) < 3:
        raise ValueError(f"{plural(len(parts), 'field')} instead of three, two words and a score")
    one, other, score = parts[:3]
    if not one or not other:
        raise ValueError("a word is missing")
    if not _is_number(score) or not math.isfinite(float(score)):
        raise ValueError(f"the score {score!r} is not a finite number")
    return Pair(one, other, float(score))


def _pair_fields(line: str) -> list[str]:
    for separator in "\t;,":
        if line.count(separator) >= 2:
            return [part.strip() for part in line.split(separator)]
    return line.split()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None
