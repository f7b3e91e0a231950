"""What several commands take and show alike."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from posvec.errors import ConfigError, PosvecError
from posvec.system.console import make_console
from posvec.system.remote import is_remote

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from posvec.evaluation.results import Result

AnyResult = TypeVar("AnyResult", bound="Result")


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore] # generic only in later versions
    """Seconds, from 90, 90s, 10m, 1h30m or 2d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(?:([\d.]+)d)?(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s?)?", value.replace(" ", ""))
        try:
            parts = [float(part or 0) for part in found.groups()] if found else []
        except ValueError:
            parts = []
        seconds = sum(part * size for part, size in zip(parts, (86400, 3600, 60, 1), strict=False))
        if not seconds:
            self.fail(f"{value!r} is no time above zero; write such as 90s, 10m or 1h30m", param, ctx)
        return float(seconds)


class Place(click.Path):
    """A path, or the address of a folder on another filesystem, which stays as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_remote(value) else super().convert(value, param, ctx)


DURATION = Duration()
PLACE = Place(path_type=Path)

model_argument = click.argument("model", type=PLACE)
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")
plot_option = click.option("--plot", type=click.Path(path_type=Path), help="draw a .png, .svg or .pdf file")
overwrite_option = click.option("--overwrite", is_flag=True, help="replace a file that is already there")


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the result of a measure goes; :func:`show_result` takes what they say."""
    for option in (
        overwrite_option,
        click.option("-o", "--output", type=click.Path(path_type=Path), help="write to FILE.json or FILE.csv"),
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
    """Measure, then print a table or JSON, or write a file, and draw the figures whose files are named.

    A file that cannot be written is refused before.
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
        click.echo(result.to_json())
    elif not output:
        make_console().print(result)


def check_output_file(path: Path, overwrite: bool) -> None:
    """Raises unless a result can be written there."""
    from posvec.evaluation.results import check_extension

    check_extension(path)
    refuse_existing(path, overwrite)


def refuse_existing(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists already; choose another name or add --overwrite")


def named_models(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Models by the names of their folders, or by their whole paths where two folders are named alike."""
    shared = {name for name, times in Counter(map(model_name, paths)).items() if times > 1}
    return {str(path) if model_name(path) in shared else model_name(path): path for path in paths}


def model_name(path: Path) -> str:
    """What the user calls a folder, also if it is named as . or through a link."""
    return os.path.basename(os.path.abspath(path))  # noqa: PTH100, PTH119 - Path would follow the link


@contextmanager
def displayed(quiet: bool) -> Iterator[tuple[Any, Console]]:
    """The display of long work, and the console that it writes to: standard error, results go to standard output."""
    from posvec.training.display import make_display

    console = make_console(stderr=True)
    if quiet:
        yield None, console
        return
    with make_display(console) as display:
        yield display, console


@contextmanager
def trained_on_display(quiet: bool, output: Path | str, resumed: tuple[str, str]) -> Iterator[tuple[Any, Console]]:
    """The display of training that Ctrl-C saves; ``resumed`` is the key of its state in config.json and a command."""
    try:
        with displayed(quiet) as (display, console):
            yield display, console
    except KeyboardInterrupt:
        key, command = resumed
        if _is_resumable(output, key):
            click.echo(f"Interrupted. The model so far is in {output}; go on with: {command} {output}", err=True)
        elif (
            isinstance(output, Path) and (study := output.with_name(f"{output.name}.search")).is_dir()
        ):  # of posvec train --autotune
            click.echo(f"Interrupted. What was found is in {study}; the same command goes on with it.", err=True)
        else:
            click.echo("Interrupted before training began; nothing was saved.", err=True)
        sys.exit(130)


def sources(corpus: tuple[str, ...]) -> list[str | Path]:
    """What was named on the command line, each known to be there or to be fetched."""
    from posvec.datasets.embedded import EMBEDDED_CORPORA
    from posvec.datasets.library import check_corpus, is_fetchable
    from posvec.system.files import find_files

    for name in corpus:
        if is_fetchable(name) and not Path(name).exists():
            check_corpus(name)
        elif name != "-" and not (name in EMBEDDED_CORPORA and len(corpus) == 1):
            find_files(name)
    return [name if name == "-" or is_remote(name) else Path(name) for name in corpus]


def _is_resumable(output: Path | str, key: str) -> bool:
    from posvec.storage.folders import load_folder

    try:
        return load_folder(output).config.get(key) is not None
    except PosvecError:
        return False
