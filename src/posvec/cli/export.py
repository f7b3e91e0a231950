"""posvec export: a model as a folder for another library."""

from __future__ import annotations

from pathlib import Path

import click

from posvec.cli.arguments import model_argument
from posvec.interop import TARGETS


@click.command()
@model_argument
@click.option("--to", required=True, type=click.Choice(list(TARGETS)), help="the library that is to open it")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="folder to write")
@click.option("--overwrite", is_flag=True, help="replace a folder that was exported before")
@click.option("--language", help="short name of the language, such as en  [spacy: xx, for several]")
@click.option("--license", help="hub: short name of the licence for the model card, such as mit")
def export(model: Path, to: str, output: Path, overwrite: bool, language: str | None, license: str | None) -> None:
    """Write MODEL as a folder that spaCy, sentence-transformers or the Hugging Face hub know."""
    from posvec.interop import export as run
    from posvec.model import Model

    loaded = Model.load(model)
    target = run(loaded, to, output, overwrite=overwrite, language=language, license=license)
    if omitted := target.omissions(loaded):
        click.echo(f"It has no place for {', '.join(omitted)}: they are left out.", err=True)
    click.echo(f"Open it with: {target.open_expression.format(str(output))}", err=True)


COMMANDS = (export,)
