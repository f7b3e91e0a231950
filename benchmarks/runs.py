"""Long runs, saved as lines of JSON when they end, so that an interrupted benchmark can continue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def read_runs(path: Path) -> list[Run]:
    """The saved runs; none if the file does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep_run(path: Path, run: Run) -> Run:
    """Append a run to the file and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(run) + "\n")
    return run


def run_process(command: Sequence[str | Path], name: str) -> Run:
    """Run a command in a separate process; its last line of output is the run. Exit if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    print(done.stdout.strip(), flush=True)
    result: Run = json.loads(done.stdout.splitlines()[-1])
    return result
