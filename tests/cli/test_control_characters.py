"""Words with control characters: what commands show in a terminal, write into files, and draw."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from posvec import plots
from posvec.cli import main
from posvec.cli.model_report import render_model_report
from posvec.evaluation.clusters import find
from posvec.evaluation.context_words import top
from posvec.evaluation.masked import explain, predict
from posvec.evaluation.results import Table
from posvec.plots.page import write_page
from posvec.system.printable import printable, spreadsheet_cell

# A title of the window, colours, a carriage return, C1's CSI, formulas of spreadsheets, a formula of matplotlib.
WORDS = ["\x1b]0;owned\x07", "\x1b[31mred", "a\rb", "a\x9b2Jb", "=1+1", "@sum", "-x", "$\\frac{$", "del\x7f", "cat"]
CONTROLS = {chr(code) for code in (*range(32), *range(0x7F, 0xA0))} - {"\t", "\n", "\r"}
FORMULAS = ("=1+1", "@sum", "+cmd|x", "-x", "--", "\tx", "\rx", "=\n1", "-1-1", "+1e", "-1e5x")
INERT = ("-1", "-1.5", "+2", "-.5", "-1e-05", "+1.", "-inf", "-", "=", "", "cat", "a=b", "'x", "1-1")


@pytest.fixture(scope="module")
def model(build_model):
    draw = np.random.default_rng(1)
    positional = draw.uniform(0, 0.3, (4, 12))
    positional[1, :4] += 8
    positional[2, 4:8] += 8
    positional[:, 8:] += 2
    inputs = {word: row.tolist() for word, row in zip(WORDS, draw.normal(size=(len(WORDS), 12)), strict=True)}
    return build_model(inputs, draw.normal(size=(len(WORDS), 12)), positional, tokenizer="whitespace")


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "\x1b[31mmodel"
    model.save(path)
    return path


def in_terminal(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> str:
    """What commands write to a terminal, as standard output and standard error."""
    ours, theirs = pty.openpty()
    received: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                received.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with monkeypatch.context() as patch, os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        for arguments in commands:
            patch.setattr(sys, "argv", ["posvec", *arguments])
            with pytest.raises(SystemExit):
                main()
    reader.join(60)
    os.close(ours)
    return b"".join(received).decode()


def test_no_control_character_of_a_word_or_a_name_reaches_a_terminal(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(saved)
    shown = in_terminal(
        [
            ["neighbors", model, *WORDS[:4]],
            ["neighbors", model, "cat", "--tsv"],
            ["neighbors", model, "cat", "--json"],
            ["analogy", model, *WORDS[:3]],
            ["vector", model, WORDS[0]],
            ["vector", model, "un\x1bknown"],
            ["mask", model, "cat [MASK] del\x7f"],
            ["mask", model, "cat [MASK]", "--json"],
            ["clusters", model],
            ["context-words", model],
            ["info", model],
            ["vocab", model],
            ["positions", model],
            ["info", "no\x1bsuch"],
            ["neighbors", model, "--no-such-\x1b"],
            ["evaluate", "analogy", model, "no\x1bfile"],
            ["train", "no\x1bcorpus", "-o", "x\x1b"],
        ],
        monkeypatch,
    )
    assert {each for each in shown if each in CONTROLS} == set()
    for word in ("␛]0;owned␇", "␛[31mred", "a␍b", "a�2Jb", "del␡", "no␛such", "no␛file", "no␛corpus"):
        assert word in shown, word


def test_words_reach_files_and_pipes_unchanged(posvec_command, saved: Path) -> None:
    lines = posvec_command("neighbors", saved, "cat", "-n", len(WORDS), "--tsv").out.split("\n")
    assert {line.split("\t")[1] for line in lines if line} == set(WORDS) - {"cat"}
    found = json.loads(posvec_command("neighbors", saved, "cat", "-n", len(WORDS), "--json").out)
    assert {each["word"] for each in found["cat"]} == set(WORDS) - {"cat"}
    assert posvec_command("vector", saved, WORDS[1]).out.startswith(f"{WORDS[1]} ")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        *((text, f"'{text}") for text in FORMULAS),
        *((text, text) for text in INERT),
    ],
)
def test_text_that_a_spreadsheet_would_evaluate_gets_an_apostrophe(text: str, escaped: str) -> None:
    assert spreadsheet_cell(text) == escaped


def test_csv_files_hold_no_formulas_and_negative_numbers_stay_numbers(model, tmp_path: Path) -> None:
    contributions = explain(model, "=1+1 cat [MASK] -x @sum", "cat")
    contributions.write(tmp_path / "why.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "why.csv").read_text(), newline="")))
    cells = [cell for row in rows for cell in row]
    assert {"'=1+1", "'-x", "'@sum", "cat"} <= set(cells)
    assert any(cell.startswith("-") and float(cell) < 0 for cell in cells)
    assert not [cell for cell in cells if cell[:1] in set("=@\t\r")]


def test_figures_of_words_with_control_characters_and_dollars_are_valid(model, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    why = explain(model, "\x1b[31mred $\\frac{$ [MASK] a\x9b2Jb del\x7f", WORDS[0])
    figures = [
        plots.contributions(why),
        plots.context_words(top(model, find(model))),
        plots.position_curves({"\x1b$x$_model": {-1: (1, 1, 1), 1: (2, 2, 2)}, "other": {-1: (1, 1, 1), 1: (2, 2, 2)}}),
    ]
    for figure, extension in zip(figures, (".svg", ".png", ".pdf"), strict=True):  # each draws texts of its own
        plots.save(figure, tmp_path / f"figure{extension}")
    ElementTree.parse(tmp_path / "figure.svg")
    drawn = [plots.inline_svg(figure) for figure in figures]
    for each in drawn:
        ElementTree.fromstring(each)
    assert "�[31mred" in drawn[0]
    assert "$\\frac{$" in drawn[0]


def test_a_report_has_no_control_characters(model, tmp_path: Path) -> None:
    sentences = ["\x1b[31mred cat [MASK] del\x7f"]
    results = {"Masked words": predict(model, sentences)}
    write_page(render_model_report(model, "\x1b]0;owned\x07", results, sentences), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert {each for each in page if each in CONTROLS} == set()
    assert "␛[31mred" in page


def test_tables_in_notebooks_have_no_control_characters() -> None:
    table = Table("a\x1bb", ("c\x9bd",), [("e\x00f",)])
    assert table.formatted_rows() == [["e␀f"]]
    assert printable("\ttab\nline é 猫 👍") == "\ttab\nline é 猫 👍"
