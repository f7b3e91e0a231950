"""posvec evaluate and posvec compare: models measured on test sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import model_argument, result_options, show_result
from posvec.errors import ConfigError

_PATH = click.Path(path_type=Path)

_skip_invalid = click.option("--skip-invalid", is_flag=True, help="pass over malformed lines and count them")
_case_fold = click.option(
    "--case-fold/--no-case-fold", default=True, show_default=True, help="words that differ in case alone are one"
)
_restrict_vocab = click.option(
    "--restrict-vocab",
    type=click.IntRange(min=0),
    default=200_000,
    show_default=True,
    help="questions and answers among this many most frequent words; 0: all",
)


def _oov(default: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--oov",
        type=click.Choice(["skip", "subwords"]),
        default=default,
        show_default=default is not None,
        help="words outside the vocabulary: skip what has them, or make their vectors from n-grams",
    )


@click.group()
def evaluate() -> None:
    """Measure a model: analogies, similarity, text classification."""


@evaluate.command()
@model_argument
@click.argument("questions", nargs=-1, required=True, type=_PATH)
@click.option(
    "--method", type=click.Choice(["3cosadd", "3cosmul"]), default="3cosadd", show_default=True, help="how to answer"
)
@_restrict_vocab
@_case_fold
@_oov("skip")
@_skip_invalid
@result_options
def analogy(
    model: Path, as_json: bool, output: Path | None, overwrite: bool, restrict_vocab: int, **settings: Any
) -> None:
    """Ask MODEL the word analogies of QUESTIONS.

    QUESTIONS are files in Google's format (a line ": section", then lines "a b c d"), tab-separated, or files or
    folders of pairs as in BATS ("word TAB answer"). d1/d2 accepts both.
    """

    def measure() -> Any:
        from posvec.evaluation import analogy
        from posvec.model import Model

        return analogy.evaluate(Model.load(model), restrict_vocab=restrict_vocab or None, **settings)

    show_result(measure, as_json, output, overwrite)


@evaluate.command()
@model_argument
@click.argument("pairs", nargs=-1, required=True, type=_PATH)
@_case_fold
@_oov("subwords")
@_skip_invalid
@result_options
def similarity(model: Path, as_json: bool, output: Path | None, overwrite: bool, **settings: Any) -> None:
    """Correlate the cosines of MODEL with the scores of PAIRS.

    PAIRS are files, or folders of them, of lines "word word score", separated by tabs, commas, semicolons or spaces.
    """

    def measure() -> Any:
        from posvec.evaluation import similarity
        from posvec.model import Model

        return similarity.evaluate(Model.load(model), **settings)

    show_result(measure, as_json, output, overwrite)


@evaluate.command()
@model_argument
@click.option("--train", required=True, type=_PATH, help="lines of a label, a tab and a text")
@click.option("--test", type=_PATH, help="the same, to test on; without it, cross-validation on --train")
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(["linear", "scm", "wmd"]),
    default=["linear"],
    show_default=True,
    help="logistic regression on mean vectors, or nearest neighbours by Soft Cosine Measure or Word Mover's Distance "
    "(slow); can be repeated",
)
@click.option("--folds", type=int, default=5, show_default=True, help="of cross-validation")
@click.option(
    "-k", "--neighbors", type=click.IntRange(min=1), default=9, show_default=True, help="neighbours that vote"
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="of folds and intervals")
@_skip_invalid
@result_options
def classification(model: Path, as_json: bool, output: Path | None, overwrite: bool, **settings: Any) -> None:
    """Classify labelled texts by the vectors of MODEL."""

    def measure() -> Any:
        from posvec.evaluation import classification
        from posvec.model import Model

        return classification.evaluate(Model.load(model), **settings)

    show_result(measure, as_json, output, overwrite)


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...")
@click.option("--questions", multiple=True, type=_PATH, help="analogies to compare by; can be repeated")
@click.option("--pairs", multiple=True, type=_PATH, help="similarity to compare by; can be repeated")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME=MODEL,MODEL...",
    help="pool these models under a name; without it, those are pooled that differ in their seed alone",
)
@_restrict_vocab
@_oov(None)
@_skip_invalid
@click.option(
    "--samples", type=click.IntRange(min=1), default=1000, show_default=True, help="bootstrap samples for intervals"
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of the intervals")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="of the bootstrap")
@result_options
def compare(
    models: tuple[str, ...],
    groups: tuple[str, ...],
    as_json: bool,
    output: Path | None,
    overwrite: bool,
    restrict_vocab: int,
    **settings: Any,
) -> None:
    """Compare models by analogies and similarity, each with its difference to the first and bootstrap intervals."""

    def measure() -> Any:
        from posvec.evaluation.compare import compare
        from posvec.model import Model

        named = _named(models)
        pooled = dict(_group(group, named) for group in groups)
        loaded = {name: Model.load(path) for name, path in named.items()}
        return compare(loaded, groups=pooled, restrict_vocab=restrict_vocab or None, **settings)

    show_result(measure, as_json, output, overwrite)


COMMANDS = (evaluate, compare)


def _named(models: tuple[str, ...]) -> dict[str, str]:
    """The paths of models by name: of each as much of its end as tells it from the others."""
    parts = [Path(path).resolve().parts for path in models]
    for length in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*each[-length:])) for each in parts]
        if len(set(names)) == len(names):
            return dict(zip(names, models, strict=True))
    twice = next(path for i, path in enumerate(models) if parts[i] in parts[:i])
    raise ConfigError(f"the model {twice} is named twice; name it once")


def _group(text: str, named: dict[str, str]) -> tuple[str, list[str]]:
    name, separator, models = text.partition("=")
    if not name or not separator:
        raise ConfigError(f"--group {text} should be a name, = and its models, such as --group subword=run1,run2")
    names = {path: name for name, path in named.items()}
    return name, [names.get(model, model) for model in models.split(",") if model]
