"""posvec compress: a smaller model, and what it lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import displayed, json_option, model_argument
from posvec.system.console import make_console

_PATH = click.Path(path_type=Path)


@click.command()
@model_argument
@click.argument("target", metavar="OUT", type=_PATH)
@click.option(
    "--method",
    # The names of posvec.evaluation.compression.METHODS, which is not imported before it is needed.
    type=click.Choice(["float16", "int8", "pq", "prune"]),
    default="int8",
    show_default=True,
    help="bytes for a number: 2, 1, or 1 for several (product quantization); prune: numbers stay as they are",
)
@click.option("--words", type=click.IntRange(min=1), help="keep so many of the most frequent words  [all]")
@click.option(
    "--buckets",
    type=click.IntRange(min=0),
    help="keep so many rows of n-grams, those that most words would miss  [all]",
)
@click.option(
    "--sub-vector",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="pq: numbers that share a byte; more is smaller and coarser",
)
@click.option(
    "--vectors-only", is_flag=True, help="leave out the output vectors: no masked words can be predicted then"
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="pq: of its k-means")
@click.option("--questions", multiple=True, type=_PATH, help="show the loss on these analogies; can be repeated")
@click.option("--pairs", multiple=True, type=_PATH, help="show the loss on these similarities; can be repeated")
@click.option("--overwrite", is_flag=True, help="replace a model that is already there")
@click.option("--quiet", is_flag=True, help="show no progress")
@json_option
def compress(model: Path, target: Path, quiet: bool, as_json: bool, **settings: Any) -> None:
    """Save MODEL, of posvec or of fastText, as OUT, in less space.

    OUT is a model like any other, but is not trained further. Words of the vocabulary keep their vectors, up to what
    the method rounds; words that are left out get theirs from n-grams, as far as these are kept.
    """
    from posvec.evaluation.compression import compress_model

    with displayed(quiet) as (display, _):
        if display is None:
            result = compress_model(model, target, **settings)
        else:
            with display.stage("compressing") as progress:
                result = compress_model(model, target, progress=progress, **settings)
    if as_json:
        click.echo(result.to_json())
    else:
        make_console().print(result)
    if result.vectors_only:
        click.echo("Left out: the output vectors, so no masked words can be predicted.", err=True)


COMMANDS = (compress,)
