"""posvec lm: language models on the word vectors of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from posvec.cli.arguments import PATH, json_option, model_argument, plot_option, quiet_option
from posvec.cli.flags import given_settings, options
from posvec.cli.output import check_output_file, result_options, show_result
from posvec.cli.progress import training_display
from posvec.language_model.config import SETTINGS
from posvec.system.console import echo, make_console

# The key that the config.json of an interrupted language model has, and the command that resumes training.
RESUMED = ("progress", "posvec lm resume")
run_argument = click.argument("run", type=PATH)
overwrite_option = click.option("--overwrite", is_flag=True, help="replace an existing language model")


def _device_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--device", default=default, show_default=True, help="cpu, cuda, cuda:1, auto, ...")


transformer_option = click.option("--transformer", type=PATH, help="folder of the transformer, if it was moved")


@click.group()
def lm() -> None:
    """Train, compare and use language models on the vectors of a model."""


@lm.command()
@model_argument
@click.option(
    "--data",
    required=True,
    type=PATH,
    help="folder with train.txt, valid.txt and test.txt (or compressed), with WikiText, or with the texts of Botha and "
    "Blunsom, which are downloaded by the name botha-blunsom",
)
@click.option("-o", "--output", required=True, type=PATH, help="folder to save the language model in")
@click.option("--language", help="language of the data, if it has several: cs, de, en, es, fr, ru")
@click.option("--name", help="name in comparisons, the same for several seeds  [the name of MODEL's folder]")
@click.option(
    "--transformer", type=PATH, help="Hugging Face folder of a transformer, whose features are added to the vectors"
)
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

    Press Ctrl-C to stop and save, or send one of the signals of posvec train; posvec lm resume continues.
    """
    from posvec import language_model

    with training_display(quiet, output, RESUMED) as (display, console):
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
@click.option("--data", type=PATH, help="folder of the texts, if it was moved")
@transformer_option
@_device_option("auto")
@quiet_option
def resume(run: Path, data: Path | None, transformer: Path | None, device: str, quiet: bool) -> None:
    """Resume the interrupted training of RUN."""
    from posvec import language_model

    with training_display(quiet, run, RESUMED, resumes=True) as (display, console):
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
    """Show the probability of each word of SENTENCE by the language model RUN."""
    from posvec import language_model

    scored = language_model.load(run, transformer=transformer, device=device).score(sentence)
    if as_json:
        echo(scored.to_json())
    else:
        make_console().print(scored)


@lm.command()
@run_argument
@click.argument("prompt", default="")
@click.option(
    "-n", "--words", type=click.IntRange(min=0), default=30, show_default=True, help="maximum number of words"
)
@click.option(
    "--temperature", type=float, default=1.0, show_default=True, help="randomness; 0: always the most probable word"
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="sample from this many most probable words; 0: all",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="seed of the sampling")
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
    """Generate text that continues PROMPT with the language model RUN."""
    from posvec import language_model

    model = language_model.load(run, transformer=transformer, device=device)
    echo(model.generate(prompt, words, temperature, top, seed))


@lm.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--curves", type=PATH, help="write the validation perplexities by epoch to FILE.json or FILE.csv")
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
    """Compare the perplexities of language models.

    The runs of a name are its seeds; --plot draws the perplexities by epoch.
    """
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
