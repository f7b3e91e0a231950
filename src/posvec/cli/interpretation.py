"""posvec mask, positions, clusters, context-words, examples and report: what a model has learnt, to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from posvec.cli.arguments import (
    model_argument,
    model_name,
    named_models,
    overwrite_option,
    plot_option,
    refuse_existing,
    result_options,
    show_result,
    sources,
)
from posvec.errors import ConfigError
from posvec.evaluation.results import Result

_FIGURE = click.Path(path_type=Path)


def _count(context: click.Context, parameter: click.Parameter, value: str | None) -> int | Literal["auto"] | None:
    if value is None:
        return None
    if value == "auto":
        return "auto"
    if value.isdecimal() and int(value):
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a number from 1 nor auto", context, parameter)


count_option = click.option(
    "--count",
    metavar="N|auto",
    callback=_count,
    help="how many clusters: a number, or auto to choose by silhouette  [3 if D' = D, else 2]",
)


@click.command()
@model_argument
@click.argument("sentences", nargs=-1, required=True)
@click.option("-n", "--topn", type=click.IntRange(min=0), default=10, show_default=True, help="words per sentence")
@click.option("--word", "words", multiple=True, help="also show the rank of this word; may be repeated")
@click.option("--cluster", help="score by the features of this cluster alone, such as antepositional")
@click.option("--why", metavar="WORD", help="show what each context word contributes to the score of WORD instead")
@click.option("--plot", type=_FIGURE, help="with --why: draw a .png, .svg or .pdf file")
@result_options
def mask(
    model: Path,
    sentences: tuple[str, ...],
    topn: int,
    words: tuple[str, ...],
    cluster: str | None,
    why: str | None,
    plot: Path | None,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Which words MODEL puts in the place of the [MASK] of each of SENTENCES, and with --why the reasons.

    [PAD] holds a position and contributes nothing: "unlike dogs cats [MASK] [PAD] me".
    """
    from posvec import plots
    from posvec.evaluation import masked
    from posvec.model import Model

    if why is None:
        if plot:
            raise ConfigError("--plot draws the contributions to a score; add --why WORD")
        show_result(
            lambda: masked.predict(Model.load(model), sentences, topn, words, cluster), as_json, output, overwrite
        )
        return
    if len(sentences) > 1:
        raise ConfigError(f"--why explains one sentence at a time, not {len(sentences)}; give one")
    show_result(
        lambda: masked.explain(Model.load(model), sentences[0], why, cluster),
        as_json,
        output,
        overwrite,
        {plot: plots.contributions},
    )


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@plot_option
@result_options
def positions(models: tuple[Path, ...], plot: Path | None, output: Path | None, as_json: bool, overwrite: bool) -> None:
    """How much each position matters to each of MODELS: scaled norms of positional vectors."""
    from posvec import plots
    from posvec.evaluation.positions import importance
    from posvec.model import Model

    show_result(
        lambda: importance({name: Model.load(path) for name, path in named_models(models).items()}),
        as_json,
        output,
        overwrite,
        {plot: plots.positions},
    )


@click.command()
@model_argument
@count_option
@plot_option
@click.option("--heat-map", type=_FIGURE, help="draw |d| of all features into a .png, .svg or .pdf file")
@result_options
def clusters(
    model: Path,
    count: int | Literal["auto"] | None,
    plot: Path | None,
    heat_map: Path | None,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Clusters of the positional features of MODEL, by the side of the masked word that they weigh."""
    from posvec import plots
    from posvec.evaluation.clusters import find
    from posvec.model import Model

    figures = {plot: plots.clusters, heat_map: plots.heat_map}
    show_result(lambda: find(Model.load(model), count), as_json, output, overwrite, figures)


@click.command("context-words")
@model_argument
@count_option
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="words of each class")
@click.option("--word", "words", multiple=True, help="also show the class of this word; may be repeated")
@click.option("--restrict-vocab", type=click.IntRange(min=1), help="look only at so many of the most frequent words")
@click.option(
    "--order",
    type=click.Choice(["importance", "ratio"]),
    default="importance",
    show_default=True,
    help="by importance, or by its ratio to the importance according to the next cluster",
)
@plot_option
@result_options
def context_words(
    model: Path,
    count: int | Literal["auto"] | None,
    topn: int,
    words: tuple[str, ...],
    restrict_vocab: int | None,
    order: Literal["importance", "ratio"],
    plot: Path | None,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """The context words of MODEL that each cluster of positional features makes most important."""
    from posvec import plots
    from posvec.evaluation.clusters import find
    from posvec.evaluation.context_words import ContextWords, top
    from posvec.model import Model

    def measure() -> ContextWords:
        loaded = Model.load(model)
        return top(loaded, find(loaded, count), topn, words, restrict_vocab, order)

    show_result(measure, as_json, output, overwrite, {plot: plots.context_words})


@click.command()
@model_argument
@click.argument("corpus", nargs=-1)
@count_option
@click.option("-n", "--topn", type=click.IntRange(min=1), default=3, show_default=True, help="pairs of each cluster")
@click.option(
    "--restrict-vocab",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="look only at so many of the most frequent words",
)
@click.option(
    "--sentences", type=click.IntRange(min=1), default=1_000, show_default=True, help="lines of CORPUS to search"
)
@result_options
def examples(
    model: Path,
    corpus: tuple[str, ...],
    count: int | Literal["auto"] | None,
    topn: int,
    restrict_vocab: int,
    sentences: int,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Pairs of sentences that show what each cluster of positional features of MODEL does.

    The sentences of a pair differ in where a context word stands, and the probability of the masked word changes as
    much as it can. They are built from single words, or are sentences of CORPUS in which two words trade places.
    """
    from posvec.evaluation.clusters import find
    from posvec.evaluation.examples import Examples
    from posvec.evaluation.examples import find as find_examples
    from posvec.model import Model

    def measure() -> Examples:
        loaded = Model.load(model)
        text = sources(corpus) if corpus else None
        return find_examples(loaded, find(loaded, count), text, topn, restrict_vocab, sentences)

    show_result(measure, as_json, output, overwrite)


@click.command()
@model_argument
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="the page to write, such as report.html"
)
@click.option("--questions", multiple=True, type=click.Path(path_type=Path), help="file or folder of word analogies")
@click.option("--pairs", multiple=True, type=click.Path(path_type=Path), help="file of word pairs; may be repeated")
@click.option("--sentence", "sentences", multiple=True, help="show words for its [MASK]; may be repeated")
@click.option("--corpus", help="text to take example sentences from; without it they are built from words")
@overwrite_option
def report(
    model: Path,
    output: Path,
    questions: tuple[Path, ...],
    pairs: tuple[Path, ...],
    sentences: tuple[str, ...],
    corpus: str | None,
    overwrite: bool,
) -> None:
    """All about MODEL on one self-contained page: settings, training, analogies, positions, clusters, words."""
    from posvec.cli.model_report import render_model_report
    from posvec.evaluation import analogy, similarity
    from posvec.model import Model
    from posvec.plots.page import write_page

    refuse_existing(output, overwrite)
    text = sources((corpus,)) if corpus else None
    loaded = Model.load(model)
    measures: dict[str, Result] = {}
    if questions:
        measures["Analogies"] = analogy.evaluate(loaded, questions)
    if pairs:
        measures["Similarity"] = similarity.evaluate(loaded, pairs)
    page = render_model_report(loaded, model_name(model), measures, sentences, text)
    write_page(page, output)
    click.echo(f"{output} is written; open it in a browser", err=True)


COMMANDS = (mask, positions, clusters, context_words, examples, report)
