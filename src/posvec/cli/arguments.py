"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.errors import ConfigError
from posvec.system.durations import parse_duration
from posvec.system.remote import is_remote

if TYPE_CHECKING:
    from posvec.vectors import WordVectors


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore] # generic only in later versions
    """A time in seconds, written as 90, 90s, 10m, 1h30m or 2d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds."""
        if isinstance(value, float):
            return value
        try:
            return parse_duration(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class PathOrUrl(click.Path):
    """A local path, or the URL of a folder on a remote filesystem."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path, or the URL unchanged."""
        return value if is_remote(value) else super().convert(value, param, ctx)


DURATION = Duration()
PATH = click.Path(path_type=Path)
PATH_OR_URL = PathOrUrl(path_type=Path)

model_argument = click.argument("model", type=PATH_OR_URL)
json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")
plot_option = click.option("--plot", type=PATH, help="draw a .png, .svg or .pdf file")
overwrite_option = click.option("--overwrite", is_flag=True, help="replace an existing file")
spelling_option = click.option(
    "--spelling",
    type=float,
    help="models with two heads: weight of spelling against meaning, from 0 for meaning alone  [default: 1]",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="print only errors")


def weighted_vectors(vectors: WordVectors, spelling: float | None) -> WordVectors:
    """Return word vectors with the weight of spelling that was given, if any."""
    return vectors if spelling is None else vectors.with_spelling(spelling)


def named_models(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Return models by the names of their folders, or by their full paths if several folders have the same name."""
    shared = {name for name, times in Counter(map(model_name, paths)).items() if times > 1}
    return {str(path) if model_name(path) in shared else model_name(path): path for path in paths}


def model_name(path: Path) -> str:
    """Return the name of a folder as the user wrote it, also for . and for links."""
    return os.path.basename(os.path.abspath(path))  # noqa: PTH100, PTH119 - Path would follow the link


def sources(corpus: tuple[str, ...]) -> list[str | Path]:
    """Return the corpus given on the command line; raise an error for files and datasets that do not exist."""
    from posvec.datasets.embedded import EMBEDDED_CORPORA
    from posvec.datasets.library import check_corpus, is_fetchable
    from posvec.system.files import find_files

    for name in corpus:
        if is_fetchable(name) and not Path(name).exists():
            check_corpus(name)
        elif name != "-" and not (name in EMBEDDED_CORPORA and len(corpus) == 1):
            find_files(name)
    return [name if name == "-" or is_remote(name) else Path(name) for name in corpus]
