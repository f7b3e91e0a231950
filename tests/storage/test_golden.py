"""Files of earlier versions open and give the same results: those in tests/golden, made by make.py."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import posvec
from posvec.evaluation.compression import METHODS
from posvec.formats import FORMATS

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = sorted(path.parent for path in GOLDEN.glob("*/expected.json"))
FILES = [(version, name) for version in VERSIONS for name in json.loads((version / "expected.json").read_text())]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same(found: Any, expected: Any) -> None:
    """Check that values are equal, numbers up to rounding errors."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys()  # later versions may have more keys
        for name, value in expected.items():
            assert_same(found[name], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert found == (pytest.approx(expected, abs=1e-5) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(("version", "name"), FILES, ids=lambda value: getattr(value, "name", value))
def test_files_of_earlier_versions_give_the_same_results(make: ModuleType, version: Path, name: str) -> None:
    expected = json.loads((version / "expected.json").read_text())[name]
    assert_same(make.answers(version / name), expected)
    if (version / name).is_dir():
        posvec.load(version / name, verify=True)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_a_checkpoint_of_an_earlier_version_is_resumed(make: ModuleType, version: Path, tmp_path: Path) -> None:
    golden = make.FOLDERS["-heads" if version.name.endswith("-heads") else ""]
    shutil.copytree(version / make.CHECKPOINT, tmp_path / "model")
    resumed = posvec.resume(tmp_path / "model", make.sentences())
    assert resumed.state is None
    assert resumed.report is not None
    assert len(resumed.report.epochs) == golden.settings["epochs"]
    whole = posvec.load(version / golden.compressed)  # trained without interruption, of the same text and seed
    for name in ("input_vectors", "output_vectors", "positional_vectors", "word_head"):
        np.testing.assert_allclose(getattr(resumed, name), getattr(whole, name), atol=1e-4)


@pytest.mark.parametrize("end", ["", "-heads"])
def test_the_golden_files_of_this_version_are_complete_and_small(make: ModuleType, end: str) -> None:
    folder = GOLDEN / f"{posvec.__version__}{end}"
    formats = {f"{name}{each.extension}" for name, each in FORMATS.items() if name != "posvec"}
    names = {*make.FOLDERS[end].kinds, *METHODS, *formats, "vectors-only", make.CHECKPOINT}
    assert names <= set(json.loads((folder / "expected.json").read_text()))
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 200_000
