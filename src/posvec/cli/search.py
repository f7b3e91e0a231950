"""posvec search and posvec study: settings that suit a corpus."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.cli.arguments import DURATION, displayed, json_option, result_options, show_result, sources
from posvec.cli.flags import cluster_options, configuration, model_options, on_cluster, settings
from posvec.config import ALIASES, GROUPS, SETTINGS
from posvec.system.console import make_console

if TYPE_CHECKING:
    from posvec.tuning.results import SearchResult

_PATH = click.Path(path_type=Path)
_storage = click.option(
    "--storage", metavar="URL", help="keep the trials in a database that several machines use, not in the folder"
)
_name = click.option("--name", help="of the study in that database  [the name of the folder]")


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=_PATH, help="folder of the study; one that is there goes on")
@click.option(
    "--space",
    "space",
    multiple=True,
    metavar="SETTING=VALUES",
    help="window=1..50, positional_dim=10..300:10, initial_lr=0.01..0.1:log, initializer=identity,vanilla; can be "
    "repeated  [the paper's: window, and positional_dim of the constrained model]",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="NAME,...",
    help="accuracy, similarity, validation_loss, seconds, or module:function of a model, with - in front if less is "
    "better; several give a Pareto front  [accuracy with --questions, similarity with --pairs]",
)
@click.option("--questions", multiple=True, type=_PATH, help="analogies; can be repeated")
@click.option("--pairs", multiple=True, type=_PATH, help="pairs of words with their similarity; can be repeated")
@click.option(
    "--restrict-vocab",
    type=click.IntRange(min=0),
    default=200_000,
    show_default=True,
    help="analogies among this many most frequent words; 0: all",
)
@click.option("--trials", type=click.IntRange(min=1), help="of the study, over all runs  [50, without --time]")
@click.option("--time", "seconds", type=DURATION, help="stop after so much time, such as 90s, 10m or 1h30m")
@click.option("--prune/--no-prune", default=True, show_default=True, help="give up early on trials that do badly")
@click.option("--keep-best", is_flag=True, help="keep the best model too, in the study's folder")
@click.option("--plots", is_flag=True, help="draw the study when it ends, in the folder's plots")
@_storage
@_name
@click.option("--overwrite", is_flag=True, help="begin a study that is there anew")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
@cluster_options("workers")
@model_options
@settings(*GROUPS)
def search(
    corpus: tuple[str, ...],
    output: Path,
    objectives: tuple[str, ...],
    restrict_vocab: int,
    plots: bool,
    as_json: bool,
    quiet: bool,
    config_file: Path | None,
    cluster: str | None,
    **values: Any,
) -> None:
    """Search for the settings that suit CORPUS best, and write them for posvec train --config.

    Trials are chosen by the Tree-structured Parzen Estimator, and the settings that are given as flags hold for all of
    them. Ctrl-C stops, and the same command goes on; several processes may work on one study.
    """
    from posvec.tuning.results import BEST_FILE
    from posvec.tuning.study import PLOTS_FOLDER

    config, given = configuration(config_file, values)
    given |= on_cluster(cluster, values)
    run = import_module("posvec.distributed" if cluster else "posvec.tuning").search
    options = {name: value for name, value in values.items() if name not in {*SETTINGS, *ALIASES, "workers"}}
    try:
        with displayed(quiet) as (display, _):
            result = run(
                sources(corpus),
                output=output,
                objectives=[name for each in objectives for name in each.split(",") if name],
                restrict_vocab=restrict_vocab or None,
                config=config,
                display=display,
                **options,
                **given,
            )
    except KeyboardInterrupt:
        click.echo(f"Interrupted. The trials so far are in {output}; run the same command again to continue.", err=True)
        sys.exit(130)
    if plots:
        _draw(result, output / PLOTS_FOLDER, "png")
    if as_json:
        click.echo(result.to_json())
    elif not quiet:
        make_console().print(result)
        click.echo(
            f"Train with the best settings: posvec train CORPUS --config {output / BEST_FILE} --output MODEL", err=True
        )


@click.command()
@click.argument("study", type=_PATH)
@_storage
@_name
@click.option("--plots", type=_PATH, metavar="FOLDER", help="draw history, importance and each setting's effect there")
@click.option(
    "--format", "ending", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True, help="of figures"
)
@result_options
def study(
    study: Path,
    storage: str | None,
    name: str | None,
    plots: Path | None,
    ending: str,
    as_json: bool,
    output: Path | None,
    overwrite: bool,
) -> None:
    """Show what a search has found: the best trials of STUDY; all of them in FILE.csv or FILE.json."""

    def measure() -> Any:
        from posvec.tuning import load_study

        result = load_study(study, storage, name)
        if plots:
            _draw(result, plots, ending)
        return result

    show_result(measure, as_json, output, overwrite)


COMMANDS = (search, study)


def _draw(result: SearchResult, folder: Path, ending: str) -> None:
    from posvec import plots

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in plots.study(result).items():
        plots.save(figure, folder / f"{name}.{ending}")
