"""The entry point of the command posvec, also as ``python -m posvec``."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # avoids the import of typing, which would delay the signal handler
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run a command; Ctrl-C ends it without a traceback, also during imports and at exit."""
    handles_interrupts = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # otherwise the parent process ignores Ctrl-C
    try:
        if handles_interrupts:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from posvec.cli import main as run

        if handles_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if handles_interrupts:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
