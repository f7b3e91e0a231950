"""Lines of small text files. A malformed line raises an error with its file and number, or is skipped on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from posvec.errors import CorpusError
from posvec.system.console import plural
from posvec.system.files import read_file

T = TypeVar("T")


def parse_lines(path: str | Path, parse: Callable[[str], T], skip_invalid: bool = False) -> tuple[list[T], int]:
    """Parse the non-blank lines of a file; return the parsed lines and the number of malformed lines skipped.

    ``parse`` raises a ValueError that describes what is wrong with a line. Unless ``skip_invalid`` is set, this
    function then raises a CorpusError with the name of the file and the number of the line.

    Examples
    --------
    >>> from posvec.evaluation.lines import fields, parse_lines
    >>> lines, invalid = parse_lines("pairs.tsv", fields)
    >>> lines[0], invalid
    (['cat', 'dog', '9.0'], 0)
    """
    parsed: list[T] = []
    invalid = 0
    content = read_file(Path(path)).removeprefix(b"\xef\xbb\xbf")
    # str.splitlines would also split at form feeds and other characters that editors do not count as line ends.
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = _decode(line).strip()
            if text:
                parsed.append(parse(text))
        except ValueError as error:
            if not skip_invalid:
                raise CorpusError(
                    f"{path}, line {number}: {error}; fix or remove the line, or skip malformed lines with "
                    "--skip-invalid (skip_invalid=True)"
                ) from error
            invalid += 1
    return parsed, invalid


def fields(line: str) -> list[str]:
    """Split a line at tabs, or at spaces if it has no tabs.

    Examples
    --------
    >>> from posvec.evaluation.lines import fields
    >>> fields("New York\\tUSA"), fields("cat dog")
    (['New York', 'USA'], ['cat', 'dog'])
    """
    return [part.strip() for part in line.split("\t")] if "\t" in line else line.split()


def skipped_note(invalid: int) -> str:
    """Return the part of a table's title that reports skipped lines; empty if none were skipped.

    Examples
    --------
    >>> from posvec.evaluation.lines import skipped_note
    >>> skipped_note(2), skipped_note(0)
    ('; 2 malformed lines skipped', '')
    """
    return f"; {plural(invalid, 'malformed line')} skipped" if invalid else ""


def as_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return one or several paths as a list; names of datasets become paths of their (downloaded) files.

    Examples
    --------
    >>> from posvec.evaluation.lines import as_paths
    >>> [path.name for path in as_paths("pairs.tsv")], len(as_paths(["pairs.tsv", "questions.txt"]))
    (['pairs.tsv'], 2)
    """
    from posvec.datasets.library import named_path

    return [named_path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]


def _decode(line: bytes | bytearray) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from error
