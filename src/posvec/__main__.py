"""The command posvec, also as ``python -m posvec``."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # nothing that takes time comes before main
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run a command; Ctrl-C ends it without Python's traceback, also while the commands are read and when it ends."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else whoever started this ignores it
    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from posvec.cli import main as run

        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
