"""A small part of the programs in reliability/: extreme inputs, the grid of settings, and hostile values of options."""

from __future__ import annotations

import importlib.util
import math
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from posvec.config import SETTINGS
from posvec.presets import MODELS, PRESETS

RELIABILITY = Path(__file__).parents[2] / "reliability"


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reliability_{name}", RELIABILITY / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


grid, extremes, options = program("grid"), program("extremes"), program("options")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written: Path = grid.write_corpus(tmp_path_factory.mktemp("grid") / "corpus.txt")
    return written


# A part of the grid with every preset, model, initializer and D, and two learning rates, but not all combinations.
SLICE = [
    point
    for number, point in enumerate(each for each in grid.points() if grid.is_documented(each) and each.lr != 0.025)
    if number % 18 == 0
]


def test_the_slice_covers_all_values() -> None:
    assert {point.preset for point in SLICE} == set(PRESETS)
    assert {point.model for point in SLICE} == set(MODELS)
    assert {point.initializer for point in SLICE} == set(SETTINGS["initializer"].choices)
    assert {point.dim for point in SLICE} == set(grid.DIMS)
    assert {point.lr for point in SLICE} == {0.05, 0.1}


@pytest.mark.parametrize("point", SLICE, ids=lambda point: "-".join(map(str, point)))
def test_the_loss_falls_and_parameters_are_finite(point: Any, corpus: Path) -> None:
    outcome = grid.train_long_enough(point, corpus)
    assert math.isfinite(outcome.last)
    assert outcome.is_good, outcome


@pytest.mark.parametrize("kind", ["general", "constrained"])
@pytest.mark.parametrize("name", [name for name in extremes.CASES if name != "vocabulary"])
def test_an_extreme_case_works_or_is_refused(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path))  # restored after the test
    outcomes = extremes.run_case(name, kind, tmp_path)
    refused = {each.step: each.refusal for each in outcomes if each.refusal}
    if (name, kind) == ("repetition", "constrained"):
        assert "has a word of 10,000 characters" in refused.pop("train and save")
    else:
        assert len(outcomes) == 10
    assert refused == {}


# ---- options of commands ----------------------------------------------------------------------------------------

SLOW = ("lm", "search", "study")  # they import large libraries


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("options")
    options.prepare(folder)
    return folder


def test_every_command_has_a_command_line_for_hostile_values() -> None:
    assert sorted([*options.COMMANDS, *options.SKIPPED]) == sorted(options.all_commands())


def test_the_result_of_hostile_values_is_a_table() -> None:
    written = options.report([["info", "21", "1"]], [("info", "model", "'/'", "exit code 70")], "Made by hand.")
    assert "| info | 21 | 1 |" in written
    assert "info · model · '/' · exit code 70" in written


@pytest.mark.parametrize("command", [name for name in options.COMMANDS if name.split()[0] not in SLOW])
def test_a_hostile_value_of_each_option_is_refused_or_works(
    command: str, prepared: Path, posvec_command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(prepared, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    large, not_utf8 = options.QUICK[:1], options.QUICK[-1:]
    tried = [each for each in options.attempts(command, large) if each.is_number]
    tried += [each for each in options.attempts(command, not_utf8) if not each.is_number]
    for attempt in tried:
        ended = posvec_command(*attempt.arguments)
        assert not options.Outcome(ended.code, ended.out + ended.err).fault(attempt), attempt
