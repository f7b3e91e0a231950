"""The command posvec, also as ``python -m posvec``."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run a command; Ctrl-C ends it quietly even before the commands are read."""
    try:
        from posvec.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
