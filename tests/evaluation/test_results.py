"""Results of evaluations: tables, JSON, CSV, HTML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from posvec.errors import ConfigError
from posvec.evaluation.results import Result, Table


@dataclass(frozen=True)
class Inner:
    words: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Example(Result):
    name: str
    score: float
    inner: Inner

    def tables(self) -> list[Table]:
        return [Table("main", ("word", "count", "score"), [("<b>", 1200, self.score), ("none", None, np.nan)])]


@pytest.fixture
def example() -> Example:
    return Example("one", 0.12345, Inner(("a", "č"), np.array([[1.5, 2.5]], np.float32)))


def test_to_dict_holds_nested_values_and_arrays_as_json_does(example: Example) -> None:
    assert json.loads(example.to_json()) == {
        "name": "one",
        "score": 0.12345,
        "inner": {"words": ["a", "č"], "values": [[1.5, 2.5]]},
    }


def test_csv_has_unrounded_numbers_and_empty_cells_for_none(example: Example) -> None:
    assert example.to_csv() == "word,count,score\n<b>,1200,0.12345\nnone,,nan\n"


def test_terminal_and_notebook_show_rounded_numbers_and_escape_markup(example: Example) -> None:
    console = Console(width=80, record=True, markup=False)
    console.print(example)
    shown = console.export_text()
    assert "1,200" in shown
    assert "0.123" in shown
    assert "<td>&lt;b&gt;</td><td>1,200</td><td>0.123</td>" in example._repr_html_()


@pytest.mark.parametrize("name", ["out.json", "out.csv"])
def test_the_extension_decides_the_format(example: Example, tmp_path: Path, name: str) -> None:
    example.write(tmp_path / name)
    expected = example.to_json() if name.endswith("json") else example.to_csv()
    assert (tmp_path / name).read_text(encoding="utf-8") == expected


def test_another_extension_is_rejected_and_nothing_is_written(example: Example, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no known result format; use the file extension \.json or \.csv"):
        example.write(tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())
