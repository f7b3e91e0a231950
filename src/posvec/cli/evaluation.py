"""posvec evaluate and posvec compare: evaluate models on test sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import PATH, model_argument, plot_option, sources, spelling_option, weighted_vectors
from posvec.cli.output import result_options, show_result
from posvec.errors import ConfigError

_skip_invalid = click.option("--skip-invalid", is_flag=True, help="skip malformed lines and count them")
_case_fold = click.option("--case-fold/--no-case-fold", default=True, show_default=True, help="ignore case")
_restrict_vocab = click.option(
    "--restrict-vocab",
    type=click.IntRange(min=0),
    default=200_000,
    show_default=True,
    help="only this many most frequent words in questions and answers; 0: all words",
)


def _oov(default: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--oov",
        type=click.Choice(["skip", "subwords"]),
        default=default,
        show_default=default is not None,
        help="for words outside the vocabulary: skip their questions or pairs, or use vectors from n-grams",
    )


@click.group()
def evaluate() -> None:
    """Evaluate a model by analogies, similarity, masked words or text classification."""


@evaluate.command()
@model_argument
@click.argument("questions", nargs=-1, required=True, type=PATH)
@click.option(
    "--method",
    type=click.Choice(["3cosadd", "3cosmul"]),
    default="3cosadd",
    show_default=True,
    help="how to choose the answer",
)
@_restrict_vocab
@_case_fold
@_oov("skip")
@spelling_option
@_skip_invalid
@result_options
def analogy(
    model: Path,
    as_json: bool,
    output: Path | None,
    overwrite: bool,
    restrict_vocab: int,
    spelling: float | None,
    **settings: Any,
) -> None:
    """Evaluate MODEL by the word analogies of QUESTIONS.

    QUESTIONS are files in Google's format (a line ": section", then lines "a b c d"), the same separated by tabs, or
    files or folders of pairs as in BATS ("word TAB answer"), where d1/d2 means that both answers are correct.
    """

    def measure() -> Any:
        from posvec.evaluation import analogy
        from posvec.model import Model

        vectors = weighted_vectors(Model.load(model).vectors, spelling)
        return analogy.evaluate(vectors, restrict_vocab=restrict_vocab or None, **settings)

    show_result(measure, as_json, output, overwrite)


@evaluate.command()
@model_argument
@click.argument("pairs", nargs=-1, required=True, type=PATH)
@_case_fold
@_oov("subwords")
@spelling_option
@_skip_invalid
@result_options
def similarity(
    model: Path, as_json: bool, output: Path | None, overwrite: bool, spelling: float | None, **settings: Any
) -> None:
    """Evaluate MODEL by the correlation of its cosine similarities with the scores of PAIRS.

    PAIRS are files, or folders of them, of lines "word word score", separated by tabs, commas, semicolons or spaces.
    """

    def measure() -> Any:
        from posvec.evaluation import similarity
        from posvec.model import Model

        return similarity.evaluate(weighted_vectors(Model.load(model).vectors, spelling), **settings)

    show_result(measure, as_json, output, overwrite)


@evaluate.command()
@model_argument
@click.option("--train", required=True, type=PATH, help="file with a label, a tab and a text in each line")
@click.option("--test", type=PATH, help="test file in the same format  [cross-validation on --train]")
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
@click.option("--folds", type=int, default=5, show_default=True, help="folds of cross-validation")
@click.option(
    "-k", "--neighbors", type=click.IntRange(min=1), default=9, show_default=True, help="number of nearest neighbours"
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="seed of folds and intervals"
)
@_skip_invalid
@result_options
def classification(model: Path, as_json: bool, output: Path | None, overwrite: bool, **settings: Any) -> None:
    """Evaluate MODEL by the classification of labelled texts."""

    def measure() -> Any:
        from posvec.evaluation import classification
        from posvec.model import Model

        return classification.evaluate(Model.load(model), **settings)

    show_result(measure, as_json, output, overwrite)


@evaluate.command("masked")
@model_argument
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--words", type=click.IntRange(min=0), default=10_000, show_default=True, help="masked words, at random; 0: all"
)
@click.option("--baseline", type=PATH, help="corpus of n-gram models to compare with, best that of the model")
@click.option(
    "--samples", type=click.IntRange(1, 10**6), default=200, show_default=True, help="bootstrap samples for intervals"
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="confidence of the intervals")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="seed of words and intervals")
@plot_option
@result_options
def masked_words(
    model: Path,
    text: tuple[str, ...],
    baseline: Path | None,
    plot: Path | None,
    as_json: bool,
    output: Path | None,
    overwrite: bool,
    **settings: Any,
) -> None:
    """Evaluate MODEL by its predictions of masked words of TEXT, which it was not trained on."""
    from posvec import plots

    def measure() -> Any:
        from posvec.evaluation import masked_words
        from posvec.model import Model

        compared = None if baseline is None else sources((str(baseline),))
        return masked_words.evaluate(Model.load(model), sources(text), baseline=compared, **settings)

    show_result(measure, as_json, output, overwrite, {plot: plots.calibration})


@evaluate.command()
@model_argument
@click.option(
    "--language",
    type=click.Choice(["english", "czech", "german"]),
    help="language of the pairs  [that of most words of the model]",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="confidence of the intervals")
@result_options
def pairs(model: Path, as_json: bool, output: Path | None, overwrite: bool, **settings: Any) -> None:
    """Evaluate MODEL by minimal pairs: sentences that differ in the order of their words, and a word that fits each."""

    def measure() -> Any:
        from posvec.evaluation import pairs
        from posvec.model import Model

        return pairs.evaluate(Model.load(model), **settings)

    show_result(measure, as_json, output, overwrite)


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...")
@click.option("--questions", multiple=True, type=PATH, help="word analogies; can be repeated")
@click.option("--pairs", multiple=True, type=PATH, help="word pairs with their similarity; can be repeated")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME=MODEL,MODEL...",
    help="pool these models under a name  [models that differ only in their seed]",
)
@_restrict_vocab
@_oov(None)
@_skip_invalid
@click.option(
    "--samples", type=click.IntRange(1, 10**6), default=1000, show_default=True, help="bootstrap samples for intervals"
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="confidence of the intervals")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="seed of the bootstrap")
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
    """Compare models by analogies and similarity.

    The differences to the first model and their bootstrap intervals are shown.
    """

    def measure() -> Any:
        from posvec.evaluation.compare import compare
        from posvec.model import Model

        named = _name_models(models)
        pooled = dict(_parse_group(group, named) for group in groups)
        loaded = {name: Model.load(path) for name, path in named.items()}
        return compare(loaded, groups=pooled, restrict_vocab=restrict_vocab or None, **settings)

    show_result(measure, as_json, output, overwrite)


COMMANDS = (evaluate, compare)


def _name_models(models: tuple[str, ...]) -> dict[str, str]:
    """Return the paths of models by name: as many of the last folders of the path as make the names unique."""
    parts = [Path(path).resolve().parts for path in models]
    for length in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*each[-length:])) for each in parts]
        if len(set(names)) == len(names):
            return dict(zip(names, models, strict=True))
    twice = next(path for i, path in enumerate(models) if parts[i] in parts[:i])
    raise ConfigError(f"the model {twice} is given twice; give it once")


def _parse_group(text: str, named: dict[str, str]) -> tuple[str, list[str]]:
    name, separator, models = text.partition("=")
    if not name or not separator:
        raise ConfigError(f"--group {text} is not NAME=MODEL,MODEL; use for example --group subword=run1,run2")
    names = {path: name for name, path in named.items()}
    return name, [names.get(model, model) for model in models.split(",") if model]
