"""Lines of small text files. A malformed line raises an error with its file and number, or is skipped on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    invalid = each_line(path, lambda line: parsed.append(parse(line)), skip_invalid)
    return parsed, invalid


def each_line(path: str | Path, process: Callable[[str], object], skip_invalid: bool = False) -> int:
    """Process the non-blank lines of a file like :func:`parse_lines`, without keeping what is returned for them.

    Returns the number of malformed lines that were skipped.

    Examples
    --------
    >>> from posvec.evaluation.lines import each_line
    >>> lengths = []
    >>> each_line("pairs.tsv", lambda line: lengths.append(len(line)))
    0
    >>> lengths[0]
    11
    """
    invalid = 0
    for number, line in enumerate(_lines(read_file(Path(path))), 1):
        try:
            text = _decode(line).strip()
            if text:
                process(text)
        except CorpusError:
            raise
        except ValueError as error:
            if not skip_invalid:
                raise CorpusError(
                    f"{path}, line {number}: {error}; fix or remove the line, or skip malformed lines with "
                    "--skip-invalid (skip_invalid=True)"
                ) from error
            invalid += 1
    return invalid


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


def _lines(content: bytearray) -> Iterator[bytearray]:
    """The lines of a file, one at a time: a list of millions of short lines is many times as large as their text."""
    # str.splitlines would also split at form feeds and other characters that editors do not count as line ends.
    begin = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    while (end := content.find(b"\n", begin)) >= 0:
        yield content[begin:end]
        begin = end + 1
    yield content[begin:]


def _decode(line: bytes | bytearray) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from error
