"""Run the tests on a kernel built with sanitizers: python reliability/sanitize.py address|thread [TESTS...].

``address``: AddressSanitizer and UndefinedBehaviorSanitizer; by default the whole suite. ``thread``: ThreadSanitizer;
by default the tests whose work is done by several threads of the kernel. A finding ends the process with its report.
Python itself is not instrumented, and leaks are not checked here but in leaks.py.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from building import BUILD, ROOT, build, runtime

SANITIZERS = {"address": "address,undefined", "thread": "thread"}
# All except the tests that start Ray or a browser, which do not run under a sanitizer. test_exchanges.py covers what
# the kernel does for Ray, and test_explorer.py the responses of the explorer.
ALL_TESTS = [
    "tests",
    "--ignore=tests/distributed/test_distributed.py",
    "--ignore=tests/explorer/test_explorer_browser.py",
]
THREAD_TESTS = [
    "tests/kernel/test_kernel.py",
    "tests/kernel/test_fixed16.py",
    "tests/corpus/test_encoding.py",
    "tests/test_vocabulary.py",
    "tests/training/test_loop.py",
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n")[0], epilog="Other arguments are passed to pytest."
    )
    parser.add_argument("sanitizer", choices=SANITIZERS)
    parser.add_argument("--plain", action="store_true", help="build for one instruction set, as thread always does")
    parser.add_argument("--no-build", action="store_true", help="use the build of an earlier run")
    options, others = parser.parse_known_args()
    names_tests = any((ROOT / each.partition("::")[0]).exists() for each in others)
    tests = [] if names_tests else THREAD_TESTS if options.sanitizer == "thread" else ALL_TESTS
    if options.no_build:
        python = BUILD / options.sanitizer / "venv" / "bin" / "python"
    else:
        plain = options.plain or options.sanitizer == "thread"
        python = build(options.sanitizer, SANITIZERS[options.sanitizer], plain=plain)
    if options.sanitizer == "thread" and (problem := _check_race_detection(python)):
        sys.exit(problem)
    # A report is not written by Python and would be lost with the process if it were captured.
    command = ["-m", "pytest", "-p", "no:cacheprovider", "--capture=sys", *others, *tests]
    sys.exit(_run(options.sanitizer, python, *command).returncode)


def _check_race_detection(python: Path) -> str | None:
    races = str(Path(__file__).with_name("races.py"))
    if _run("thread", python, races, "own").returncode:
        return "ThreadSanitizer reports an undeclared race in training"
    if b"data race" not in (_run("thread", python, races, "shared", capture_output=True).stderr or b""):
        return "ThreadSanitizer does not report an existing race"
    return None


def _run(sanitizer: str, python: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [str(python), *arguments]
    if sanitizer == "thread" and shutil.which("setarch"):
        # ThreadSanitizer needs address ranges that address randomization on newer systems can occupy.
        command = ["setarch", platform.machine(), "-R", *command]
    return subprocess.run(command, cwd=ROOT, env=environment(sanitizer), check=False, **options)


def environment(sanitizer: str) -> dict[str, str]:
    preloaded = {"address": ("asan", "ubsan"), "thread": ("tsan",)}[sanitizer]
    return {
        **os.environ,
        # The C++ library is preloaded too: a sanitizer loaded before it does not find the functions that throw
        # exceptions.
        "LD_PRELOAD": " ".join([*map(runtime, preloaded), runtime("stdc++")]),
        "PYTHONMALLOC": "malloc",  # so that the sanitizer tracks memory that Python passes to the kernel
        "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": f"halt_on_error=1:history_size=4:suppressions={Path(__file__).with_name('not-races.txt')}",
        "OPENBLAS_NUM_THREADS": "1",
    }


if __name__ == "__main__":
    main()
