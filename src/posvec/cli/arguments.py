"""What several commands take and show alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

model_argument = click.argument("model", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")


@contextmanager
def displayed(quiet: bool) -> Iterator[tuple[Any, Console]]:
    """The display of long work, and the console that it writes to: standard error, results go to standard output."""
    from posvec.display import make_display

    console = make_console(stderr=True)
    if quiet:
        yield None, console
        return
    with make_display(console) as display:
        yield display, console


def sources(corpus: tuple[str, ...]) -> list[str | Path]:
    """What was named on the command line, each known to be there."""
    from posvec.datasets import DATASETS
    from posvec.files import find_files

    for name in corpus:
        if name != "-" and not (name in DATASETS and len(corpus) == 1):
            find_files(name)
    return ["-" if name == "-" else Path(name) for name in corpus]
