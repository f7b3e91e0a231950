"""posvec reproduce: reproduce the tables and figures of the paper."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import PATH, quiet_option, sources
from posvec.cli.progress import interruptible, progress_display
from posvec.config import SETTINGS
from posvec.presets import PRESETS
from posvec.system.console import say


@click.command()
@click.option(
    "--corpus", "corpus", multiple=True, required=True, help="text to train on, as in posvec train; can be repeated"
)
@click.option(
    "-o", "--output", required=True, type=PATH, help="folder of the report; an existing reproduction is continued"
)
@click.option(
    "--scale",
    type=click.Choice(["small", "medium", "full"]),
    default="small",
    show_default=True,
    help="small: about an hour and a half on two cores; medium: a night on a workstation; full: the paper's setting",
)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="preset of all models  [posvec; full: as-run]")
@click.option("--seeds", type=click.IntRange(min=1), help="how many times everything is trained  [3]")
@click.option("--questions", multiple=True, type=PATH, help="word analogies; can be repeated")
@click.option("--pairs", multiple=True, type=PATH, help="word pairs with their similarity; can be repeated")
@click.option("--language-data", type=PATH, help="texts for language modelling, as in posvec lm train --data")
@click.option("--language", help="language of these texts, if there are several")
@click.option(
    "--sentence",
    "sentences",
    multiple=True,
    help="sentence with a [MASK], instead of the paper's four; can be repeated",
)
@click.option("--word", "words", multiple=True, help="word whose rank in each sentence is reported; can be repeated")
@click.option("--context-word", "context_words", multiple=True, help="word whose cluster is reported; can be repeated")
@click.option("--only", metavar="NAME,...", help="run only these experiments; an unknown name lists all")
@click.option(
    "--qualitative", is_flag=True, help="run only the experiments about positional vectors, which suit any language"
)
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@click.option("--keep-models", is_flag=True, help="keep all models, in the folder work of the output")
@click.option("--overwrite", is_flag=True, help="remove an existing reproduction and start again")
@quiet_option
def reproduce(corpus: tuple[str, ...], output: Path, only: str | None, quiet: bool, **options: Any) -> None:
    """Measure on a corpus what the paper measured, and report it beside the paper's numbers.

    The report (report.md, report.html) is updated after every experiment. Ctrl-C stops the reproduction, and the same
    command continues it. Experiments whose data are not given are skipped.
    """
    from posvec.reproduction import reproduce as run

    def describe() -> str:
        if not output.exists():
            return "Interrupted before the first experiment; nothing was saved."
        return f"Interrupted. The results so far are in {output}; run the same command again to continue."

    with interruptible(describe), progress_display(quiet) as (display, _):
        report = run(
            sources(corpus),
            output,
            only=[name.strip() for name in (only or "").split(",") if name.strip()],
            command=_command(),
            display=display,
            **options,
        )
    if not quiet:
        say(f"{report} and {report.with_suffix('.html')} were written")


COMMANDS = (reproduce,)


def _command() -> str:
    """Return the command line without the folders of files, which mean nothing to other people."""
    return shlex.join(["posvec", *(Path(part).name if "/" in part else part for part in sys.argv[1:])])
