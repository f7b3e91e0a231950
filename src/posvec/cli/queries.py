"""posvec neighbors, similarity, analogy, vector, sentence-vectors and index: questions to the vectors of a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posvec.cli.arguments import displayed, json_option, model_argument, refuse_existing, sources
from posvec.cli.printing import print_neighbors
from posvec.config import SETTINGS, TextConfig
from posvec.errors import ConfigError
from posvec.system.console import make_console

if TYPE_CHECKING:
    from posvec.query.neighbors import Neighbor
    from posvec.vectors import WordVectors

_BATCH = 1000  # words or sentences at a time

topn_option = click.option(
    "-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="how many words to show"
)
restrict_option = click.option(
    "--restrict-vocab", type=click.IntRange(min=1), help="search only so many of the most frequent words"
)


@click.command()
@model_argument
@click.argument("words", nargs=-1, required=True)
@topn_option
@restrict_option
@click.option("--approximate", is_flag=True, help="search the index that posvec index built: faster, may miss some")
@click.option("--tsv", is_flag=True, help="print lines of word, neighbour and similarity, with tabs between")
@json_option
def neighbors(
    model: Path,
    words: tuple[str, ...],
    topn: int,
    restrict_vocab: int | None,
    approximate: bool,
    tsv: bool,
    as_json: bool,
) -> None:
    """The words of MODEL, or of a file of word vectors, nearest to each of WORDS by cosine similarity."""
    if tsv and as_json:
        raise click.UsageError("--tsv and --json are two forms of the same; choose one")
    vectors = _vectors(model)
    index = vectors.open_index() if approximate else None
    answers = vectors.most_similar_batch(words, topn=topn, restrict_vocab=restrict_vocab, index=index)
    found = dict(zip(words, answers, strict=True))
    if as_json:
        _print_json({word: _plain(near) for word, near in found.items()})
    elif tsv:
        for word, near in found.items():
            for each in near:
                click.echo(f"{word}\t{each.word}\t{each.similarity:.6f}")
    else:
        titles = {f"{word} (from its subwords)" if vectors.oov(word) else word: near for word, near in found.items()}
        print_neighbors(make_console(), titles)


@click.command()
@model_argument
@click.argument("word")
@click.argument("other")
@json_option
def similarity(model: Path, word: str, other: str, as_json: bool) -> None:
    """The cosine similarity of two words, -1 to 1."""
    value = _vectors(model).similarity(word, other)
    if as_json:
        _print_json({"words": [word, other], "similarity": value})
    else:
        click.echo(f"{value:.6f}")


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
@json_option
def analogy(
    model: Path, a: str, b: str, c: str, method: str, topn: int, restrict_vocab: int | None, as_json: bool
) -> None:
    """A is to B as C is to which word of MODEL?"""
    vectors = _vectors(model)
    answer = vectors.most_similar if method == "3cosadd" else vectors.most_similar_cosmul
    found = answer([b, c], [a], topn=topn, restrict_vocab=restrict_vocab)
    if as_json:
        _print_json(_plain(found))
    else:
        print_neighbors(make_console(), {f"{a} : {b} = {c} : ?": found})


@click.command()
@model_argument
@click.argument("words", nargs=-1)
@click.option("--norm", is_flag=True, help="scale each vector to length 1")
@click.option(
    "--unknown",
    type=click.Choice(["refuse", "skip", "zeros"]),
    default="refuse",
    show_default=True,
    help="what to do with a word that has no vector",
)
def vector(model: Path, words: tuple[str, ...], norm: bool, unknown: str) -> None:
    """Print the vectors of WORDS, or of the words on standard input: a word and its numbers in each line.

    Words that are not in the vocabulary get vectors from their subwords, if MODEL has them.
    """
    import numpy as np

    vectors = _vectors(model)
    for word in words or _words_of_standard_input():
        if unknown == "refuse" or vectors.has_vector(word):
            click.echo(f"{word} {_numbers(vectors.get_vector(word, norm))}")
        elif unknown == "zeros":
            click.echo(f"{word} {_numbers(np.zeros(vectors.vector_size, np.float32))}")


@click.command("sentence-vectors")
@model_argument
@click.argument("texts", nargs=-1)
@click.option(
    "--method",
    type=click.Choice(["mean", "sif", "positional"]),
    default="mean",
    show_default=True,
    help="mean of word vectors; the same with frequent words weighted down; or the model's context vectors",
)
@click.option("--a", type=float, default=1e-3, show_default=True, help="with sif: a word has the weight a / (a + p)")
@click.option("--remove-component", is_flag=True, help="take away what all sentences have in common")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write a NumPy array (.npy) instead of text")
@click.option("--overwrite", is_flag=True, help="replace a file that is already there")
@click.option("--errors", type=click.Choice(SETTINGS["errors"].choices or ()), help=SETTINGS["errors"].help)
def sentence_vectors(
    model: Path,
    texts: tuple[str, ...],
    method: str,
    a: float,
    remove_component: bool,
    output: Path | None,
    overwrite: bool,
    errors: Any,
) -> None:
    """Print the vector of each line of TEXTS (files, plain or compressed, or - for standard input, the default).

    A line without a known word gets zeros, so that lines and vectors stay together.
    """
    import numpy as np

    from posvec.corpus.sources import open_corpus
    from posvec.model import Model
    from posvec.system.atomic import replacing

    if output and output.suffix != ".npy":
        raise ConfigError(f"{output} should end in .npy; for text, leave out --output and redirect")
    if output:
        refuse_existing(output, overwrite)
    loaded = Model.load(model)
    with open_corpus(sources(texts or ("-",)), TextConfig(**({"errors": errors} if errors else {}))) as corpus:
        # What all have in common can be told only of all, and an array is written when its size is known.
        batches = [corpus.lines()] if remove_component else _batches(corpus.lines())
        made = (loaded.sentence_vectors(batch, method, a, remove_component) for batch in batches)
        if output:
            with replacing(output) as stream:
                np.save(stream, np.concatenate(list(made)))
            return
        for table in made:
            click.echo("\n".join(map(_numbers, table)))


@click.command()
@model_argument
@click.option("--connectivity", type=int, default=16, show_default=True, help="links of each word")
@click.option("--effort", type=int, default=128, show_default=True, help="candidates looked at: higher misses fewer")
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@click.option("--overwrite", is_flag=True, help="replace an index that is already there")
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
def index(model: Path, connectivity: int, effort: int, threads: int, overwrite: bool, quiet: bool) -> None:
    """Build an index of MODEL for posvec neighbors --approximate, and save it beside the model.

    It pays where there are very many words, and takes a while to build.
    """
    from posvec.query.indexing import index_model

    with displayed(quiet) as (display, console):
        with display.stage("indexing") if display else nullcontext() as progress:
            path = index_model(model, connectivity, effort, threads, overwrite, progress)
        if not quiet:
            console.print(f"saved in {path}")


COMMANDS = (neighbors, similarity, analogy, vector, sentence_vectors, index)


def _vectors(model: Path) -> WordVectors:
    """Of a model's folder or of a file of word vectors."""
    from posvec.formats import load_vectors

    return load_vectors(model)


def _plain(near: Iterable[Neighbor]) -> list[dict[str, Any]]:
    return [each._asdict() for each in near]


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def _numbers(vector: Iterable[Any]) -> str:
    """As few digits as tell each float32 apart."""
    return " ".join(map(str, vector))


def _words_of_standard_input() -> Iterator[str]:
    from posvec.corpus.sources import open_corpus

    with open_corpus("-") as corpus:
        for line in corpus.lines():
            yield from line.split()


def _batches(lines: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch
