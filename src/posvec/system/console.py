"""Formatting for people: consoles, tables and numbers."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from posvec.system.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


def make_console(stderr: bool = False) -> Console:
    """Create a console that prints words and paths unchanged, also if they have [brackets] or :colons:.

    Control characters are shown as symbols. Text for standard error, which shows progress, is dropped if its reader or
    the terminal is gone, because that is no reason to end hours of work.
    """
    file: Any = _TolerantStderr() if stderr else None
    return _printable_console()(stderr=stderr, file=file, markup=False, emoji=False, highlight=False, soft_wrap=True)


def print_any_text() -> None:
    """Print an escape for each character that the encoding of the terminal does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Print a line on standard error if that is possible, with control characters shown as symbols."""
    _TolerantStderr().write(f"{printable(text)}\n")


def echo(text: object) -> None:
    """Print lines of a result on standard output: unchanged into a file or pipe, printable in a terminal."""
    import click

    # Without color=True, click removes what looks like a colour from text that is not for a terminal.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(printable(str(text)) if is_terminal else str(text), color=True)


@functools.cache
def _printable_console() -> type[Console]:
    """A console that replaces control characters in all text that it is asked to print."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    class PrintableConsole(Console):
        def render_str(self, text: str, *arguments: Any, **options: Any) -> Text:
            # Before widths of columns are computed.
            return super().render_str(printable(text), *arguments, **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                is_text = segment.control is None
                yield Segment(printable(segment.text), segment.style) if is_text else segment

    return PrintableConsole


class _TolerantStderr:
    """Standard error of the moment, without the errors of a closed terminal or pipe."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # gone, closed by this process, or never there
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def _stream(self) -> Any:
        # rich replaces sys.stderr while it shows a progress bar.
        return getattr(sys.stderr, "rich_proxied_file", sys.stderr)


def make_table(*columns: str, numbers: bool = True) -> Any:
    """Create a table; all columns but the first are aligned to the right if they hold numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number and numbers else "left", overflow="fold")
    return table


def plural(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> plural(1, "word"), plural(2000, "word"), plural(0, "entry", "entries")
    ('1 word', '2,000 words', '0 entries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_size(count: float) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> format_size(12), format_size(1_500_000)
    ('12 B', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError
