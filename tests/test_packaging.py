"""What source distributions contain."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_source_distributions_contain_the_results_of_all_programs() -> None:
    tomllib, pathspec = pytest.importorskip("tomllib"), pytest.importorskip("pathspec")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["scikit-build"]
    excluded = pathspec.GitIgnoreSpec.from_lines(settings["sdist"]["exclude"])
    kept = [path for folder in ("results", "reliability", "benchmarks") for path in (ROOT / folder).rglob("*")]
    names = {path.relative_to(ROOT).as_posix() for path in kept if path.is_file()}
    assert "results/reliability/signals.md" in names
    assert {name for name in names if excluded.match_file(name)} <= {
        name for name in names if name.startswith("results/paper/")
    }
    assert excluded.match_file("results/paper/README.md")
