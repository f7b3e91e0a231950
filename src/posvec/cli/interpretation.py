"""posvec mask, positions, clusters, context-words and examples: interpret a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from posvec.cli.arguments import PATH, model_argument, named_models, plot_option, sources
from posvec.cli.output import result_options, show_result
from posvec.errors import ConfigError

if TYPE_CHECKING:
    from posvec.query.masked import Ranking


def _parse_count(context: click.Context, parameter: click.Parameter, value: str | None) -> int | Literal["auto"] | None:
    if value is None:
        return None
    if value == "auto":
        return "auto"
    if value.isdecimal() and int(value):
        return int(value)
    raise click.BadParameter(f"{value!r} is not a positive number or auto", context, parameter)


count_option = click.option(
    "--count",
    metavar="N|auto",
    callback=_parse_count,
    help="number of clusters; auto: the number with the best silhouette  [3 if D' = D, else 2]",
)


@click.command()
@model_argument
@click.argument("sentences", nargs=-1, required=True)
@click.option("-n", "--topn", type=click.IntRange(min=0), default=10, show_default=True, help="words per sentence")
@click.option("--word", "words", multiple=True, help="also show the rank of this word; can be repeated")
@click.option("--candidates", metavar="WORD,WORD...", help="instead, say which of these words fits best")
@click.option("--cluster", help="use only the features of this cluster, for example antepositional")
@click.option("--why", metavar="WORD", help="instead, show what each context word adds to the probability of WORD")
@click.option(
    "--ranking",
    type=click.Choice(["calibrated", "paper"]),
    default="calibrated",
    show_default=True,
    help="rank by the probability of the word in its context, or by the paper's score, which prefers rare words",
)
@click.option(
    "--weighting",
    type=click.Choice(["trained", "equal"]),
    default="trained",
    show_default=True,
    help="weight context words as in training, or equally, as in the paper's table of masked words",
)
@click.option("--plot", type=PATH, help="with --why: draw a .png, .svg or .pdf file")
@result_options
def mask(
    model: Path,
    sentences: tuple[str, ...],
    topn: int,
    words: tuple[str, ...],
    candidates: str | None,
    cluster: str | None,
    why: str | None,
    ranking: Ranking,
    weighting: Literal["trained", "equal"],
    plot: Path | None,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Predict the word for the [MASK] in each of SENTENCES.

    With --why, explain the probability of a word instead: its prior, by how frequent it is, and what each context word
    adds.

    [PAD] stands for a position without a context word: "unlike dogs cats [MASK] [PAD] me".
    """
    from posvec import plots
    from posvec.evaluation import masked
    from posvec.model import Model

    if candidates is not None:
        _check_single(sentences, "--candidates")
        if why is not None or cluster or words or ranking != "calibrated" or weighting != "trained":
            raise ConfigError("--candidates ranks the words given by their probability; leave out the other options")
        named = [word.strip() for word in candidates.split(",") if word.strip()]
        show_result(lambda: masked.choose(Model.load(model), sentences[0], named), as_json, output, overwrite)
        return
    if why is None:
        if plot:
            raise ConfigError("--plot draws the contributions to a probability; add --why WORD")
        show_result(
            lambda: masked.predict(Model.load(model), sentences, topn, words, cluster, weighting, ranking),
            as_json,
            output,
            overwrite,
        )
        return
    _check_single(sentences, "--why")
    show_result(
        lambda: masked.explain(Model.load(model), sentences[0], why, cluster, weighting, ranking),
        as_json,
        output,
        overwrite,
        {plot: plots.contributions},
    )


def _check_single(sentences: tuple[str, ...], option: str) -> None:
    if len(sentences) > 1:
        raise ConfigError(f"{option} takes one sentence at a time, not {len(sentences)}; give one sentence")


@click.command()
@model_argument
@click.argument("sentences", nargs=-1, required=True)
@result_options
def score(model: Path, sentences: tuple[str, ...], output: Path | None, as_json: bool, overwrite: bool) -> None:
    """Score each of SENTENCES by its pseudo-log-likelihood: how probable each of its words is between the others.

    Of several ways to write the same, the best one has the highest score.
    """
    from posvec.evaluation import sentence_scores
    from posvec.model import Model

    show_result(lambda: sentence_scores.score(Model.load(model), sentences), as_json, output, overwrite)


@click.command()
@click.argument("models", nargs=-1, required=True, type=PATH)
@plot_option
@result_options
def positions(models: tuple[Path, ...], plot: Path | None, output: Path | None, as_json: bool, overwrite: bool) -> None:
    """Show the importance of each position to MODELS.

    The importance is the norm of the positional vector, scaled to 0 to 1 in each model.
    """
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
@click.option("--heat-map", type=PATH, help="draw |d| of all features as a .png, .svg or .pdf file")
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
    """Cluster the positional features of MODEL.

    Features in a cluster give more weight to the same side of the masked word, or about the same weight to both.
    """
    from posvec import plots
    from posvec.evaluation.clusters import find
    from posvec.model import Model

    figures = {plot: plots.clusters, heat_map: plots.heat_map}
    show_result(lambda: find(Model.load(model), count), as_json, output, overwrite, figures)


@click.command("context-words")
@model_argument
@count_option
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="words of each class")
@click.option("--word", "words", multiple=True, help="also show the class of this word; can be repeated")
@click.option("--restrict-vocab", type=click.IntRange(min=1), help="consider only this many most frequent words")
@click.option(
    "--order",
    type=click.Choice(["importance", "ratio"]),
    default="importance",
    show_default=True,
    help="order by importance, or by its ratio to the importance for the next cluster",
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
    """Show the most important context words of each cluster of MODEL."""
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
    help="consider only this many most frequent words",
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
    """Find pairs of sentences that show the effect of each cluster of MODEL.

    The sentences of a pair differ in the position of a context word, such that the probability of the masked word
    changes most. They are made of single words, or are sentences of CORPUS in which two words are exchanged.
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


COMMANDS = (mask, score, positions, clusters, context_words, examples)
