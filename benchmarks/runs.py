"""Long runs that are kept as lines of JSON as they end, so that an interrupted benchmark goes on where it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def read_runs(path: Path) -> list[Run]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep_run(path: Path, run: Run) -> Run:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(run) + "\n")
    return run


def run_apart(command: Sequence[str | Path], name: str) -> Run:
    """What a process of its own prints as its last line; the end of everything if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    print(done.stdout.strip(), flush=True)
    result: Run = json.loads(done.stdout.splitlines()[-1])
    return result
