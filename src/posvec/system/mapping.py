"""Files that are mapped into memory, and a check that they still have the bytes that are mapped.

Reading a mapped page beyond the end of its file ends the process with SIGBUS, which Python cannot turn into an
exception. posvec replaces files and never shortens them, but other programs may, for example ``cp`` onto a model or a
download that starts again. Queries therefore compare sizes when they begin, which takes about a microsecond.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

from posvec.errors import ModelError


class MappedFile(mmap.mmap):
    """A memory-mapped file that knows its path."""

    path: Path


def check_mapped(table: Any) -> None:
    """Raise ModelError if an array, or the codes of a quantized table, are in a file that has become shorter.

    Parameters
    ----------
    table
        An array, a view of one, or a quantized table.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.system.mapping import check_mapped
    >>> check_mapped(np.zeros(3))
    """
    parts = getattr(table, "mapped_parts", None)
    if parts is not None:
        for part in parts:
            check_mapped(part)
        return
    base = table
    while base is not None and not isinstance(base, MappedFile):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and base.size() < len(base):
        raise ModelError(
            f"{base.path} became shorter while it was open: {base.size():,} bytes instead of {len(base):,}; restore it "
            "from a copy and open it again"
        )
