"""posvec reproduce: the paper's tables and figures."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import displayed, sources
from posvec.config import SETTINGS
from posvec.presets import PRESETS

_PATH = click.Path(path_type=Path)


@click.command()
@click.option(
    "--corpus", "corpus", multiple=True, required=True, help="text to train on, as for posvec train; can be repeated"
)
@click.option("-o", "--output", required=True, type=_PATH, help="folder of the report; one that is there goes on")
@click.option(
    "--scale",
    type=click.Choice(["small", "medium", "full"]),
    default="small",
    show_default=True,
    help="small: about an hour and a half on two cores; medium: a night on a workstation; full: the paper's setting",
)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="settings of all models  [posvec; full: as-run]")
@click.option("--seeds", type=click.IntRange(min=1), help="how often everything is trained anew  [3]")
@click.option("--questions", multiple=True, type=_PATH, help="word analogies; can be repeated")
@click.option("--pairs", multiple=True, type=_PATH, help="pairs of words with their similarity; can be repeated")
@click.option("--language-data", type=_PATH, help="texts for language modelling, as for posvec lm train --data")
@click.option("--language", help="which language of these texts, if there are several")
@click.option(
    "--sentence", "sentences", multiple=True, help="with a [MASK], in place of the paper's four; can be repeated"
)
@click.option("--word", "words", multiple=True, help="show its rank in each sentence; can be repeated")
@click.option("--context-word", "context_words", multiple=True, help="show which cluster maximizes it; can be repeated")
@click.option("--only", metavar="NAME,...", help="only these experiments; an unknown name lists them all")
@click.option("--qualitative", is_flag=True, help="only what looks into positional vectors, which suits any language")
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@click.option("--keep-models", is_flag=True, help="keep all models in the output's folder work")
@click.option("--overwrite", is_flag=True, help="begin a reproduction that is there anew")
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
def reproduce(corpus: tuple[str, ...], output: Path, only: str | None, quiet: bool, **options: Any) -> None:
    """Measure everything that the paper shows, on CORPUS, and report it beside the paper's numbers.

    The report (report.md, report.html) is written anew after every experiment. What is done is not done again: Ctrl-C
    stops, and the same command goes on. Experiments whose data are not given are skipped.
    """
    from posvec.reproduction.running import reproduce as run

    try:
        with displayed(quiet) as (display, _):
            report = run(
                sources(corpus),
                output,
                only=[name.strip() for name in (only or "").split(",") if name.strip()],
                command=_command(),
                display=display,
                **options,
            )
    except KeyboardInterrupt:
        click.echo(f"Interrupted. What was measured is in {output}; the same command goes on with it.", err=True)
        sys.exit(130)
    if not quiet:
        click.echo(f"{report} and {report.with_suffix('.html')} are written", err=True)


COMMANDS = (reproduce,)


def _command() -> str:
    """As it was typed, but for the folders that files are in, which are nobody else's."""
    return shlex.join(["posvec", *(Path(part).name if "/" in part else part for part in sys.argv[1:])])
