"""The inputs that fuzzing kept, in one archive per target: ``cases/TARGET.zip``. make test checks all of them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

CASES = Path(__file__).parent / "cases"


def read_cases(target: str) -> dict[str, bytes]:
    """The inputs of a target by name; none if it was never fuzzed with --keep."""
    path = CASES / f"{target}.zip"
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_cases(target: str, cases: Mapping[str, bytes]) -> None:
    """Replace the inputs of a target. The same inputs give the same bytes: sorted, uncompressed, without times."""
    CASES.mkdir(exist_ok=True)
    with zipfile.ZipFile(CASES / f"{target}.zip", "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(cases.items()):
            entry = zipfile.ZipInfo(name)  # dated 1980-01-01
            entry.create_system = 3  # whatever system writes it
            archive.writestr(entry, content)
