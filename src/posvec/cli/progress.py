"""The progress of long commands, on standard error; results go to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.errors import PosvecError
from posvec.system.console import make_console

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress_display(quiet: bool) -> Iterator[tuple[Any, Console]]:
    """Show the progress of a command; the display is None if it is to be quiet."""
    from posvec.training.display import make_display

    console = make_console(stderr=True)
    if quiet:
        yield None, console
        return
    with make_display(console) as display:
        yield display, console


@contextmanager
def training_display(quiet: bool, output: Path | str, resumed: tuple[str, str]) -> Iterator[tuple[Any, Console]]:
    """Show the progress of training, and on Ctrl-C how to continue it.

    ``resumed`` is the key in config.json that an interrupted model has, and the command that resumes training.
    """
    try:
        with progress_display(quiet) as (display, console):
            yield display, console
    except KeyboardInterrupt:
        key, command = resumed
        if _is_resumable(output, key):
            click.echo(f"Interrupted. The model so far is in {output}; continue with: {command} {output}", err=True)
        elif (
            isinstance(output, Path) and (study := output.with_name(f"{output.name}.search")).is_dir()
        ):  # of posvec train --autotune
            click.echo(
                f"Interrupted. The trials so far are in {study}; run the same command again to continue.", err=True
            )
        else:
            click.echo("Interrupted before training started; nothing was saved.", err=True)
        sys.exit(130)


def _is_resumable(output: Path | str, key: str) -> bool:
    from posvec.storage.folders import load_folder

    try:
        return load_folder(output).config.get(key) is not None
    except PosvecError:
        return False
