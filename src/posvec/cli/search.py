"""posvec search and posvec study: hyperparameter search."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.cli.arguments import DURATION, PATH, json_option, quiet_option, sources
from posvec.cli.flags import cluster_options, configuration, model_options, on_cluster, settings
from posvec.cli.output import result_options, show_result
from posvec.cli.progress import interruptible, progress_display
from posvec.config import ALIASES, GROUPS, SETTINGS
from posvec.system.console import echo, make_console, say

if TYPE_CHECKING:
    from posvec.tuning.results import SearchResult

_storage = click.option(
    "--storage", metavar="URL", help="keep the trials in a database, which several machines can share"
)
_name = click.option("--name", help="name of the study in the database  [the name of the folder]")


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=PATH, help="folder of the study; an existing study is continued")
@click.option(
    "--space",
    "space",
    multiple=True,
    metavar="SETTING=VALUES",
    help="window=1..50, positional_dim=10..300:10, initial_lr=0.01..0.1:log, initializer=identity,vanilla; can be "
    "repeated  [as in the paper: window, and positional_dim for the constrained model]",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="NAME,...",
    help="accuracy, similarity, validation_loss, seconds, or module:function of a model, preceded by - if lower is "
    "better; several give a Pareto front  [accuracy with --questions, similarity with --pairs]",
)
@click.option("--questions", multiple=True, type=PATH, help="word analogies; can be repeated")
@click.option("--pairs", multiple=True, type=PATH, help="word pairs with their similarity; can be repeated")
@click.option(
    "--restrict-vocab",
    type=click.IntRange(min=0),
    default=200_000,
    show_default=True,
    help="analogies among this many most frequent words; 0: all words",
)
@click.option(
    "--trials", type=click.IntRange(min=1), help="number of trials of the study, over all runs  [50, without --time]"
)
@click.option("--time", "seconds", type=DURATION, help="stop after this time, for example 90s, 10m or 1h30m")
@click.option("--prune/--no-prune", default=True, show_default=True, help="stop trials early that do worse than most")
@click.option("--keep-best", is_flag=True, help="also save the best model, in the folder of the study")
@click.option("--plots", is_flag=True, help="draw figures at the end, in the folder plots of the study")
@_storage
@_name
@click.option("--overwrite", is_flag=True, help="remove an existing study and start again")
@json_option
@quiet_option
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
    """Search for the best settings for CORPUS.

    They are written to a file for posvec train --config. The Tree-structured Parzen Estimator chooses the trials;
    settings given as flags are the same in all of them. Ctrl-C stops the search, and the same command continues it;
    several processes can work on one study.
    """
    from posvec.tuning.results import BEST_FILE
    from posvec.tuning.storage import JOURNAL
    from posvec.tuning.study import PLOTS_FOLDER

    config, given = configuration(config_file, values)
    given |= on_cluster(cluster, values)
    run = import_module("posvec.distributed" if cluster else "posvec.tuning").search
    options = {name: value for name, value in values.items() if name not in {*SETTINGS, *ALIASES, "workers"}}

    def describe() -> str:
        if not (output / JOURNAL).exists() and not values["storage"]:
            return "Interrupted before the first trial; nothing was saved."
        return f"Interrupted. The trials so far are in {output}; run the same command again to continue."

    with interruptible(describe), progress_display(quiet) as (display, _):
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
    if plots:
        _draw(result, output / PLOTS_FOLDER, "png")
    if as_json:
        echo(result.to_json())
    elif not quiet:
        make_console().print(result)
        say(f"Train with the best settings: posvec train CORPUS --config {output / BEST_FILE} --output MODEL")


@click.command()
@click.argument("study", type=PATH)
@_storage
@_name
@click.option(
    "--plots",
    type=PATH,
    metavar="FOLDER",
    help="draw the history, the importance and the effect of each setting to this folder",
)
@click.option(
    "--format",
    "extension",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    show_default=True,
    help="format of the figures",
)
@result_options
def study(
    study: Path,
    storage: str | None,
    name: str | None,
    plots: Path | None,
    extension: str,
    as_json: bool,
    output: Path | None,
    overwrite: bool,
) -> None:
    """Show the best trials of the search in STUDY.

    With --output, all trials are written to a file.
    """

    def measure() -> Any:
        from posvec.tuning import load_study

        result = load_study(study, storage, name)
        if plots:
            _draw(result, plots, extension)
        return result

    show_result(measure, as_json, output, overwrite)


COMMANDS = (search, study)


def _draw(result: SearchResult, folder: Path, extension: str) -> None:
    from posvec import plots

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in plots.study(result).items():
        plots.save(figure, folder / f"{name}.{extension}")
