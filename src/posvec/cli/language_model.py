"""posvec lm: language models on the vectors of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import (
    check_output_file,
    json_option,
    model_argument,
    plot_option,
    result_options,
    show_result,
    trained_on_display,
)
from posvec.cli.flags import given_settings, options
from posvec.language_model.config import SETTINGS
from posvec.system.console import make_console

RESUMED = ("progress", "posvec lm resume")
_path = click.Path(path_type=Path)
run_argument = click.argument("run", type=_path)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
overwrite_option = click.option("--overwrite", is_flag=True, help="replace what is already there")


def _device_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--device", default=default, show_default=True, help="cpu, cuda, cuda:1, auto, ...")


transformer_option = click.option("--transformer", type=_path, help="its transformer's folder, if it is now elsewhere")


@click.group()
def lm() -> None:
    """Language models: train them on a model's vectors, compare their perplexities, let them score and generate."""


@lm.command()
@model_argument
@click.option(
    "--data",
    required=True,
    type=_path,
    help="folder of train.txt, valid.txt and test.txt (or compressed), of WikiText, or of Botha and Blunsom's texts; "
    "the name botha-blunsom fetches these",
)
@click.option("-o", "--output", required=True, type=_path, help="folder to save the language model in")
@click.option("--language", help="which language of the data, if it has several: cs, de, en, es, fr, ru")
@click.option("--name", help="what to call it in comparisons; several seeds share a name  [the name of MODEL's folder]")
@click.option("--transformer", type=_path, help="a Hugging Face folder: features of its words stand beside the vectors")
@_device_option("auto")
@overwrite_option
@quiet_option
@options(SETTINGS.values())
def train(
    model: Path,
    data: Path,
    output: Path,
    language: str | None,
    name: str | None,
    transformer: Path | None,
    device: str,
    overwrite: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Train a language model on the vectors of MODEL and measure its perplexity.

    Press Ctrl-C to stop and save; posvec lm resume goes on.
    """
    from posvec import language_model

    with trained_on_display(quiet, output, RESUMED) as (display, console):
        trained = language_model.train(
            model,
            data,
            output,
            name=name,
            language=language,
            transformer=transformer,
            device=device,
            overwrite=overwrite,
            display=display,
            **given_settings(values, SETTINGS),
        )
    if not quiet:
        console.print(trained.report)


@lm.command()
@run_argument
@click.option("--data", type=_path, help="its texts, if they are now elsewhere")
@transformer_option
@_device_option("auto")
@quiet_option
def resume(run: Path, data: Path | None, transformer: Path | None, device: str, quiet: bool) -> None:
    """Go on with the interrupted training of RUN."""
    from posvec import language_model

    with trained_on_display(quiet, run, RESUMED) as (display, console):
        trained = language_model.resume(run, data, transformer=transformer, device=device, display=display)
    if not quiet:
        console.print(trained.report)


@lm.command()
@run_argument
@click.argument("sentence")
@transformer_option
@_device_option("cpu")
@json_option
def score(run: Path, sentence: str, transformer: Path | None, device: str, as_json: bool) -> None:
    """How likely SENTENCE is to the language model RUN, word by word."""
    from posvec import language_model

    scored = language_model.load(run, transformer=transformer, device=device).score(sentence)
    make_console().print(scored.to_json() if as_json else scored)


@lm.command()
@run_argument
@click.argument("prompt", default="")
@click.option("-n", "--words", type=click.IntRange(min=0), default=30, show_default=True, help="at most so many words")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="0: always the likeliest word")
@click.option("--top", type=click.IntRange(min=0), default=0, show_default=True, help="draw from so many words; 0: all")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="seed of the draws")
@transformer_option
@_device_option("cpu")
def generate(
    run: Path,
    prompt: str,
    words: int,
    temperature: float,
    top: int,
    seed: int,
    transformer: Path | None,
    device: str,
) -> None:
    """Let the language model RUN go on from PROMPT."""
    from posvec import language_model

    model = language_model.load(run, transformer=transformer, device=device)
    click.echo(model.generate(prompt, words, temperature, top, seed))


@lm.command()
@click.argument("runs", nargs=-1, required=True, type=_path)
@click.option("--curves", type=_path, help="write validation perplexities by epoch to FILE.json or FILE.csv")
@plot_option
@result_options
def compare(
    runs: tuple[Path, ...],
    curves: Path | None,
    plot: Path | None,
    output: Path | None,
    as_json: bool,
    overwrite: bool,
) -> None:
    """Perplexities of language models RUNS, over the seeds of each name; --plot draws them by epoch."""
    from posvec import language_model, plots

    if curves:
        check_output_file(curves, overwrite)

    def measure() -> language_model.PerplexityComparison:
        comparison = language_model.compare(runs)
        if curves:
            comparison.curves().write(curves)
        return comparison

    show_result(measure, as_json, output, overwrite, {plot: plots.perplexities})


COMMANDS = (lm,)
