"""Which build of the kernel to use on this CPU."""

from __future__ import annotations

import os

from posvec._kernel import cpu_levels
from posvec.errors import ConfigError


def cpu_level() -> str:
    """Return the instruction-set level of the kernel: POSVEC_CPU if it is set, else the highest of this machine."""
    name = os.environ.get("POSVEC_CPU", "")
    if name and name not in cpu_levels():
        raise ConfigError(f"POSVEC_CPU is {name!r}, but this machine runs {', '.join(cpu_levels())}; unset it")
    return name or cpu_levels()[-1]
