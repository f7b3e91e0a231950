"""What all reports share: tables, spreads, and the command, versions and machine of a measurement."""

from __future__ import annotations

import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "benchmarks"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Median (lowest–highest), or a dash if there are no values."""
    if not values:
        return "–"
    return f"{statistics.median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def made_by(command: str, *packages: str) -> str:
    """The command, versions, commit and machine of a result."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"Made by `{command}`\nwith posvec {version('posvec')} ({commit()}){', ' * bool(versions)}{versions},\n"
        f"Python {platform.python_version()}, on {cpu()}.\n"
    )


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    )
    return done.stdout.strip() or "no commit"


def cpu() -> str:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()
