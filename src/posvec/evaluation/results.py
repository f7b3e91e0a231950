"""What every measure returns: frozen values that show themselves as a table, in the terminal, a notebook or a file."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.errors import ConfigError
from posvec.system.atomic import replacing


@dataclass(frozen=True)
class Table:
    """A title, names of columns, and rows; numbers stay numbers until they are shown."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    number_format: str = ".3f"

    def shown(self) -> list[list[str]]:
        """The rows as people read them: floats rounded, thousands apart, nothing for None."""
        return [[_show(cell, self.number_format) for cell in row] for row in self.rows]


class Result:
    """Mixed into a frozen dataclass of values and settings; it says how to lay them out in :meth:`tables`."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables of this result, the main one first."""

    def to_dict(self) -> dict[str, Any]:
        """Everything but what ``repr`` leaves out too (values in bulk, for further computing), as JSON can hold it."""
        return _fields(self)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def main_table(self) -> Table:
        """What goes into CSV, which holds one table."""
        return self.tables()[0]

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        main = self.main_table()
        writer.writerow(main.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in main.rows)
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write JSON or CSV, as the ending of the name says."""
        path = Path(path)
        check_ending(path)
        with replacing(path) as file:
            file.write((self.to_json() if path.suffix == ".json" else self.to_csv()).encode())

    def __rich__(self) -> Any:
        from rich.console import Group

        return Group(*(rich_table(table) for table in self.tables()))

    def _repr_html_(self) -> str:
        return "\n".join(html_table(table) for table in self.tables())


def check_ending(path: Path) -> None:
    """Raises unless a result can be written under this name."""
    if path.suffix not in (".json", ".csv"):
        raise ConfigError(f"{path} should end in .json or .csv, so that it is clear what to write")


def rich_table(table: Table) -> Any:
    """For the terminal: the title above the rows."""
    from rich.console import Group
    from rich.text import Text

    from posvec.system.console import make_table

    shown = make_table(*table.columns)
    for column, cells in zip(shown.columns, zip(*table.rows, strict=True), strict=False):
        column.justify = "left" if any(isinstance(cell, str) for cell in cells) else "right"
    for row in table.shown():
        shown.add_row(*row)
    return Group(Text(table.title, "bold"), shown) if table.title else shown


def html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.shown()
    )
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>"


def _show(cell: object, number_format: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:{number_format}}" if isinstance(cell, float) else str(cell)


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
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return value.tolist()
    return str(value) if isinstance(value, Path) else value
