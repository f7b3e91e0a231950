"""posvec convert: convert word vectors from one file format to another."""

from __future__ import annotations

from pathlib import Path

import click

from posvec.cli.arguments import PATH
from posvec.system.console import say

# The names of posvec.formats.FORMATS, whose import would slow down --help.
FORMAT_NAMES = click.Choice(
    ["word2vec-bin", "word2vec-text", "fasttext-bin", "fasttext-vec", "glove", "npz", "safetensors", "posvec"]
)


@click.command()
@click.argument("source", metavar="IN", type=PATH)
@click.argument("target", metavar="OUT", type=PATH)
@click.option("--format", "format_", type=FORMAT_NAMES, help="format of OUT  [by its file extension]")
@click.option("--from", "source_format", type=FORMAT_NAMES, help="format of IN  [detected from its content]")
@click.option("--overwrite", is_flag=True, help="replace an existing file or folder")
def convert(source: Path, target: Path, format_: str | None, source_format: str | None, overwrite: bool) -> None:
    """Convert the model or word vectors IN to OUT, whose file extension is its format.

    .bin: binary word2vec (or fastText, with --format fasttext-bin); .txt: word2vec text; .vec: fastText text; .glove:
    GloVe text; .npz; .safetensors; no extension: the folder of a posvec model. Text and .bin files can be compressed,
    with a further .gz, .bz2, .xz or .zst.
    """
    from posvec.formats import convert as run

    lost = run(source, target, format_, source_format, overwrite)
    if lost:
        say(f"{target} cannot store these, so they are left out: {', '.join(lost)}.")


COMMANDS = (convert,)
