"""posvec neighbors: questions to the word vectors of a model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from posvec.cli.arguments import json_option, model_argument
from posvec.printing import make_console, print_neighbors


@click.command()
@model_argument
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="neighbours of each word")
@json_option
def neighbors(model: Path, words: tuple[str, ...], topn: int, as_json: bool) -> None:
    """The words of MODEL nearest to each of WORDS by cosine similarity."""
    from posvec.model import Model

    vectors = Model.load(model).vectors
    found = {word: vectors.most_similar(word, topn=topn) for word in words}
    if as_json:
        click.echo(
            json.dumps({word: [each._asdict() for each in near] for word, near in found.items()}, ensure_ascii=False)
        )
        return
    print_neighbors(make_console(), vectors, found)


COMMANDS = (neighbors,)
