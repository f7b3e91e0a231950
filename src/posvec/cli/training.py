"""posvec train and posvec resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import model_argument, sources, trained_on_display
from posvec.cli.flags import given_settings, read_config, settings
from posvec.config import GROUPS, MODELS, PRESETS, SETTINGS
from posvec.printing import print_report

# A corpus of fewer tokens than this starves the paper's settings, and posvec train says so.
SMALL_CORPUS = 10_000_000
# Where a saved model says that training is not over, and the command that goes on.
RESUMED = ("state", "posvec resume")


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="folder to save the model in")
@click.option(
    "--model",
    type=click.Choice(list(MODELS)),
    default="constrained",
    show_default=True,
    help="which of the four models",
)
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), default="posvec", show_default=True, help="a set of defaults"
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help='JSON file of settings: {"dim": 100, ...}, or the config.json of a model',
)
@click.option("--vocabulary", type=click.Path(path_type=Path), help="use a vocabulary made by posvec vocab --output")
@click.option("--start", type=click.Path(path_type=Path), help="train this model further; new words are added to it")
@click.option("--overwrite", is_flag=True, help="replace a model that is already there")
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
@settings(*GROUPS)
def train(
    corpus: tuple[str, ...],
    output: Path,
    model: str,
    preset: str,
    config_file: Path | None,
    vocabulary: Path | None,
    start: Path | None,
    overwrite: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Train a model on CORPUS: files (plain, .gz, .bz2, .xz, .zst), folders, globs, - or the name of a dataset.

    One sentence per line; - is standard input; posvec data list shows the names, such as wikipedia:cs.
    Press Ctrl-C to stop and save; posvec resume goes on.
    """
    from posvec.pipeline import train as run

    config, given = read_config(config_file) if config_file else (None, {})
    given |= given_settings(values)
    if config or start:
        _refuse_model_and_preset("--config" if config else "--start")
    with trained_on_display(quiet, output, RESUMED) as (display, console):
        trained = run(
            sources(corpus),
            model,
            preset=preset,
            config=config,
            output=output,
            overwrite=overwrite,
            vocabulary=vocabulary,
            start=start,
            display=display,
            **given,
        )
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
def resume(model: Path, corpus: tuple[str, ...], threads: int | None, quiet: bool) -> None:
    """Go on with the interrupted training of MODEL.

    CORPUS is needed only if it did not come from files.
    """
    from posvec.pipeline import resume as run

    with trained_on_display(quiet, model, RESUMED) as (display, console):
        trained = run(model, sources(corpus) if corpus else None, threads=threads, display=display)
    if not quiet:
        print_report(console, trained, model)


COMMANDS = (train, resume)


def _refuse_model_and_preset(option: str) -> None:
    """What a whole configuration or an earlier model decides cannot be chosen too: nothing is ignored in silence."""
    context = click.get_current_context()
    for name in ("model", "preset"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} says which model it is, settings included; leave out --{name}")
