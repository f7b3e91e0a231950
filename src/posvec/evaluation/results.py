"""Results of evaluations: immutable dataclasses that render as tables in a terminal or notebook, as JSON and as CSV."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.errors import ConfigError
from posvec.system.atomic import replacing
from posvec.system.printable import printable, spreadsheet_cell
from posvec.system.utf8 import encode_json, encode_text


@dataclass(frozen=True)
class Table:
    """A table with typed cells; numbers are formatted only when the table is displayed.

    Attributes
    ----------
    title
        The caption of the table; it may be empty.
    columns
        The names of the columns.
    rows
        The cells. CSV files contain them unrounded.
    number_format
        The format of floats for display, for example ``".1%"``.

    Examples
    --------
    >>> from posvec.evaluation.results import Table
    >>> Table("Sizes", ("name", "words", "score"), [("small", 12000, 0.12345), ("empty", 0, None)]).formatted_rows()
    [['small', '12,000', '0.123'], ['empty', '0', '']]
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    number_format: str = ".3f"

    def formatted_rows(self) -> list[list[str]]:
        """Format the cells for display: floats are rounded, thousands are separated and None is empty."""
        return [[_format_cell(cell, self.number_format) for cell in row] for row in self.rows]


class Result:
    """The base class of results: a frozen dataclass that implements :meth:`tables`.

    Examples
    --------
    >>> from posvec.evaluation.positions import PositionImportance
    >>> result = PositionImportance({"model": {-1: 1.0, 1: 0.0}})
    >>> result.to_dict()
    {'models': {'model': {'-1': 1.0, '1': 0.0}}}
    >>> print(result.to_csv())
    position,model
    -1,1.0
    +1,0.0
    """

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables of this result, the main table first."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to values that JSON supports, without the fields that ``repr`` omits (large arrays)."""
        return _fields(self)

    def to_json(self) -> str:
        """Convert to JSON."""
        return encode_json(self.to_dict(), indent=2).decode()

    def main_table(self) -> Table:
        """Return the table that is written as CSV, since a CSV file contains only one."""
        return self.tables()[0]

    def to_csv(self) -> str:
        """Convert the main table to CSV with unrounded numbers.

        Spreadsheets take text that begins with ``=``, ``@``, ``+``, ``-``, a tab or a carriage return for a formula.
        Such a cell gets an apostrophe before it, unless it is a number or a single character.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        main = self.main_table()
        for row in (main.columns, *main.rows):
            writer.writerow(
                spreadsheet_cell(cell) if isinstance(cell, str) else "" if cell is None else cell for cell in row
            )
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write the result to a file.

        Parameters
        ----------
        path
            The file. Its extension is ``.json`` for the whole result or ``.csv`` for the main table.

        Raises
        ------
        ConfigError
            If the file has another extension.
        """
        path = Path(path)
        check_extension(path)
        with replacing(path) as file:
            file.write(encode_text(self.to_json() if path.suffix == ".json" else self.to_csv()))

    def __rich__(self) -> Any:
        from rich.console import Group

        return Group(*(rich_table(table) for table in self.tables()))

    def _repr_html_(self) -> str:
        return "\n".join(html_table(table) for table in self.tables())


def check_extension(path: Path) -> None:
    """Raise unless a result can be written to a file of this name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from posvec.evaluation.results import check_extension
    >>> check_extension(Path("result.json"))
    >>> check_extension(Path("result.xlsx"))
    Traceback (most recent call last):
    posvec.errors.ConfigError: result.xlsx has no known result format; use the file extension .json or .csv
    """
    if path.suffix not in (".json", ".csv"):
        raise ConfigError(f"{path} has no known result format; use the file extension .json or .csv")


def rich_table(table: Table) -> Any:
    """Render a table for the terminal, with its title above it.

    Examples
    --------
    >>> from posvec.evaluation.results import Table, rich_table
    >>> rendered = rich_table(Table("", ("word", "score"), [("cat", 0.5), ("dog", 0.25)]))
    >>> [column.justify for column in rendered.columns], rendered.row_count
    (['left', 'right'], 2)
    """
    from rich.console import Group
    from rich.text import Text

    from posvec.system.console import make_table

    rendered = make_table(*table.columns)
    for column, cells in zip(rendered.columns, zip(*table.rows, strict=True), strict=False):
        column.justify = "left" if any(isinstance(cell, str) for cell in cells) else "right"
    for row in table.formatted_rows():
        rendered.add_row(*row)
    return Group(Text(table.title, "bold"), rendered) if table.title else rendered


def html_table(table: Table) -> str:
    """Render a table as HTML.

    Examples
    --------
    >>> from posvec.evaluation.results import Table, html_table
    >>> print(html_table(Table("", ("word", "score"), [("cat", 0.5)])))
    <table><thead><tr><th>word</th><th>score</th></tr></thead><tbody>
    <tr><td>cat</td><td>0.500</td></tr>
    </tbody></table>
    """
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.formatted_rows()
    )
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return printable(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>")


def _format_cell(cell: object, number_format: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:{number_format}}" if isinstance(cell, float) else printable(str(cell))


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr}


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return value.tolist()
    return str(value) if isinstance(value, Path) else value
