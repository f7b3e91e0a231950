"""posvec convert: word vectors from one file format to another."""

from __future__ import annotations

from pathlib import Path

import click

# The names of posvec.formats.FORMATS, which is not imported before it is needed.
_FORMATS = click.Choice(
    ["word2vec-bin", "word2vec-text", "fasttext-bin", "fasttext-vec", "glove", "npz", "safetensors", "posvec"]
)


@click.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=_FORMATS, help="format of OUT, if its ending does not say it")
@click.option("--from", "source_format", type=_FORMATS, help="format of IN, if its content does not say it")
@click.option("--overwrite", is_flag=True, help="replace what is already there")
def convert(source: Path, target: Path, format_: str | None, source_format: str | None, overwrite: bool) -> None:
    """Write the model or word vectors IN as OUT, in the format of its ending.

    .bin is word2vec's binary format (--format fasttext-bin: fastText's), .txt its text, .vec fastText's text, .glove
    GloVe's; .npz, .safetensors; no ending: a model's folder. Text and .bin may be compressed: .gz, .bz2, .xz, .zst.
    """
    from posvec.formats import convert as run

    lost = run(source, target, format_, source_format, overwrite)
    if lost:
        click.echo(f"Left out, for {target} has no room for them: {', '.join(lost)}.", err=True)


COMMANDS = (convert,)
