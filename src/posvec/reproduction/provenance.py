"""The provenance of a reproduction: the machine, the versions of libraries, and the commit of posvec."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from posvec import __version__
from posvec.system.console import format_size, plural

_PACKAGES = ("numpy", "scikit-learn", "optuna", "torch")


def commit() -> str:
    """Return the commit of the checkout that posvec runs from, with a + if it was modified; otherwise the version."""
    here = Path(__file__).parent
    try:
        # A virtual environment may be inside the repository of another project, which does not track this file.
        tracked = _git("ls-files", "--error-unmatch", "findings.py", cwd=here)
        changed = "+" if _git("status", "--porcelain", "--untracked-files=no", cwd=here) else ""
        return f"{_git('rev-parse', '--short', 'HEAD', cwd=here)}{changed}" if tracked else __version__
    except (OSError, subprocess.CalledProcessError):
        return __version__


def machine() -> str:
    """Return the processor, its cores and the memory."""
    name = platform.processor() or platform.machine()
    memory = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
        memory = f", {format_size(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))} of memory"
    except (OSError, ValueError):
        pass  # not Linux
    return f"{plural(os.cpu_count() or 1, 'core')} of {name}{memory}, {platform.system()}"


def versions() -> str:
    """Return the versions of posvec, Python and the libraries that influence the results."""
    found = [f"posvec {__version__}", f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _git(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=cwd)
    return done.stdout.strip()
