"""posvec report: write a report of a model as a page of HTML."""

from __future__ import annotations

from pathlib import Path

import click

from posvec.cli.arguments import PATH, model_argument, model_name, overwrite_option, sources
from posvec.cli.output import refuse_existing
from posvec.evaluation.results import Result
from posvec.system.console import say


@click.command()
@model_argument
@click.option("-o", "--output", required=True, type=PATH, help="the page to write, for example report.html")
@click.option("--questions", multiple=True, type=PATH, help="file or folder of word analogies; can be repeated")
@click.option("--pairs", multiple=True, type=PATH, help="file of word pairs with their similarity; can be repeated")
@click.option(
    "--sentence", "sentences", multiple=True, help="sentence whose [MASK] is to be predicted; can be repeated"
)
@click.option("--corpus", help="text to take example sentences from  [made of single words]")
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
    """Write a report of MODEL as a page of HTML.

    The page is self-contained: settings, training, analogies, similarity, positions, clusters, context words,
    examples.
    """
    from posvec.cli.model_report import render_model_report
    from posvec.evaluation import analogy, similarity
    from posvec.model import Model
    from posvec.plots.page import write_page

    refuse_existing(output, overwrite)
    text = sources((corpus,)) if corpus else None
    loaded = Model.load(model)
    results: dict[str, Result] = {}
    if questions:
        results["Analogies"] = analogy.evaluate(loaded, questions)
    if pairs:
        results["Similarity"] = similarity.evaluate(loaded, pairs)
    page = render_model_report(loaded, model_name(model), results, sentences, text)
    write_page(page, output)
    say(f"{output} was written; open it in a browser")


COMMANDS = (report,)
