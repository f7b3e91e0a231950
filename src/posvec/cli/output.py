"""Where the results of a command go: a table or JSON on standard output, or files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from posvec.cli.arguments import PATH, json_option, overwrite_option
from posvec.errors import ConfigError
from posvec.system.console import echo, make_console

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from posvec.evaluation.results import Result

AnyResult = TypeVar("AnyResult", bound="Result")


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --json, --output and --overwrite, which are passed to :func:`show_result`."""
    for option in (
        overwrite_option,
        click.option("-o", "--output", type=PATH, help="write to FILE.json or FILE.csv"),
        json_option,
    ):
        command = option(command)
    return command


def show_result(
    measure: Callable[[], AnyResult],
    as_json: bool,
    output: Path | None,
    overwrite: bool,
    figures: Mapping[Path | None, Callable[[AnyResult], Figure]] | None = None,
) -> None:
    """Measure, then print a table or JSON, or write a file, and draw the figures that have a path.

    Paths are checked before anything is measured.
    """
    from posvec import plots

    wanted = {path: draw for path, draw in (figures or {}).items() if path}
    for path in wanted:
        plots.check_format(path)
        refuse_existing(path, overwrite)
    if output:
        check_output_file(output, overwrite)
    result = measure()
    for path, draw in wanted.items():
        plots.save(draw(result), path)
    if output:
        result.write(output)
    if as_json:
        echo(result.to_json())
    elif not output:
        make_console().print(result)


def check_output_file(path: Path, overwrite: bool) -> None:
    """Raise an error unless a result can be written to this path."""
    from posvec.evaluation.results import check_extension

    check_extension(path)
    refuse_existing(path, overwrite)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise an error if the path exists, unless it may be overwritten."""
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists already; choose another name or add --overwrite")
