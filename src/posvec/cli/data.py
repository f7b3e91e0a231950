"""posvec data: list and download corpora and test sets."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from posvec.cli.arguments import json_option
from posvec.cli.progress import progress_display
from posvec.system.console import echo, format_size, make_console, make_table, say
from posvec.system.utf8 import encode_json

offline_option = click.option(
    "--offline", is_flag=True, help="do not download; POSVEC_OFFLINE=1 does this for all commands"
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="print only the path and errors")


@click.group()
def data() -> None:
    """List and download corpora and test sets.

    The name of a corpus can be used instead of a file: posvec train wikipedia:cs -o model
    """


@data.command("list")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def list_data(names: tuple[str, ...], as_json: bool) -> None:
    """List all datasets and whether they are downloaded, or show everything about each NAME."""
    described = _describe(names)
    if as_json:
        echo(encode_json(described, indent=2).decode())
        return
    console = make_console()
    if names:
        for one in described:
            table = make_table(one["name"], "", numbers=False)
            for key, value in one.items():
                if key != "name" and value not in (None, ""):
                    table.add_row(key, _format_value(key, value))
            console.print(table)
        return
    table = make_table("name", "size", "downloaded", "description", numbers=False)
    for one in described:
        downloaded = "yes" if one["path"] else ""
        table.add_row(one["name"], _format_value("size", one["size"]), downloaded, one["about"])
    console.print(table)
    console.print("posvec data list NAME shows the URLs, licence and citation.")


@data.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--overwrite", is_flag=True, help="download again")
@offline_option
@quiet_option
def fetch(names: tuple[str, ...], overwrite: bool, offline: bool, quiet: bool) -> None:
    """Download datasets, unless they are downloaded already, and print their paths.

    An interrupted download continues when the command is run again.
    """
    from posvec.datasets.library import fetch as run

    for name in names:
        with _report_interruption(name), progress_display(quiet) as (display, _):
            path = run(name, overwrite=overwrite, offline=offline, display=display)
        click.echo(os.fsencode(path))


@data.command()
@click.argument("name")
@offline_option
@quiet_option
def path(name: str, offline: bool, quiet: bool) -> None:
    """Print the file or folder of NAME; download it first if necessary."""
    from posvec.datasets.library import dataset_path

    with _report_interruption(name), progress_display(quiet) as (display, _):
        found = dataset_path(name, offline=offline, display=display)
    click.echo(os.fsencode(found))


COMMANDS = (data,)


@contextmanager
def _report_interruption(name: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say(f"Interrupted; continue with: posvec data fetch {name}")
        sys.exit(130)


def _describe(names: tuple[str, ...]) -> list[dict[str, Any]]:
    from posvec.datasets.catalogue import CATALOGUE
    from posvec.datasets.dumps import CITATION, LICENCE
    from posvec.datasets.library import fetched_names, fetched_path

    described = []
    for name in names or dict.fromkeys([*fetched_names(), *CATALOGUE]):
        path = fetched_path(name)
        if name in CATALOGUE:
            entry = CATALOGUE[name]
            about = dataclasses.asdict(entry) | {"size": entry.size}
        else:
            about = {"name": name, "kind": "corpus", "about": "a Wikipedia", "size": None}
            about |= {"licence": LICENCE, "citation": CITATION}
        described.append({**about, "path": str(path) if path else None})
    if not names:
        corpus: dict[str, Any] = {"kind": "corpus", "size": None, "path": None}
        described[:0] = [
            {"name": "python-docs", "about": "the documentation inside Python and NumPy; no download", **corpus},
            {"name": "wikipedia:cs", "about": "the latest Czech Wikipedia; any language", **corpus},
            {"name": "wikipedia:cs:20260101", "about": "the Wikipedia of a date", **corpus},
        ]
    return described


def _format_value(key: str, value: Any) -> str:
    if key == "size":
        return format_size(value) if value else ""
    if key == "downloads":
        return "\n".join(f"{each['url']}\n{each['checksum'] or 'no checksum known'}" for each in value)
    return str(value)
