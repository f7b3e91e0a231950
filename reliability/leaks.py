"""Train, save and load a tiny model again and again: python reliability/leaks.py --cycles 1000.

The resident memory after a warm-up and at the end is compared. With ``--valgrind``, a few cycles run under valgrind's
memcheck, and leaks and invalid accesses in posvec's kernel are reported.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WARM_UP = 100
ALLOWED = 2 << 20  # bytes of growth since the warm-up: less than a leak in every cycle would cause


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--valgrind", action="store_true")
    options = parser.parse_args()
    sys.exit(_under_valgrind(options.cycles) if options.valgrind else _measure(options.cycles))


def _measure(cycles: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POSVEC_CACHE"] = str(Path(folder) / "cache")
        sizes = []
        for cycle in range(cycles):
            _cycle(Path(folder) / "m")
            if cycle % 50 == 49 or cycle == cycles - 1:
                gc.collect()
                sizes.append((cycle + 1, _resident()))
                print(f"{sizes[-1][0]:5} cycles: {sizes[-1][1] / 1e6:.1f} MB", flush=True)
    warm = [size for cycle, size in sizes if cycle >= min(WARM_UP, cycles)]
    grown = warm[-1] - warm[0]
    print(f"grew by {grown:,} bytes since the warm-up ({ALLOWED:,} allowed)")
    return int(grown > ALLOWED)


def _cycle(path: Path) -> None:
    import posvec

    model = posvec.train(iter(["one two three four five"] * 20), "constrained", **_SETTINGS)
    model.save(path, overwrite=True)
    loaded = posvec.load(path)
    loaded.vectors.most_similar("one", topn=2)
    loaded.predict_masked("one [MASK] three", 2)


_SETTINGS = {
    "sample": 0.0,
    "dim": 16,
    "positional_dim": 8,
    "window": 3,
    "buckets": 100,
    "min_count": 1,
    "epochs": 2,
    "threads": 2,
}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _under_valgrind(cycles: int) -> int:
    command = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30", "-q"]
    run = subprocess.run(
        [*command, sys.executable, __file__, "--cycles", str(cycles)],
        env={**os.environ, "PYTHONMALLOC": "malloc", "POSVEC_CPU": "v3"},  # valgrind does not support AVX-512
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    reports = re.split(r"(?m)^==\d+== \n", run.stderr)
    ours = [report for report in reports if "_kernel" in report or "posvec::" in report]
    print("\n".join(ours) or f"no report of valgrind names the kernel ({len(reports):,} in total)")
    return int(bool(ours)) or run.returncode


if __name__ == "__main__":
    main()
