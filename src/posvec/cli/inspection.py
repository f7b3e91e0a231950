"""posvec info, vocab and cache: show a model, a vocabulary, and the cache of corpora."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.cli.arguments import PATH, model_argument, overwrite_option, sources
from posvec.cli.flags import given_settings, settings
from posvec.cli.output import refuse_existing
from posvec.cli.printing import print_info, print_vocabulary
from posvec.cli.progress import progress_display
from posvec.config import SETTINGS
from posvec.errors import ConfigError
from posvec.system.console import echo, format_size, make_console, make_table, plural
from posvec.system.utf8 import encode_json

if TYPE_CHECKING:
    from posvec.model import Model


@click.command()
@model_argument
@click.option("--json", "as_json", is_flag=True, help="print everything as JSON")
@click.option("--verify", is_flag=True, help="compare all files with their checksums")
def info(model: Path, as_json: bool, verify: bool) -> None:
    """Show the settings, the sizes and the training report of MODEL."""
    from posvec.model import Model

    loaded = Model.load(model, verify)
    if as_json:
        echo(encode_json(_describe(loaded), indent=2).decode())
        return
    print_info(make_console(), loaded, model)


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, help="save the vocabulary for posvec train --vocabulary")
@overwrite_option
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="print this many of the most frequent words",
)
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@settings("text", "vocabulary")
def vocab(corpus: tuple[str, ...], output: Path | None, overwrite: bool, top: int, threads: int, **values: Any) -> None:
    """Count the words of CORPUS and show the vocabulary that a model would have.

    CORPUS can also be the folder of a model, or a saved vocabulary.
    """
    from posvec.training.pipeline import count

    if output:
        refuse_existing(output, overwrite)
    given = given_settings(values)
    vocabulary = _saved_vocabulary(corpus)
    if vocabulary is None:
        with progress_display(quiet=False) as (display, _):
            vocabulary = count(sources(corpus), display=display, threads=threads, **given)
    elif given:
        raise ConfigError(f"{corpus[0]} is already a vocabulary; leave out {', '.join(given)}, or give its corpus")
    if output:
        vocabulary.save(output)
    print_vocabulary(make_console(), vocabulary, top)


@click.group()
def cache() -> None:
    """List or clear the cache of counted and encoded corpora."""


@cache.command("list")
def list_cache() -> None:
    """List the entries of the cache."""
    from datetime import datetime

    from posvec.corpus.cache import cache_entries, cache_folder

    entries = cache_entries()
    table = make_table("corpus", "size", "created")
    for entry in entries:
        table.add_row(entry.name, format_size(entry.bytes), f"{datetime.fromtimestamp(entry.created):%Y-%m-%d %H:%M}")
    console = make_console()
    if entries:
        console.print(table)
    total = format_size(sum(entry.bytes for entry in entries))
    console.print(f"{plural(len(entries), 'entry', 'entries')}, {total} in {cache_folder()}")


@cache.command("clear")
def clear() -> None:
    """Remove everything from the cache."""
    from posvec.corpus.cache import clear_cache

    echo(f"{format_size(clear_cache())} freed")


COMMANDS = (info, vocab, cache)


def _describe(model: Model) -> dict[str, Any]:
    return {
        "kind": model.config.kind,
        "words": len(model.vocabulary),
        "ngram_rows": len(model.rows.bucket_ids),
        "settings": model.config.to_dict(),
        "report": model.report.to_dict() if model.report else None,
        "interrupted": model.state is not None,
        "compression": dataclasses.asdict(model.compression) if model.compression else None,
    }


def _saved_vocabulary(corpus: tuple[str, ...]) -> Any:
    from posvec.model import Model
    from posvec.vocabulary import Vocabulary

    if len(corpus) != 1:
        return None
    path = Path(corpus[0])
    if (path / "config.json").is_file():
        return Model.load(path).vocabulary
    if path.is_file():
        with path.open("rb") as file:
            if file.read(64).startswith(b'{"format": "posvec vocabulary"'):
                return Vocabulary.load(path)
    return None
