"""Fuzz one parser, guided by coverage: python reliability/fuzz.py TARGET --seconds 300.

Needs atheris (``pip install "posvec[reliability]"``). With clang, the compiled extension is built for fuzzing too, with
AddressSanitizer and UndefinedBehaviorSanitizer; without clang, the installed one is used. A campaign begins with the
seeds of fuzz_targets and with the inputs that earlier campaigns kept in ``cases/TARGET.zip``. Findings are written to
``build/reliability/found``. ``--keep`` replaces the kept inputs by a small set with the same coverage, the shortest
first.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from fuzz_cases import read_cases, write_cases

HERE = Path(__file__).resolve().parent
MAX_INPUT_BYTES = 2048
MAX_CASES, MAX_CASES_BYTES = 60, 16_000
"""Of the inputs that are kept for one target."""
# libFuzzer measures wall-clock time, which other programs prolong; so its timeout is long, and fuzz_targets checks the
# CPU time of each input.
LIMITS = ["-timeout=1800", "-rss_limit_mb=2000", "-malloc_limit_mb=300", f"-max_len={MAX_INPUT_BYTES}"]


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--inside":
        _fuzz(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--keep", action="store_true", help="replace cases/TARGET.zip; --seconds 0 does only that")
    parser.add_argument("--python", type=Path, help="use the Python of an existing environment instead of building one")
    parser.add_argument("--no-clang", action="store_true", help="use the installed extension")
    options = parser.parse_args()
    campaign = Campaign(options.target, _python(options), not options.no_clang)
    code = campaign.run(options.seconds) if options.seconds else 0
    if options.keep and not code:
        campaign.keep()
    sys.exit(code)


def _python(options: argparse.Namespace) -> Path:
    from building import build

    compiler = next((name for name in _COMPILERS if shutil.which(name)), None)
    if options.python or options.no_clang or compiler is None:
        return options.python or Path(sys.executable)
    return build("fuzz", "fuzzer-no-link,address,undefined", compiler, plain=True)


_COMPILERS = ("clang++", *(f"clang++-{version}" for version in range(25, 13, -1)))


class Campaign:
    """One run of libFuzzer on one target, with its folders below ``build/reliability``."""

    def __init__(self, target: str, python: Path, sanitized: bool) -> None:
        from building import BUILD

        self.target = target
        self.corpus, self.cases, self.found = (BUILD / name / target for name in ("corpus", "cases", "found"))
        shutil.rmtree(self.cases, ignore_errors=True)
        for folder in (self.corpus, self.cases, self.found):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in read_cases(target).items():
            (self.cases / name).write_bytes(content)
        # To merge, libFuzzer starts its own program again by name and without arguments of Python.
        self._inside = self.found / "fuzz.sh"
        self._inside.write_text(f'#!/bin/sh\nexec "{python}" "{HERE / "fuzz.py"}" --inside {target} "$0" "$@"\n')
        self._inside.chmod(0o755)
        self._environment = _environment(sanitized)

    def run(self, seconds: int) -> int:
        """Fuzz for some time and print a summary; the exit code is not 0 if there is a finding."""
        options = [f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={self.found}/"]
        start, cpu_before = time.monotonic(), _children_cpu_seconds()
        code, log = self._fuzzer(*options, str(self.corpus), str(self.cases))
        (self.found / "log.txt").write_text(log)
        covered, executed = (re.findall(rf"{name}: (\d+)", log) for name in ("cov", "number_of_executed_units"))
        print(
            f"{self.target}: {int(executed[-1]) if executed else 0:,} inputs, {covered[-1] if covered else '?'} edges, "
            f"{_children_cpu_seconds() - cpu_before:.0f} s of CPU, {time.monotonic() - start:.0f} s of time, "
            f"exit code {code}",
            *(log.splitlines()[-60:] if code else ()),
            sep="\n",
            flush=True,
        )
        return code

    def keep(self) -> None:
        """Replace the kept inputs by a small set with the coverage of all inputs."""
        merged = self.corpus.with_name(f"{self.target}.merged")
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir()
        code, log = self._fuzzer("-merge=1", str(merged), str(self.cases), str(self.corpus))
        if code:
            sys.exit(log)
        kept: dict[str, bytes] = {}
        for case in sorted(merged.iterdir(), key=lambda case: (case.stat().st_size, case.name))[:MAX_CASES]:
            content = case.read_bytes()
            if sum(map(len, kept.values())) + len(content) > MAX_CASES_BYTES:
                break
            kept[case.name[:12]] = content
        write_cases(self.target, kept)
        print(f"{self.target}: {len(kept)} inputs are kept")

    def _fuzzer(self, *arguments: str) -> tuple[int, str]:
        run = subprocess.run(
            [self._inside, *LIMITS, *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return run.returncode, run.stdout.decode("utf-8", "replace")


def _children_cpu_seconds() -> float:
    """CPU time of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(sanitized: bool) -> dict[str, str]:
    options = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    if not sanitized:
        return {**os.environ}
    import atheris

    return {**os.environ, **options, "LD_PRELOAD": str(Path(atheris.path()) / "asan_with_fuzzer.so")}


def _fuzz(name: str, program: str, *arguments: str) -> None:
    """Run libFuzzer. It ends the process that it runs in, so this is a process of its own."""
    import atheris

    with atheris.instrument_imports(include=["posvec", "wikitextparser"], enable_loader_override=False):
        import wikitextparser  # noqa: F401 (posvec imports it late, when it would not be instrumented)

        from fuzz_targets import TARGETS, check_input
    target = TARGETS[name]
    if corpora := [argument for argument in arguments if not argument.startswith("-")]:
        for number, seed in enumerate(target.seeds()):
            Path(corpora[-1 if "-merge=1" in arguments else 0], f"seed-{number}").write_bytes(seed)
    atheris.Setup([program, *arguments], lambda data: check_input(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
