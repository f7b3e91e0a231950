"""Fuzz one parser, guided by coverage: python reliability/fuzz.py TARGET --seconds 300.

Needs atheris (``pip install "posvec[reliability]"``). With clang, the compiled part is built for it too, with
AddressSanitizer and UndefinedBehaviorSanitizer; without, it runs as it is installed. A campaign begins with the seeds
of targets.py and with what earlier ones kept in ``cases/TARGET``; what it finds stays in ``build/reliability/found``.
With ``--keep``, inputs that together reach all that was reached become the new cases, the shortest first.
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

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
LONGEST, KEPT_BYTES, KEPT_CASES = 2048, 16_000, 60
# Time is that of the CPU, which targets.py looks at; libFuzzer counts by the clock, also while others have the machine.
LIMITS = ["-timeout=1800", "-rss_limit_mb=2000", "-malloc_limit_mb=300", f"-max_len={LONGEST}"]


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--inside":
        _fuzz(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--keep", action="store_true", help="replace cases/TARGET; with --seconds 0, only that")
    parser.add_argument("--python", type=Path, help="of an environment that is built already, in place of a new one")
    parser.add_argument("--no-clang", action="store_true", help="leave the compiled part as it is")
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
    """Inputs for one target."""

    def __init__(self, target: str, python: Path, sanitized: bool) -> None:
        from building import BUILD

        self.target, self.corpus, self.found = target, BUILD / "corpus" / target, BUILD / "found" / target
        self.cases = CASES / target
        for folder in (self.corpus, self.found, self.cases):
            folder.mkdir(parents=True, exist_ok=True)
        # A program that can be started by its name alone, which libFuzzer does to merge.
        self._inside = self.found / "fuzz.sh"
        self._inside.write_text(f'#!/bin/sh\nexec "{python}" "{HERE / "fuzz.py"}" --inside {target} "$0" "$@"\n')
        self._inside.chmod(0o755)
        self._environment = _environment(sanitized)

    def run(self, seconds: int) -> int:
        """Fuzz for some time and print what came of it; the exit code is not 0 where there is a finding."""
        options = [f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={self.found}/"]
        begun, before = time.monotonic(), _cpu_seconds()
        code, log = self._fuzzer(*options, str(self.corpus), str(self.cases))
        (self.found / "log.txt").write_text(log)
        covered, executed = (re.findall(rf"{name}: (\d+)", log) for name in ("cov", "number_of_executed_units"))
        print(
            f"{self.target}: {int(executed[-1]) if executed else 0:,} inputs, {covered[-1] if covered else '?'} edges, "
            f"{_cpu_seconds() - before:.0f} s of CPU, {time.monotonic() - begun:.0f} s of time, exit code {code}",
            *(log.splitlines()[-60:] if code else ()),
            sep="\n",
            flush=True,
        )
        return code

    def keep(self) -> None:
        """Make the cases a smallest set that reaches all that the corpus does."""
        merged = self.corpus.with_name(f"{self.target}.merged")
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir()
        code, log = self._fuzzer("-merge=1", str(merged), str(self.cases), str(self.corpus))
        if code:
            sys.exit(log)
        shutil.rmtree(self.cases)
        self.cases.mkdir()
        size = 0
        for case in sorted(merged.iterdir(), key=lambda case: (case.stat().st_size, case.name))[:KEPT_CASES]:
            size += case.stat().st_size
            if size <= KEPT_BYTES:
                shutil.copy(case, self.cases / case.name[:12])

    def _fuzzer(self, *arguments: str) -> tuple[int, str]:
        run = subprocess.run(
            [self._inside, *LIMITS, *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return run.returncode, run.stdout.decode("utf-8", "replace")


def _cpu_seconds() -> float:
    """Of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(sanitized: bool) -> dict[str, str]:
    options = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    if not sanitized:
        return {**os.environ}
    import atheris

    return {**os.environ, **options, "LD_PRELOAD": str(Path(atheris.path()) / "asan_with_fuzzer.so")}


def _fuzz(name: str, program: str, *arguments: str) -> None:
    """In a process of its own: libFuzzer ends the one that it runs in."""
    import atheris

    with atheris.instrument_imports(include=["posvec", "wikitextparser"], enable_loader_override=False):
        import wikitextparser  # noqa: F401 (imported only by those who need it)

        from targets import TARGETS, refused_or_right
    target = TARGETS[name]
    if corpora := [argument for argument in arguments if not argument.startswith("-")]:
        for number, seed in enumerate(target.seeds()):
            Path(corpora[-1 if "-merge=1" in arguments else 0], f"seed-{number}").write_bytes(seed)
    atheris.Setup([program, *arguments], lambda data: refused_or_right(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
