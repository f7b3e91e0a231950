"""posvec data: corpora and test sets by their names."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from posvec.cli.arguments import displayed, json_option
from posvec.system.console import format_size, make_console, make_table

offline_option = click.option("--offline", is_flag=True, help="do not fetch; POSVEC_OFFLINE=1 says so for all commands")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="print nothing but the path and errors")


@click.group()
def data() -> None:
    """Corpora and test sets: list, fetch, and find them.

    A name works wherever a corpus does: posvec train wikipedia:cs -o model
    """


@data.command("list")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def list_data(names: tuple[str, ...], as_json: bool) -> None:
    """Show what can be fetched and what is here, or all that is known about each NAME."""
    described = _describe(names)
    if as_json:
        click.echo(json.dumps(described, indent=2))
        return
    console = make_console()
    if names:
        for one in described:
            table = make_table(one["name"], "", numbers=False)
            for key, value in one.items():
                if key != "name" and value not in (None, ""):
                    table.add_row(key, _spelled(key, value))
            console.print(table)
        return
    table = make_table("name", "size", "here", "what", numbers=False)
    for one in described:
        here = "yes" if one["path"] else ""
        table.add_row(one["name"], _spelled("size", one["size"]), here, one["about"])
    console.print(table)
    console.print("posvec data list NAME shows addresses, licence and citation.")


@data.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--overwrite", is_flag=True, help="fetch again what is already here")
@offline_option
@quiet_option
def fetch(names: tuple[str, ...], overwrite: bool, offline: bool, quiet: bool) -> None:
    """Fetch data and print where it is; what is here is not fetched again.

    After an interruption, the same command goes on where it stopped.
    """
    from posvec.datasets.library import fetch as run

    for name in names:
        with _interruptible(name), displayed(quiet) as (display, _):
            path = run(name, overwrite=overwrite, offline=offline, display=display)
        click.echo(path)


@data.command()
@click.argument("name")
@offline_option
@quiet_option
def path(name: str, offline: bool, quiet: bool) -> None:
    """Print the file or folder of NAME, fetched first if it is not here."""
    from posvec.datasets.library import dataset_path

    with _interruptible(name), displayed(quiet) as (display, _):
        found = dataset_path(name, offline=offline, display=display)
    click.echo(found)


COMMANDS = (data,)


@contextmanager
def _interruptible(name: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"Interrupted; posvec data fetch {name} goes on where it stopped.", err=True)
        sys.exit(130)


def _describe(names: tuple[str, ...]) -> list[dict[str, Any]]:
    from posvec.datasets.catalogue import CATALOGUE
    from posvec.datasets.dumps import CITATION, LICENCE
    from posvec.datasets.library import fetched_names, fetched_path

    described = []
    for name in names or dict.fromkeys([*fetched_names(), *CATALOGUE]):
        here = fetched_path(name)
        if name in CATALOGUE:
            entry = CATALOGUE[name]
            about = dataclasses.asdict(entry) | {"size": entry.size}
        else:
            about = {"name": name, "kind": "corpus", "about": "a Wikipedia", "size": None}
            about |= {"licence": LICENCE, "citation": CITATION}
        described.append({**about, "path": str(here) if here else None})
    if not names:
        corpus: dict[str, Any] = {"kind": "corpus", "size": None, "path": None}
        described[:0] = [
            {"name": "python-docs", "about": "the documentation inside Python and NumPy; no download", **corpus},
            {"name": "wikipedia:cs", "about": "the newest Czech Wikipedia; any language", **corpus},
            {"name": "wikipedia:cs:20260101", "about": "the Wikipedia of a day", **corpus},
        ]
    return described


def _spelled(key: str, value: Any) -> str:
    if key == "size":
        return format_size(value) if value else ""
    if key == "downloads":
        return "\n".join(f"{each['url']}\n{each['checksum'] or 'no checksum known'}" for each in value)
    return str(value)
