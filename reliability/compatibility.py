"""Test every supported Python on this machine with the oldest and the newest packages that posvec allows.

    python reliability/compatibility.py [3.10 ...] [--tests tests/storage ...] [--build-type Release] [--jobs 1]

For each Python, posvec is built once (in build/compatibility) and installed with the oldest versions of its base
dependencies within the bounds of pyproject.toml that have wheels, and with the newest; then the tests run that need no
extra. Needs uv, which resolves the versions: pip install uv.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from reporting import commit, cpu, table, write

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
FOLDER = ROOT / "build" / "compatibility"
NEEDS_EXTRAS = "tests/cli/test_cli.py::test_every_public_name_can_be_imported"
BASE = [
    "tests/storage",
    "tests/kernel",
    "tests/test_vocabulary.py",
    "tests/training/test_loop.py",
    "tests/test_model.py",
    "tests/query/test_queries.py",
    "tests/formats/test_formats.py",
    "tests/corpus/test_tokenizers.py",
    "tests/cli/test_cli.py",
]
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}


class Outcome(NamedTuple):
    python: str
    packages: str
    versions: str
    passed: bool
    pytest_summary: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", metavar="VERSION", default=VERSIONS)
    parser.add_argument("--tests", nargs="+", default=BASE)
    parser.add_argument("--build-type", default="Release", help="Debug builds faster and tests slower")
    parser.add_argument("--jobs", default="1", help="parallel compilers")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "results" / "reliability" / "compatibility.md")
    arguments = parser.parse_args()
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = arguments.jobs
    outcomes: list[Outcome] = []
    for version in arguments.pythons:
        outcomes += tested(version, arguments)
        write(arguments.output, report(outcomes, arguments))
    print(arguments.output.read_text())
    sys.exit(not all(each.passed for each in outcomes))


def tested(version: str, arguments: argparse.Namespace) -> Iterator[Outcome]:
    python = find_python(version)
    if python is None:
        yield Outcome(version, "–", "", True, "not on this machine")
        return
    wheel = build(python, version, arguments.build_type)
    for name, resolution in RESOLUTIONS.items():
        there = environment(FOLDER / f"{version}-{name}", python)
        # Together with the wheel, because lowest-direct applies to packages that are requested by name.
        install(there, "--resolution", resolution, "--only-binary", ":all:", wheel, *base_dependencies())
        install(there, "pytest", "hypothesis", "safetensors")
        done = run(
            [there, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--deselect", NEEDS_EXTRAS, *arguments.tests],
            check=False,
        )
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()[-200:]
        print(version, name, last, flush=True)
        yield Outcome(full_version(there), name, versions(there), done.returncode == 0, last.strip("= "))


def find_python(version: str) -> Path | None:
    """A working interpreter of that version, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    named = [Path(found) for found in [shutil.which(f"python{version}")] if found]
    for python in [*sorted(pyenv.glob(f"{version}.*/bin/python")), *named]:
        if run([python, "-c", "import sys, venv; sys.version_info"], check=False).returncode == 0:
            return python
    return None


def build(python: Path, version: str, build_type: str) -> Path:
    there = environment(FOLDER / f"{version}-build", python)
    install(there, "pip", "scikit-build-core>=0.10", "nanobind>=2.4", "ninja", "cmake>=3.21")
    wheels = FOLDER / f"{version}-wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    options = ["--no-deps", "--no-build-isolation", f"-Ccmake.build-type={build_type}"]
    built = FOLDER / f"{version}-{build_type}"  # a second run compiles only what has changed
    run([there, "-m", "pip", "wheel", *options, f"-Cbuild-dir={built}", "-w", wheels, ROOT])
    return next(wheels.glob("*.whl"))


def environment(folder: Path, python: Path) -> Path:
    if not (folder / "bin" / "python").exists():
        run([sys.executable, "-m", "uv", "venv", "--quiet", "--python", python, folder])
    return folder / "bin" / "python"


def install(python: Path, *packages: str | Path) -> None:
    run(
        [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--reinstall-package",
            "posvec",
            "--python",
            python,
            *packages,
        ]
    )


def base_dependencies() -> list[str]:
    """The dependencies in pyproject.toml, read without tomllib, which Python 3.10 does not have."""
    found = re.search(r"^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return re.findall(r'"([^"]+)"', found[1])


def full_version(python: Path) -> str:
    return run([python, "-c", "import platform; print(platform.python_version())"]).stdout.strip()


def versions(python: Path) -> str:
    names = [re.split(r"[<>=]", each)[0] for each in base_dependencies()]
    code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names!r}))"
    return run([python, "-c", code]).stdout.strip()


def run(command: Sequence[str | Path], check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=ROOT)
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def report(outcomes: list[Outcome], arguments: argparse.Namespace) -> str:
    rows = [
        [each.python, each.packages, each.versions, "yes" if each.passed else "NO", each.pytest_summary]
        for each in outcomes
    ]
    command = " ".join(
        ["python reliability/compatibility.py", *(arguments.pythons if arguments.pythons != VERSIONS else ())]
    )
    return f"""# Python versions and packages

Oldest: the lowest versions that pyproject.toml allows and that have wheels for this Python; newest: the highest. Tests:
{", ".join(f"`{each}`" for each in arguments.tests)}.

{table(["Python", "packages", "versions", "passed", "summary of pytest"], rows)}

{datetime.now(timezone.utc):%Y-%m-%d}. Made by `{command}` at {commit()}, built as {arguments.build_type}, on {cpu()}.
"""


if __name__ == "__main__":
    main()
