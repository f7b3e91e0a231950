"""posvec neighbors, similarity, analogy and index: query the word vectors of a model."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.cli.arguments import json_option, model_argument, quiet_option, spelling_option, weighted_vectors
from posvec.cli.printing import print_neighbors
from posvec.cli.progress import progress_display
from posvec.config import SETTINGS
from posvec.system.console import echo, make_console
from posvec.system.utf8 import encode_json

if TYPE_CHECKING:
    from posvec.query.neighbors import Neighbor

topn_option = click.option(
    "-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="how many words to show"
)
restrict_option = click.option(
    "--restrict-vocab", type=click.IntRange(min=1), help="search only this many most frequent words"
)


@click.command()
@model_argument
@click.argument("words", nargs=-1, required=True)
@topn_option
@restrict_option
@click.option("--approximate", is_flag=True, help="use the index made by posvec index: faster, but can miss neighbours")
@spelling_option
@click.option("--tsv", is_flag=True, help="print lines of word, neighbour and similarity, separated by tabs")
@json_option
def neighbors(
    model: Path,
    words: tuple[str, ...],
    topn: int,
    restrict_vocab: int | None,
    approximate: bool,
    spelling: float | None,
    tsv: bool,
    as_json: bool,
) -> None:
    """Show the words nearest to each of WORDS by cosine similarity.

    MODEL is the folder of a model or a file of word vectors.
    """
    from posvec.formats import load_vectors

    if tsv and as_json:
        raise click.UsageError("--tsv and --json cannot be combined; choose one")
    if approximate and spelling is not None:
        raise click.UsageError("an index has the default weight of spelling; leave out --approximate or --spelling")
    vectors = weighted_vectors(load_vectors(model), spelling)
    index = vectors.open_index() if approximate else None
    answers = vectors.most_similar_batch(words, topn=topn, restrict_vocab=restrict_vocab, index=index)
    found = dict(zip(words, answers, strict=True))
    if as_json:
        _print_json({word: _to_dicts(near) for word, near in found.items()})
    elif tsv:
        for word, near in found.items():
            for each in near:
                echo(f"{word}\t{each.word}\t{each.similarity:.6f}")
    else:
        titles = {f"{word} (from its subwords)" if vectors.oov(word) else word: near for word, near in found.items()}
        print_neighbors(make_console(), titles)


@click.command()
@model_argument
@click.argument("word")
@click.argument("other")
@spelling_option
@json_option
def similarity(model: Path, word: str, other: str, spelling: float | None, as_json: bool) -> None:
    """Show the cosine similarity of two words, from -1 to 1."""
    from posvec.formats import load_vectors

    value = weighted_vectors(load_vectors(model), spelling).similarity(word, other)
    if as_json:
        _print_json({"words": [word, other], "similarity": value})
    else:
        echo(f"{value:.6f}")


@click.command()
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@click.option(
    "--method",
    type=click.Choice(["3cosadd", "3cosmul"]),
    default="3cosadd",
    show_default=True,
    help="nearest to b - a + c, or by the product of similarities (Levy and Goldberg 2014)",
)
@topn_option
@restrict_option
@spelling_option
@json_option
def analogy(
    model: Path,
    a: str,
    b: str,
    c: str,
    method: str,
    topn: int,
    restrict_vocab: int | None,
    spelling: float | None,
    as_json: bool,
) -> None:
    """Show the words that are to C as B is to A."""
    from posvec.formats import load_vectors

    vectors = weighted_vectors(load_vectors(model), spelling)
    answer = vectors.most_similar if method == "3cosadd" else vectors.most_similar_cosmul
    found = answer([b, c], [a], topn=topn, restrict_vocab=restrict_vocab)
    if as_json:
        _print_json(_to_dicts(found))
    else:
        print_neighbors(make_console(), {f"{a} : {b} = {c} : ?": found})


@click.command()
@model_argument
@click.option("--connectivity", type=int, default=16, show_default=True, help="links per word")
@click.option(
    "--effort",
    type=int,
    default=128,
    show_default=True,
    help="candidates per search; more candidates miss fewer neighbours",
)
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@click.option("--overwrite", is_flag=True, help="replace an existing index")
@quiet_option
def index(model: Path, connectivity: int, effort: int, threads: int, overwrite: bool, quiet: bool) -> None:
    """Build an index of MODEL for posvec neighbors --approximate.

    It is saved in the folder of the model. The index makes queries faster if the vocabulary is very large.
    """
    from posvec.query.indexing import index_model

    with progress_display(quiet) as (display, console):
        with display.stage("indexing") if display else nullcontext() as progress:
            path = index_model(model, connectivity, effort, threads, overwrite, progress)
        if not quiet:
            console.print(f"saved in {path}")


COMMANDS = (neighbors, similarity, analogy, index)


def _to_dicts(near: Iterable[Neighbor]) -> list[dict[str, Any]]:
    return [each._asdict() for each in near]


def _print_json(value: Any) -> None:
    echo(encode_json(value).decode())
