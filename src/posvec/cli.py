"""The command line: parse → config → one library call → print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from posvec import __version__
from posvec.config import GROUPS, MODELS, PRESETS, SETTINGS, Config
from posvec.errors import ConfigError, ModelError, PosvecError
from posvec.flags import given_settings, read_config, settings
from posvec.printing import (
    format_size,
    make_console,
    make_table,
    plural,
    print_info,
    print_neighbors,
    print_report,
    print_vocabulary,
)

if TYPE_CHECKING:
    from rich.console import Console

    from posvec.model import Model

# A corpus of fewer tokens than this starves the paper's settings, and posvec train says so.
SMALL_CORPUS = 10_000_000


def main() -> NoReturn:
    """Run a command; every failure that a user can mend is one sentence on standard error, and exit code 1."""
    try:
        commands.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except PosvecError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except MemoryError:
        click.echo("Error: out of memory; lower dim, buckets or the vocabulary (min_count, max_words)", err=True)
        sys.exit(1)
    except OSError as error:
        click.echo(f"Error: {error.filename or 'posvec'}: {error.strerror or error}", err=True)
        sys.exit(1)
    sys.exit(0)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", prog_name="posvec")
def commands() -> None:
    """Train, explore and evaluate word vectors that know where words stand."""


@commands.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="folder to save the model in")
@click.option(
    "--model",
    type=click.Choice(list(MODELS)),
    default="constrained",
    show_default=True,
    help="which of the four models",
)
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), default="posvec", show_default=True, help="a set of defaults"
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help='JSON file of settings: {"dim": 100, ...}, or the config.json of a model',
)
@click.option("--vocabulary", type=click.Path(path_type=Path), help="use a vocabulary made by posvec vocab --output")
@click.option("--start", type=click.Path(path_type=Path), help="train this model further; new words are added to it")
@click.option("--overwrite", is_flag=True, help="replace a model that is already there")
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
@settings(*GROUPS)
def train(
    corpus: tuple[str, ...],
    output: Path,
    model: str,
    preset: str,
    config_file: Path | None,
    vocabulary: Path | None,
    start: Path | None,
    overwrite: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Train a model on CORPUS: files (plain, .gz, .bz2, .xz, .zst), folders, globs, - or python-docs.

    One sentence per line; - is standard input, python-docs an embedded corpus.
    Press Ctrl-C to stop and save; posvec resume goes on.
    """
    from posvec.pipeline import train as run

    config, given = read_config(config_file) if config_file else (None, {})
    given |= given_settings(values)
    if config or start:
        _refuse_model_and_preset("--config" if config else "--start")
    with _training(quiet, output) as (display, console):
        trained = run(
            _sources(corpus),
            model,
            preset=preset,
            config=config,
            output=output,
            overwrite=overwrite,
            vocabulary=vocabulary,
            start=start,
            display=display,
            **given,
        )
    if not quiet:
        print_report(console, trained, output)
        if trained.report and trained.report.tokens < SMALL_CORPUS and not (preset == "small" or config or start):
            console.print(
                f"The corpus has {trained.report.tokens:,} words; with fewer than {SMALL_CORPUS:,}, --preset small "
                "usually gives better vectors."
            )


@commands.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("corpus", nargs=-1)
@click.option("--threads", type=int, default=None, help=SETTINGS["threads"].help)
@click.option("-q", "--quiet", is_flag=True, help="print nothing but errors")
def resume(model: Path, corpus: tuple[str, ...], threads: int | None, quiet: bool) -> None:
    """Go on with the interrupted training of MODEL.

    CORPUS is needed only if it did not come from files.
    """
    from posvec.pipeline import resume as run

    with _training(quiet, model) as (display, console):
        trained = run(model, _sources(corpus) if corpus else None, threads=threads, display=display)
    if not quiet:
        print_report(console, trained, model)


@commands.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print everything as JSON")
@click.option("--verify", is_flag=True, help="check every byte against the checksums")
def info(model: Path, as_json: bool, verify: bool) -> None:
    """Show what MODEL is: settings, sizes, and how it was trained."""
    from posvec.model import Model

    loaded = Model.load(model, verify)
    if as_json:
        click.echo(json.dumps(_describe(loaded), indent=2))
        return
    print_info(make_console(), loaded, model)


@commands.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="save the vocabulary for posvec train --vocabulary"
)
@click.option("--overwrite", is_flag=True, help="replace a file that is already there")
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="print this many of the most frequent words",
)
@click.option("--threads", type=int, default=0, help=SETTINGS["threads"].help)
@settings("text", "vocabulary")
def vocab(corpus: tuple[str, ...], output: Path | None, overwrite: bool, top: int, threads: int, **values: Any) -> None:
    """Count the words of CORPUS and show the vocabulary that a model would have.

    CORPUS may also be a model's folder or a saved vocabulary.
    """
    from posvec.pipeline import count

    if output and output.exists() and not overwrite:
        raise ModelError(f"{output} exists already; choose another name or add --overwrite")
    given = given_settings(values)
    vocabulary = _saved_vocabulary(corpus)
    if vocabulary is None:
        with _display(quiet=False) as (display, _):
            vocabulary = count(_sources(corpus), Config().replace(**given, threads=threads), display)
    elif given:
        raise ConfigError(f"{corpus[0]} is counted already; leave out {', '.join(given)}, or name its corpus")
    if output:
        vocabulary.save(output)
    print_vocabulary(make_console(), vocabulary, top)


@commands.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="neighbours of each word")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def neighbors(model: Path, words: tuple[str, ...], topn: int, as_json: bool) -> None:
    """The words of MODEL nearest to each of WORDS by cosine similarity."""
    from posvec.model import Model

    vectors = Model.load(model).vectors
    found = {word: vectors.most_similar(word, topn=topn) for word in words}
    if as_json:
        click.echo(
            json.dumps({word: [each._asdict() for each in near] for word, near in found.items()}, ensure_ascii=False)
        )
        return
    print_neighbors(make_console(), vectors, found)


@commands.group()
def cache() -> None:
    """The cache of counted and encoded corpora."""


@cache.command("list")
def list_cache() -> None:
    """Show what the cache holds."""
    from datetime import datetime

    from posvec.cache import cache_entries, cache_folder

    entries = cache_entries()
    table = make_table("corpus", "size", "made")
    for entry in entries:
        table.add_row(entry.name, format_size(entry.bytes), f"{datetime.fromtimestamp(entry.created):%Y-%m-%d %H:%M}")
    console = make_console()
    if entries:
        console.print(table)
    total = format_size(sum(entry.bytes for entry in entries))
    console.print(f"{plural(len(entries), 'entry', 'entries')}, {total} in {cache_folder()}")


@cache.command("clear")
def clear() -> None:
    """Remove everything from the cache."""
    from posvec.cache import clear_cache

    click.echo(f"{format_size(clear_cache())} freed")


# ---- helpers ----------------------------------------------------------------------------------------------------


@contextmanager
def _display(quiet: bool) -> Iterator[tuple[Any, Console]]:
    """The display of long work, and the console that it writes to: standard error, results go to standard output."""
    from posvec.display import make_display

    console = make_console(stderr=True)
    if quiet:
        yield None, console
        return
    with make_display(console) as display:
        yield display, console


@contextmanager
def _training(quiet: bool, output: Path) -> Iterator[tuple[Any, Console]]:
    try:
        with _display(quiet) as (display, console):
            yield display, console
    except KeyboardInterrupt:
        if _is_resumable(output):
            click.echo(f"Interrupted. The model so far is in {output}; go on with: posvec resume {output}", err=True)
        else:
            click.echo("Interrupted before training began; nothing was saved.", err=True)
        sys.exit(130)


def _is_resumable(output: Path) -> bool:
    from posvec.storage import load_folder

    try:
        return load_folder(output).config.get("state") is not None
    except PosvecError:
        return False


def _describe(model: Model) -> dict[str, Any]:
    return {
        "kind": model.config.kind,
        "words": len(model.vocabulary),
        "ngram_rows": len(model.rows.bucket_ids),
        "settings": model.config.to_dict(),
        "report": model.report.to_dict() if model.report else None,
        "interrupted": model.state is not None,
    }


def _refuse_model_and_preset(option: str) -> None:
    """What a whole configuration or an earlier model decides cannot be chosen too: nothing is ignored in silence."""
    context = click.get_current_context()
    for name in ("model", "preset"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} says which model it is, settings included; leave out --{name}")


def _sources(corpus: tuple[str, ...]) -> list[str | Path]:
    """What was named on the command line, each known to be there."""
    from posvec.datasets import DATASETS
    from posvec.files import find_files

    for name in corpus:
        if name != "-" and not (name in DATASETS and len(corpus) == 1):
            find_files(name)
    return ["-" if name == "-" else Path(name) for name in corpus]


def _saved_vocabulary(corpus: tuple[str, ...]) -> Any:
    from posvec.model import Model
    from posvec.vocabulary import Vocabulary

    if len(corpus) != 1:
        return None
    path = Path(corpus[0])
    if (path / "config.json").is_file():
        return Model.load(path).vocabulary
    if path.is_file():
        with path.open("rb") as file:
            if file.read(64).startswith(b'{"format": "posvec vocabulary"'):
                return Vocabulary.load(path)
    return None
