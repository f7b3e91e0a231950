"""Builds posvec with sanitizers, in a separate environment that also sees the packages of this one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "reliability"


def build(name: str, sanitizers: str, compiler: str | None = None, plain: bool = False) -> Path:
    """The Python of an environment whose posvec is built from this folder with ``-fsanitize=sanitizers``.

    ``plain``: build the training step only for the base instruction set, which takes a third of the time.
    """
    folder = BUILD / name
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        packages = Path(_ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
        # Only the path is added: .pth files in it, which may point to another build of posvec, are ignored.
        (packages / "beneath.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT)]
    if importlib.util.find_spec("scikit_build_core") and importlib.util.find_spec("nanobind"):
        command.append("--no-build-isolation")
    options = {
        "build-dir": str(folder / "cmake"),
        "cmake.build-type": "RelWithDebInfo",  # with function names for reports
        "cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1 -g",
        "cmake.define.POSVEC_SANITIZE": sanitizers,
        "cmake.define.POSVEC_PLAIN": str(plain),
        **({"cmake.define.CMAKE_CXX_COMPILER": compiler} if compiler else {}),
    }
    subprocess.run([*command, *(f"-C{key}={value}" for key, value in options.items())], check=True)
    return python


def runtime(sanitizer: str) -> str:
    """gcc's runtime library of a sanitizer, which must be loaded before Python."""
    found = subprocess.run(["gcc", f"-print-file-name=lib{sanitizer}.so"], capture_output=True, text=True, check=True)
    library = found.stdout.strip()
    if "/" not in library:
        sys.exit(f"gcc has no lib{sanitizer}.so; install gcc with its sanitizers")
    return str(Path(library).resolve())


def _ask(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
