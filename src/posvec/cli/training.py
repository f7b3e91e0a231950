"""posvec train and posvec resume: train a model."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import DURATION, PATH, PATH_OR_URL, model_argument, quiet_option, sources
from posvec.cli.flags import (
    cluster_options,
    configuration,
    model_options,
    on_cluster,
    refuse_model_and_preset,
    settings,
)
from posvec.cli.printing import format_calibration, print_report
from posvec.cli.progress import training_display
from posvec.config import GROUPS, SETTINGS
from posvec.system.console import make_console

# The key that the config.json of an interrupted model has, and the command that resumes training.
RESUMED = ("state", "posvec resume")


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=PATH_OR_URL,
    help="folder to save the model in, or a URL such as s3://bucket/model",
)
@model_options
@click.option("--vocabulary", type=PATH, help="use a vocabulary saved by posvec vocab --output")
@click.option("--start", type=PATH, help="train this model further; its vocabulary grows by new words")
@click.option(
    "--time",
    type=DURATION,
    metavar="TIME",
    help="train as well as can be in this time (for example 10m), from reading the corpus to saving the model; in "
    "place of --epochs",
)
@click.option(
    "--autotune",
    type=DURATION,
    metavar="TIME",
    help="first search for this time (for example 10m) for the window, initial_lr and, in the constrained model, "
    "positional_dim with the lowest validation loss, except for those that are given",
)
@click.option(
    "--questions",
    multiple=True,
    type=PATH,
    help="with --autotune: search for the highest accuracy on these analogies, also over epochs and sample",
)
@click.option("--overwrite", is_flag=True, help="replace an existing model")
@quiet_option
@cluster_options()
@settings(*GROUPS)
def train(
    corpus: tuple[str, ...],
    output: Path,
    model: str | None,
    preset: str,
    config_file: Path | None,
    vocabulary: Path | None,
    start: Path | None,
    time: float | None,
    autotune: float | None,
    questions: tuple[Path, ...],
    overwrite: bool,
    quiet: bool,
    cluster: str | None,
    **values: Any,
) -> None:
    """Train a model on CORPUS.

    CORPUS is files (plain, .gz, .bz2, .xz, .zst), folders, globs, - for standard input, or the name of a dataset,
    for example wikipedia:cs; posvec data list shows the names. Each line is a sentence. Press Ctrl-C to stop and
    save; posvec resume continues. SIGTERM, SIGHUP (a closed terminal), SIGXCPU and SIGUSR1 (a scheduler's warning) do
    the same. The exit code is then 130.
    """
    config, given = configuration(config_file, values)
    if start:
        refuse_model_and_preset("--start")
    shared = on_cluster(cluster, values)
    if autotune and cluster:
        raise click.UsageError(
            "--autotune runs on one machine; use posvec search --cluster, then train with its best settings"
        )
    if autotune and (vocabulary or start):
        raise click.UsageError("--autotune trains a new model; leave out --vocabulary and --start")
    if autotune and time:
        raise click.UsageError("--autotune compares models of the same number of epochs; leave out --time")
    if questions and not autotune:
        raise click.UsageError("--questions is an option of --autotune; add for example --autotune 10m")
    how: dict[str, Any] = {"preset": preset, "config": config, "output": output, "overwrite": overwrite, **given}
    with training_display(quiet, output, RESUMED) as (display, console):
        display = display or import_module("posvec.training.pipeline").Quiet()
        if autotune:
            from posvec.tuning import autotune as run_search

            trained = run_search(sources(corpus), autotune, model, questions=questions, display=display, **how)
        else:
            run = import_module("posvec.distributed" if cluster else "posvec.training.pipeline").train
            how |= {"vocabulary": vocabulary, "start": start, "time": time, "display": display, **shared}
            trained = run(sources(corpus), model, **how)
    if not quiet:
        print_report(console, trained, output)


@click.command()
@model_argument
@click.argument("corpus", nargs=-1)
@click.option("--threads", type=int, default=None, help=SETTINGS["threads"].help)
@click.option(
    "--initial-lr", type=float, default=None, help="learning rate at the start; a lower one if training diverged"
)
@click.option(
    "--allow-network", is_flag=True, help="read the corpus from whatever server the checkpoint names, if it was remote"
)
@quiet_option
@cluster_options()
def resume(
    model: Path,
    corpus: tuple[str, ...],
    threads: int | None,
    initial_lr: float | None,
    allow_network: bool,
    quiet: bool,
    cluster: str | None,
    **values: Any,
) -> None:
    """Resume the interrupted training of MODEL.

    CORPUS is only needed if it was moved, did not come from files, or is on another server than MODEL.
    """
    how: dict[str, Any] = {"allow_network": allow_network, **on_cluster(cluster, values)}
    run = import_module("posvec.distributed" if cluster else "posvec.training.pipeline").resume
    with training_display(quiet, model, RESUMED, resumes=True) as (display, console):
        display = display or import_module("posvec.training.pipeline").Quiet()
        how |= {"threads": threads, "initial_lr": initial_lr}
        trained = run(model, sources(corpus) if corpus else None, display=display, **how)
    if not quiet:
        print_report(console, trained, model)


@click.command()
@click.argument("model", type=PATH)
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--words", type=click.IntRange(min=200), default=2_000, show_default=True, help="words to mask, drawn at random"
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="seed of the draw")
@quiet_option
def calibrate(model: Path, text: tuple[str, ...], words: int, seed: int, quiet: bool) -> None:
    """Fit the probabilities of masked words to TEXT, and save them with MODEL.

    TEXT is text that MODEL was not trained on. Training does the same with lines that it holds out of large corpora;
    this is for models of small corpora, of earlier versions, or for text of another kind.
    """
    from posvec.model import Model
    from posvec.storage.locks import locked_folder
    from posvec.training.calibration import calibrate_on_text

    with locked_folder(model):
        loaded = Model.load(model)
        calibrate_on_text(loaded, sources(text), words, seed)
        loaded.save(model, overwrite=True)
    if not quiet:
        make_console().print(f"calibration: {format_calibration(loaded)}", highlight=False)


COMMANDS = (train, resume, calibrate)
