"""Consoles, tables and numbers as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def make_console(stderr: bool = False) -> Console:
    from rich.console import Console

    # No markup and no emoji: words and paths are shown as they are, [brackets] and :colons: too.
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def make_table(*columns: str, numbers: bool = True) -> Any:
    """A table whose columns, but for the first, hold numbers or text."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number and numbers else "left", overflow="fold")
    return table


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError
