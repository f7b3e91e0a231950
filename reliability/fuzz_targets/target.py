"""A fuzz target, and the check of a single input: it is refused with one line, or read correctly, within limits."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from posvec import PosvecError
from posvec.corpus.tokenizers import get_tokenizer

CONSTANT_MEMORY = 16 << 20
MEMORY_PER_BYTE = 300
"""Reading n bytes may take CONSTANT_MEMORY + n · MEMORY_PER_BYTE bytes of memory."""
SECONDS = 10
"""Reading an input may take this much CPU time."""

TEXT = "The quick brown fox\njumps over, ΣΑΣ the naïve 日本語 İstanbul.\n\tA\u200bb \ufb01n x\u0307 𝔘\r\n"
"""Text for seeds, with letters whose case changes their length or depends on their position."""


@dataclass(frozen=True)
class Target:
    """A parser to fuzz."""

    check: Callable[[bytes, Path], None]
    """Is called with the input and an empty folder that the input can be written to."""
    seeds: Callable[[], Iterator[bytes]]
    """Valid and nearly valid inputs that fuzzing begins with."""


def check_input(target: Target, data: bytes) -> None:
    """Raise an exception if the target neither refuses the input with one line nor reads it correctly within limits."""
    folder = _empty_folder()
    start = time.process_time()
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        target.check(data, folder)
    except PosvecError as error:
        if "\n" in str(error):
            raise AssertionError(f"the message has more than one line: {error}") from error
    finally:
        used = tracemalloc.get_traced_memory()[1] - before
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    if (seconds := time.process_time() - start) > SECONDS:
        raise AssertionError(f"{seconds:.0f} s for {len(data):,} bytes of input")
    if used > CONSTANT_MEMORY + MEMORY_PER_BYTE * len(data):
        raise AssertionError(f"{used:,} bytes of memory for {len(data):,} bytes of input")


@cache
def _empty_folder() -> Path:
    """An empty folder, in memory where possible, that all inputs share; check_input empties it again."""
    for name in ("word", "whitespace"):
        get_tokenizer(name).split("ΑΣ".encode())  # its tables are built once and must not count for the first input
    folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
