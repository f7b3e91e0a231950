"""The command line. Each command parses its options, calls one function of the library, and prints the result."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import NoReturn

import click

from posvec import __version__
from posvec.errors import PosvecError
from posvec.system.console import print_any_text, say
from posvec.system.signals import interrupting_signals


def main() -> NoReturn:
    """Run a command; errors that a user can fix are printed as one sentence, with exit code 1.

    A signal that asks the process to stop ends it like Ctrl-C, so that temporary files are removed.
    """
    print_any_text()
    try:
        with interrupting_signals():
            commands.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        say(message.getvalue().removesuffix("\n"))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except PosvecError as error:
        say(f"Error: {error}")
        sys.exit(1)
    except MemoryError:
        say("Error: out of memory; lower dim, buckets or the vocabulary (min_count, max_words)")
        sys.exit(1)
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        say("Error: the system starts no more threads; raise the limit of processes or of memory (ulimit -a)")
        sys.exit(1)
    except OSError as error:
        say(f"Error: {error.filename or 'posvec'}: {error.strerror or error}")
        sys.exit(1)
    sys.exit(0)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", prog_name="posvec")
def commands() -> None:
    """Train, explore and evaluate position-aware word embeddings."""


# The modules with commands.
for _module in (
    "compression",
    "conversion",
    "data",
    "evaluation",
    "explorer",
    "export",
    "inspection",
    "interpretation",
    "language_model",
    "queries",
    "report",
    "reproduction",
    "search",
    "training",
    "vectors",
):
    for _command in import_module(f"posvec.cli.{_module}").COMMANDS:
        commands.add_command(_command)
