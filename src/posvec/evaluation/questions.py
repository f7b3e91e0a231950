"""Question and pair files: Google's analogies, BATS, tab-separated questions; pairs of words with a score."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from posvec.errors import CorpusError
from posvec.evaluation.lines import as_paths, fields, parse_lines
from posvec.system.console import plural
from posvec.system.files import find_files

Kind = Literal["semantic", "syntactic"]


class Question(NamedTuple):
    """a is to b as c is to any of the answers."""

    a: str
    b: str
    c: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Questions of one relation."""

    name: str
    kind: Kind | None
    questions: list[Question]


class Pair(NamedTuple):
    """Two words and how similar people find them."""

    one: str
    other: str
    score: float


def read_questions(paths: str | Path | Iterable[str | Path], skip_invalid: bool = False) -> tuple[list[Section], int]:
    """The sections of question files, and how many malformed lines were passed over.

    A line ``: name`` begins a section. Lines have four fields, ``a b c answer``, or two, ``word answer``: the pairs of
    one relation, as BATS has them, each of which then asks for the answer of every other one. ``answer1/answer2`` are
    both accepted. Fields are separated by tabs or spaces. A folder stands for the .txt files in it and below.
    """
    sections: list[Section] = []
    invalid = 0
    for file in _question_files(as_paths(paths)):
        found, passed_over = _read_file(file, skip_invalid)
        sections += found
        invalid += passed_over
    if not any(section.questions for section in sections):
        raise CorpusError(
            f"there is no question in {', '.join(map(str, as_paths(paths)))}; give lines such as: "
            "Athens Greece Oslo Norway"
        )
    return sections, invalid


def read_pairs(path: str | Path, skip_invalid: bool = False) -> tuple[list[Pair], int]:
    """The pairs of a file of lines ``word word score``, and how many malformed lines were passed over.

    Fields are separated by tabs, commas, semicolons or spaces, and more may follow. A first line without a number is
    taken for names of columns, and a line that begins with # for a comment.
    """
    head = True

    def parse(line: str) -> Pair | None:
        nonlocal head
        first, head = head, False
        if line.startswith("#"):
            head = first
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
        raise CorpusError(f"there is no pair of words in {path}; give lines such as: tiger cat 7.35")
    if len({pair.score for pair in pairs}) == 1:
        raise CorpusError(f"all pairs of {path} have the score {pairs[0].score:g}; a correlation needs different ones")
    return pairs, invalid


def is_pair_file(path: str | Path) -> bool:
    """Whether a file holds pairs with scores rather than questions: most of its lines read so."""
    parsed, invalid = parse_lines(path, _pair, skip_invalid=True)
    return len(parsed) > invalid


def _question_files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        found = find_files(path)
        if path.is_dir():  # BATS has a description beside its questions
            found = [file for file in found if file.suffix == ".txt"]
            if not found:
                raise CorpusError(f"the folder {path} has no .txt files in it; name one that has, or a file")
        files += found
    return files


def _read_file(path: Path, skip_invalid: bool) -> tuple[list[Section], int]:
    width = 0

    def parse(line: str) -> str | list[str]:
        nonlocal width
        if line.startswith(":"):
            return line[1:].strip()
        parts = fields(line)
        # The first line says which kind of file it is.
        if len(parts) not in ((width,) if width else (2, 4)):
            expected = {0: "four, or two", 2: "two, a word and its answer", 4: "four, a b c and the answer"}[width]
            raise ValueError(f"{plural(len(parts), 'field')} instead of {expected}")
        if not all(parts) or not _answers(parts[-1]):
            raise ValueError("one of its fields is empty")
        width = len(parts)
        return parts

    parsed, invalid = parse_lines(path, parse, skip_invalid)
    named: list[tuple[str, list[list[str]]]] = []
    for item in parsed:
        if isinstance(item, str):
            named.append((item, []))
        else:
            if not named:
                named.append((path.stem, []))
            named[-1][1].append(item)
    google = any(name.startswith("gram") for name, _ in named)
    return [
        Section(name, _kind(name, width, google), _from_pairs(lines) if width == 2 else list(map(_question, lines)))
        for name, lines in named
    ], invalid


def _kind(name: str, width: int, google: bool) -> Kind | None:
    if width == 2:  # Inflections, Derivations, Encyclopedia and Lexicography of BATS, such as I01 [noun - plural_reg]
        category = re.match(r"([IDEL])\d\d\b", name)
        return None if category is None else "syntactic" if category[1] in "ID" else "semantic"
    if not google:
        return None
    return "syntactic" if name.startswith("gram") else "semantic"


def _question(parts: list[str]) -> Question:
    a, b, c, answers = parts
    return Question(a, b, c, _answers(answers))


def _from_pairs(lines: list[list[str]]) -> list[Question]:
    pairs = [(word, _answers(answers)) for word, answers in lines]
    return [
        Question(a, b[0], c, answers)
        for i, (a, b) in enumerate(pairs)
        for j, (c, answers) in enumerate(pairs)
        if i != j
    ]


def _answers(field: str) -> tuple[str, ...]:
    return tuple(answer for answer in map(str.strip, field.split("/")) if answer)


def _pair(line: str) -> Pair:
    parts = _pair_fields(line)
    if len(parts) < 3:
        raise ValueError(f"{plural(len(parts), 'field')} instead of three, two words and a score")
    one, other, score = parts[:3]
    if not one or not other:
        raise ValueError("a word is missing")
    if not _is_number(score):
        raise ValueError(f"the score {score!r} is not a number")
    return Pair(one, other, float(score))


def _pair_fields(line: str) -> list[str]:
    for separator in "\t;,":
        if line.count(separator) >= 2:
            return [part.strip() for part in line.split(separator)]
    return line.split()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None
