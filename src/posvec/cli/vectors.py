"""posvec vector and sentence-vectors: print the vectors of words and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import PATH, model_argument, sources, spelling_option, weighted_vectors
from posvec.cli.output import refuse_existing
from posvec.config import SETTINGS, TextConfig
from posvec.errors import ConfigError
from posvec.system.console import echo

_BATCH = 1000  # sentences


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
@spelling_option
def vector(model: Path, words: tuple[str, ...], norm: bool, unknown: str, spelling: float | None) -> None:
    """Print the vectors of WORDS.

    Without WORDS, they are read from standard input. Each line has a word and its numbers. The vectors of words
    outside the vocabulary are made from their subwords, if MODEL has subwords.
    """
    import numpy as np

    from posvec.formats import load_vectors

    vectors = weighted_vectors(load_vectors(model), spelling)
    for word in words or _read_words():
        if unknown == "refuse" or vectors.has_vector(word):
            echo(f"{word} {_format_vector(vectors.get_vector(word, norm))}")
        elif unknown == "zeros":
            echo(f"{word} {_format_vector(np.zeros(vectors.vector_size, np.float32))}")


@click.command("sentence-vectors")
@model_argument
@click.argument("texts", nargs=-1)
@click.option(
    "--method",
    type=click.Choice(["mean", "sif", "positional"]),
    default="mean",
    show_default=True,
    help="mean of word vectors; weighted mean with less weight for frequent words; or context vectors of the model",
)
@click.option("--a", type=float, default=1e-3, show_default=True, help="with sif: the weight of a word is a / (a + p)")
@click.option(
    "--weighting",
    type=click.Choice(["trained", "equal"]),
    default="trained",
    show_default=True,
    help="with positional: weight context words as in training, or equally",
)
@click.option("--remove-component", is_flag=True, help="subtract the common component of all sentences")
@click.option("-o", "--output", type=PATH, help="write a NumPy array (.npy) instead of text")
@click.option("--overwrite", is_flag=True, help="replace an existing file")
@click.option("--errors", type=click.Choice(SETTINGS["errors"].choices or ()), help=SETTINGS["errors"].help)
def sentence_vectors(
    model: Path,
    texts: tuple[str, ...],
    method: str,
    a: float,
    weighting: Any,
    remove_component: bool,
    output: Path | None,
    overwrite: bool,
    errors: Any,
) -> None:
    """Print the vector of each line of TEXTS.

    TEXTS are files, plain or compressed, or - for standard input, the default. The vector of a line without known
    words is zero, so that there is one vector for each line.
    """
    import numpy as np

    from posvec.corpus.sources import open_corpus
    from posvec.model import Model
    from posvec.system.atomic import replacing

    if output and output.suffix != ".npy":
        raise ConfigError(f"{output} is not a .npy file; to get text, leave out --output and redirect")
    if output:
        refuse_existing(output, overwrite)
    loaded = Model.load(model)
    with open_corpus(sources(texts or ("-",)), TextConfig(**({"errors": errors} if errors else {}))) as corpus:
        # The common component depends on all sentences.
        batches = [corpus.lines()] if remove_component else _batches(corpus.lines())
        made = (loaded.sentence_vectors(batch, method, a, remove_component, weighting) for batch in batches)
        if output:
            with replacing(output) as stream:
                np.save(stream, np.concatenate(list(made)))
            return
        for table in made:
            echo("\n".join(map(_format_vector, table)))


COMMANDS = (vector, sentence_vectors)


def _format_vector(vector: Iterable[Any]) -> str:
    """Return numbers with the fewest digits that identify each float32."""
    return " ".join(map(str, vector))


def _read_words() -> Iterator[str]:
    from posvec.corpus.sources import open_corpus

    with open_corpus("-") as corpus:
        for line in corpus.lines():
            yield from line.split()


def _batches(lines: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch
