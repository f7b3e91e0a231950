"""posvec train and posvec resume."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import DURATION, PLACE, model_argument, sources, trained_on_display
from posvec.cli.flags import (
    cluster_options,
    configuration,
    model_options,
    on_cluster,
    refuse_model_and_preset,
    settings,
)
from posvec.cli.printing import print_report
from posvec.config import GROUPS, SETTINGS

# A corpus of fewer tokens than this starves the paper's settings, and posvec train says so.
SMALL_CORPUS = 10_000_000
# Where a saved model says that training is not over, and the command that goes on.
RESUMED = ("state", "posvec resume")


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=PLACE, help="folder to save the model in, or its s3://... address")
@model_options
@click.option("--vocabulary", type=click.Path(path_type=Path), help="use a vocabulary made by posvec vocab --output")
@click.option("--start", type=click.Path(path_type=Path), help="train this model further; new words are added to it")
@click.option(
    "--autotune",
    type=DURATION,
    metavar="TIME",
    help="first search this long (such as 10m) for window, positional_dim and initial_lr, where not given; the "
    "lowest validation loss wins",
)
@click.option(
    "--questions",
    multiple=True,
    type=click.Path(path_type=Path),
    help="with --autotune: the highest accuracy on these analogies wins, and epochs and sample are searched too",
)
@click.option("--overwrite", is_flag=True, help="replace a model that is already there")
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
@cluster_options()
@settings(*GROUPS)
def train(
    corpus: tuple[str, ...],
    output: Path,
    model: str,
    preset: str,
    config_file: Path | None,
    vocabulary: Path | None,
    start: Path | None,
    autotune: float | None,
    questions: tuple[Path, ...],
    overwrite: bool,
    quiet: bool,
    cluster: str | None,
    **values: Any,
) -> None:
    """Train a model on CORPUS: files (plain, .gz, .bz2, .xz, .zst), folders, globs, - or the name of a dataset.

    One sentence per line; - is standard input; posvec data list shows the names, such as wikipedia:cs.
    Press Ctrl-C to stop and save; posvec resume goes on.
    """
    config, given = configuration(config_file, values)
    if start:
        refuse_model_and_preset("--start")
    shared = on_cluster(cluster, values)
    if autotune and cluster:
        raise click.UsageError("--autotune trains on one machine; use posvec search --cluster, then train its best")
    if autotune and (vocabulary or start):
        raise click.UsageError("--autotune trains a new model; leave out --vocabulary and --start")
    if questions and not autotune:
        raise click.UsageError("--questions are what --autotune goes by; add it, such as --autotune 10m")
    how: dict[str, Any] = {"preset": preset, "config": config, "output": output, "overwrite": overwrite, **given}
    with trained_on_display(quiet, output, RESUMED) as (display, console):
        if autotune:
            from posvec.tuning import autotune as run_search

            trained = run_search(sources(corpus), autotune, model, questions=questions, display=display, **how)
        else:
            run = import_module("posvec.distributed" if cluster else "posvec.training.pipeline").train
            trained = run(sources(corpus), model, vocabulary=vocabulary, start=start, display=display, **how, **shared)
    if not quiet:
        print_report(console, trained, output)
        if trained.report and trained.report.tokens < SMALL_CORPUS and not (preset == "small" or config or start):
            console.print(
                f"The corpus has {trained.report.tokens:,} words; with fewer than {SMALL_CORPUS:,}, --preset small "
                "usually gives better vectors."
            )


@click.command()
@model_argument
@click.argument("corpus", nargs=-1)
@click.option("--threads", type=int, default=None, help=SETTINGS["threads"].help)
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
@cluster_options()
def resume(
    model: Path, corpus: tuple[str, ...], threads: int | None, quiet: bool, cluster: str | None, **values: Any
) -> None:
    """Go on with the interrupted training of MODEL.

    CORPUS is needed only if it is elsewhere now, or did not come from files.
    """
    shared = on_cluster(cluster, values)
    run = import_module("posvec.distributed" if cluster else "posvec.training.pipeline").resume
    with trained_on_display(quiet, model, RESUMED) as (display, console):
        trained = run(model, sources(corpus) if corpus else None, threads=threads, display=display, **shared)
    if not quiet:
        print_report(console, trained, model)


COMMANDS = (train, resume)
