"""Inputs that fuzzing kept, because they reach what others do not: each is refused in one sentence, or read rightly."""

import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

RELIABILITY = Path(__file__).parents[2] / "reliability"
sys.path.insert(0, str(RELIABILITY))

import targets  # noqa: E402


@pytest.fixture(autouse=True)
def _others_are_not_traced() -> Iterator[None]:
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("name", targets.TARGETS)
def test_what_fuzzing_kept_is_refused_or_read_rightly(name: str) -> None:
    if name.startswith("wiki-m"):
        pytest.importorskip("wikitextparser")
    target = targets.TARGETS[name]
    kept = sorted((RELIABILITY / "cases" / name).glob("*"))
    assert kept, "fuzz it with --keep"
    for data in [*target.seeds(), *(case.read_bytes() for case in kept)]:
        targets.refused_or_right(target, data)
