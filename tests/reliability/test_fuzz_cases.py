"""The inputs that fuzzing kept for their coverage: posvec refuses each with one line, or reads it correctly."""

import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

RELIABILITY = Path(__file__).parents[2] / "reliability"
sys.path.insert(0, str(RELIABILITY))

from fuzz_cases import CASES, read_cases, write_cases  # noqa: E402
from fuzz_targets import TARGETS, check_input  # noqa: E402


@pytest.fixture(autouse=True)
def _stop_tracing_memory() -> Iterator[None]:
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_are_refused_or_read_correctly(name: str) -> None:
    if name.startswith("wiki-m"):
        pytest.importorskip("wikitextparser")
    kept = read_cases(name)
    assert kept, f"run reliability/fuzz.py {name} --keep"
    for data in [*TARGETS[name].seeds(), *kept.values()]:
        check_input(TARGETS[name], data)


def test_all_kept_inputs_are_checked() -> None:
    assert {path.stem for path in CASES.iterdir()} == set(TARGETS)
    assert sum(len(read_cases(name)) for name in TARGETS) == 724  # changes with reliability/fuzz.py --keep


def test_archives_of_inputs_have_the_same_bytes_whenever_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: read_cases(name) for name in TARGETS}
    monkeypatch.setattr("fuzz_cases.CASES", tmp_path)
    for name, cases in kept.items():
        write_cases(name, dict(reversed(cases.items())))
        assert (tmp_path / f"{name}.zip").read_bytes() == (CASES / f"{name}.zip").read_bytes()
