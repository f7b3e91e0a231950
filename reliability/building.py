"""posvec built under sanitizers: an environment of its own on top of this one, whose packages it sees."""

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

    ``plain``: the training step for no special instruction set, which is built in a third of the time.
    """
    folder = BUILD / name
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        packages = Path(_ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
        # A path alone: the .pth files in it, one of which may lead to another build of posvec, are not followed.
        (packages / "beneath.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT)]
    if importlib.util.find_spec("scikit_build_core") and importlib.util.find_spec("nanobind"):
        command.append("--no-build-isolation")
    options = {
        "build-dir": str(folder / "cmake"),
        "cmake.build-type": "RelWithDebInfo",  # with the names of functions, for reports
        "cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1 -g",
        "cmake.define.POSVEC_SANITIZE": sanitizers,
        "cmake.define.POSVEC_PLAIN": str(plain),
        **({"cmake.define.CMAKE_CXX_COMPILER": compiler} if compiler else {}),
    }
    subprocess.run([*command, *(f"-C{key}={value}" for key, value in options.items())], check=True)
    return python


def runtime(sanitizer: str) -> str:
    """gcc's library of a sanitizer, which must be loaded before Python is."""
    found = subprocess.run(["gcc", f"-print-file-name=lib{sanitizer}.so"], capture_output=True, text=True, check=True)
    library = found.stdout.strip()
    if "/" not in library:
        sys.exit(f"gcc has no lib{sanitizer}.so; install gcc with its sanitizers")
    return str(Path(library).resolve())


def _ask(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
