"""posvec export: export a model for another library."""

from __future__ import annotations

from pathlib import Path

import click

from posvec.cli.arguments import PATH, model_argument
from posvec.interop import TARGETS
from posvec.system.console import say


@click.command()
@model_argument
@click.option("--to", required=True, type=click.Choice(list(TARGETS)), help="the library")
@click.option("-o", "--output", required=True, type=PATH, help="folder to write")
@click.option("--overwrite", is_flag=True, help="replace an earlier export")
@click.option("--language", help="language code, for example en  [spacy: xx, which means multilingual]")
@click.option("--license", help="hub: licence identifier for the model card, for example mit")
def export(model: Path, to: str, output: Path, overwrite: bool, language: str | None, license: str | None) -> None:
    """Export MODEL as a folder for spaCy, sentence-transformers or the Hugging Face Hub."""
    from posvec.interop import export as run
    from posvec.model import Model

    loaded = Model.load(model)
    target = run(loaded, to, output, overwrite=overwrite, language=language, license=license)
    if omitted := target.omissions(loaded):
        say(f"The export leaves out {', '.join(omitted)}, which this format cannot store.")
    say(f"Open it with: {target.open_expression.format(str(output))}")


COMMANDS = (export,)
