"""Lines of small text files: what is malformed is named by file and line, or passed over on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from posvec.errors import CorpusError
from posvec.system.console import plural
from posvec.system.files import read_file

T = TypeVar("T")


def parse_lines(path: str | Path, parse: Callable[[str], T], skip_invalid: bool = False) -> tuple[list[T], int]:
    """What ``parse`` makes of every line that is not blank, and how many malformed ones were passed over.

    ``parse`` raises a ValueError that says what is wrong with a line; unless ``skip_invalid``, so does this function,
    with the name of the file and the number of the line.
    """
    parsed: list[T] = []
    invalid = 0
    content = read_file(Path(path)).removeprefix(b"\xef\xbb\xbf")
    # Not splitlines, which also cuts at form feeds and other characters that editors do not count as ends of lines.
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = _decode(line).strip()
            if text:
                parsed.append(parse(text))
        except ValueError as error:
            if not skip_invalid:
                raise CorpusError(
                    f"{path}, line {number}: {error}; mend or remove the line; evaluations pass over such lines with "
                    "--skip-invalid (skip_invalid=True)"
                ) from error
            invalid += 1
    return parsed, invalid


def fields(line: str) -> list[str]:
    """The parts of a line between tabs, which may hold spaces, or where there are none, between spaces."""
    return [part.strip() for part in line.split("\t")] if "\t" in line else line.split()


def told(invalid: int) -> str:
    """How the title of a table says that lines were passed over, if any were."""
    return f"; {plural(invalid, 'malformed line')} passed over" if invalid else ""


def as_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """One path or several, as a list; the name of a dataset stands for its file, fetched if need be."""
    from posvec.datasets.library import named_path

    return [named_path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]


def _decode(line: bytes | bytearray) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from error
