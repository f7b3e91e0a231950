"""The text that a model is trained on: any source, with datasets found by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from posvec.config import Config
from posvec.corpus.sources import Corpus, Source, open_corpus
from posvec.datasets.embedded import EMBEDDED_CORPORA, embedded_corpus
from posvec.datasets.fetching import FetchDisplay
from posvec.datasets.library import corpus_path, is_fetchable


def open_source(
    source: Source,
    config: Config,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
    display: FetchDisplay | None = None,
) -> Corpus:
    """Open a source as a model of this configuration reads it.

    Parameters
    ----------
    source
        Files, folders, globs, ``"-"``, the name of a dataset, or an iterable of sentences or token lists.
    config
        The configuration of the model.
    tokenizer
        A function from a line to its tokens, in place of the tokenizer of the configuration.
    display
        Shows downloads.
    """
    names: object = [source] if isinstance(source, str | Path) else source
    name = str(names[0]) if isinstance(names, list | tuple) and len(names) == 1 else ""
    if name in EMBEDDED_CORPORA and not Path(name).exists():
        opened = open_corpus(embedded_corpus(name), config.text, tokenizer)
        opened.name, opened.paths = name, [name]
        return opened
    if isinstance(source, str):
        source = _dataset_or_source(source, display)
    elif isinstance(names, list | tuple) and any(isinstance(each, Path) for each in names):
        source = [_dataset_or_source(each, display) if isinstance(each, Path) else each for each in names]
        if len(source) == 1:
            source = source[0]  # not a list of sentences; a missing file is then named as such
    return open_corpus(source, config.text, tokenizer)


def _dataset_or_source(source: str | Path, display: FetchDisplay | None) -> str | Path:
    """Return the file of a dataset that can be fetched, or the source itself."""
    if not is_fetchable(str(source)) or Path(source).exists():
        return source
    return corpus_path(str(source), display=display)
