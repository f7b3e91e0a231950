"""Fuzz target: files of evaluation questions and word pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from posvec import PosvecError
from posvec.evaluation.questions import is_pair_file, read_pairs, read_questions


def check_questions(data: bytes, folder: Path) -> None:
    """All readers of questions are called; each message is one line."""
    path = folder / "q.txt"
    path.write_bytes(data)
    is_pair_file(path)
    for skip_invalid in (True, False):
        for read in (read_questions, read_pairs):
            message = ""
            try:
                read(path, skip_invalid)
            except PosvecError as error:
                message = str(error)
            assert "\n" not in message


def question_seeds() -> Iterator[bytes]:
    yield b": capital\nAthens Greece Oslo Norway\nOslo Norway Rome Italy/Italia\n: gram1\na\tb c\td\te\n"
    yield b"word,other,score\ntiger,cat,7.35\n# note\ncat,dog,1e1\n"
    yield b"cat cats\ndog dogs/doggies\n"
    yield b"\xef\xbb\xbfone\ttwo\t.5\r\n\xff\n"
