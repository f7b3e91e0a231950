"""posvec compress: make a model smaller, and report the loss of quality."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import PATH, json_option, model_argument
from posvec.cli.progress import progress_display
from posvec.system.console import echo, make_console, say


@click.command()
@model_argument
@click.argument("target", metavar="OUT", type=PATH)
@click.option(
    "--method",
    # The names of posvec.evaluation.compression.METHODS, whose import would slow down --help.
    type=click.Choice(["float16", "int8", "pq", "prune"]),
    default="int8",
    show_default=True,
    help="bytes per number: 2, 1, or 1 for several (product quantization); prune: numbers are unchanged",
)
@click.option("--words", type=click.IntRange(min=1), help="keep this many of the most frequent words  [all]")
@click.option(
    "--buckets",
    type=click.IntRange(min=0),
    help="keep this many n-gram buckets, the most useful ones  [all]",
)
@click.option(
    "--sub-vector",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="pq: numbers per byte; more make the model smaller and less accurate",
)
@click.option("--vectors-only", is_flag=True, help="leave out the output vectors, which predict masked words")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="pq: seed of k-means")
@click.option(
    "--questions", multiple=True, type=PATH, help="report the loss of accuracy on these analogies; can be repeated"
)
@click.option("--pairs", multiple=True, type=PATH, help="report the loss on these word pairs; can be repeated")
@click.option("--overwrite", is_flag=True, help="replace an existing model")
@click.option("--quiet", is_flag=True, help="show no progress")
@json_option
def compress(model: Path, target: Path, quiet: bool, as_json: bool, **settings: Any) -> None:
    """Compress MODEL, of posvec or fastText, and save it as OUT.

    OUT works as any other model, except that it cannot be trained further. The vectors of words in the vocabulary
    change only by rounding; words that are left out get vectors from their n-grams, if these are kept.
    """
    from posvec.evaluation.compression import compress_model

    with progress_display(quiet) as (display, _):
        if display is None:
            result = compress_model(model, target, **settings)
        else:
            with display.stage("compressing") as progress:
                result = compress_model(model, target, progress=progress, **settings)
    if as_json:
        echo(result.to_json())
    else:
        make_console().print(result)
    if result.vectors_only:
        say("The output vectors are left out, so OUT cannot predict masked words.")


COMMANDS = (compress,)
