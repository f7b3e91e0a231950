"""From a corpus to a trained model: count, encode, create, train, save. ``posvec train`` is this with flags."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from posvec.config import Config
from posvec.corpus.sources import Corpus, Source, open_corpus
from posvec.datasets.embedded import EMBEDDED_CORPORA, embedded_corpus
from posvec.datasets.fetching import FetchDisplay, SilentFetchDisplay
from posvec.datasets.library import corpus_path, is_fetchable
from posvec.errors import ConfigError, CorpusError, ModelError
from posvec.model import Model
from posvec.presets import make_config
from posvec.storage.folders import check_output, load_folder, locked_folder
from posvec.storage.records import Preparation, TrainingState
from posvec.system.remote import is_remote
from posvec.training.backend import Engine, ThisMachine
from posvec.training.divergence import check_parameters
from posvec.training.loop import Callback
from posvec.training.loop import train as train_model
from posvec.training.stretches import Text, content_digest
from posvec.vocabulary import Vocabulary

Result = TypeVar("Result")


class Display(FetchDisplay, Callback, Protocol):
    """Shows how the work goes: the stages before training, and training itself."""


def train(
    corpus: Source,
    model: str = "constrained",
    *,
    preset: str = "posvec",
    config: Config | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    vocabulary: Vocabulary | str | os.PathLike[str] | None = None,
    start: Model | str | os.PathLike[str] | None = None,
    tokenizer: Callable[[str], Sequence[str]] | str | None = None,
    callbacks: Sequence[Callback] = (),
    display: Display | None = None,
    engine: Engine | None = None,
    **settings: Any,
) -> Model:
    """Train a model on a corpus.

    ``corpus``: files, folders, globs, "-", the name of a dataset, or an iterable of sentences or token lists.
    ``model``: general, subword, positional or constrained; ``preset`` and ``settings`` change the defaults of
    :mod:`posvec.config`, or ``config`` replaces them. ``output``: a folder for the model, and for checkpoints while it
    trains. ``vocabulary``: one counted before. ``start``: a model to train further; its vocabulary grows by new words.
    ``engine``: what counts, encodes and trains, by default this machine; see :mod:`posvec.distributed`.
    """
    custom = tokenizer if callable(tokenizer) else None
    if tokenizer is not None and custom is None:
        settings["tokenizer"] = tokenizer
    if vocabulary is not None and start is not None:
        raise ConfigError("a model that is trained further brings its own vocabulary; leave out vocabulary or start")
    if config is not None and not isinstance(config, Config):
        raise ConfigError(f"config is a posvec.Config, not a {type(config).__name__}; make one with posvec.make_config")
    base = _loaded(start, Model, lambda path: Model.load(path, verify=True), "start")
    if base is not None:
        base.trained_tables()  # a compressed model is refused before hours are spent
    given = _loaded(vocabulary, Vocabulary, Vocabulary.load, "vocabulary")
    if given is not None:  # what it was cut off at is the truth, and goes into the model
        settings |= {"min_count": given.config.min_count, "max_words": given.config.max_words}
    if config is None and base is not None:
        config = base.config
    config = config.replace(**settings) if config else make_config(model, preset, **settings)
    if output is not None:
        check_output(output, overwrite)
    display = display or Silent()
    with open_source(corpus, config, custom, display) as opened, locked_folder(output):
        created, encoded, before = prepare(opened, config, display, given, base, engine)
        return train_prepared(created, encoded, before, [display, *callbacks], opened.paths, output, overwrite, engine)


def resume(
    path: str | os.PathLike[str],
    corpus: Source | None = None,
    *,
    threads: int | None = None,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
    callbacks: Sequence[Callback] = (),
    display: Display | None = None,
    engine: Engine | None = None,
) -> Model:
    """Go on with training that was interrupted, from the checkpoint in the model's folder.

    The corpus is read again from where it was; give it if it is elsewhere now or was no file, and the tokenizer if it
    was a function. With one thread the result is, byte for byte, that of training that was never interrupted.
    """
    load_folder(path)  # what is no model is not claimed
    with locked_folder(path):
        model = Model.load(path, verify=True)
        model.trained_tables()
        state = model.state
        if state is None:
            raise ModelError(
                f"training of {path} is complete, there is nothing to resume; to train it further on more text, use "
                f"posvec train --start {path}"
            )
        if threads is not None:
            model.config = model.config.replace(threads=threads)
        if corpus is None:
            corpus = _sources(state, path)
        display = display or Silent()
        with open_source(corpus, model.config, tokenizer, display) as opened:
            encoded = _encode(opened, model.vocabulary, model.config, display, engine or ThisMachine())
            # Files that were moved, touched or compressed are other files, and may be the same text.
            if encoded.digest != state.corpus and content_digest(encoded) != state.content:
                raise ModelError(
                    f"the corpus {opened.name} has changed since training of {path} was interrupted; restore it, say "
                    f"where it is now (posvec resume {path} CORPUS), or train a new model"
                )
            callbacks = [display, *callbacks]
            return train_prepared(model.trainable(), encoded, state.before, callbacks, opened.paths, path, True, engine)


def count(corpus: Source, config: Config | None = None, display: Display | None = None) -> Vocabulary:
    """The vocabulary that a model trained on a corpus would have."""
    config = config or Config()
    display = display or Silent()
    with open_source(corpus, config, None, display) as opened:
        return _vocabulary(opened, config, None, None, display, ThisMachine())


def load(path: str | os.PathLike[str], verify: bool = False) -> Model:
    """Open a saved model.

    The tables of the model are memory-mapped: opening takes a fraction of a second, whatever their size.

    Parameters
    ----------
    path
        The folder of the model, or its address on a remote filesystem such as ``s3://bucket/model``.
    verify
        Read every byte of the files and compare it with the checksums in ``config.json``.

    Returns
    -------
    Model
        The model, with its tables mapped read-only.

    Raises
    ------
    ModelError
        If there is no model at ``path``, or if it is damaged.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.load("model")
    >>> "cat" in model.vectors
    True
    """
    return Model.load(path, verify)


class Silent(SilentFetchDisplay):
    """A display that shows nothing."""

    def on_block(self, progress: object) -> None: ...

    def on_epoch(self, progress: object) -> None: ...


def open_source(
    source: Source,
    config: Config,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
    display: FetchDisplay | None = None,
) -> Corpus:
    """The text of a source as a model of this configuration reads it; also of an embedded corpus, by its name."""
    names: object = [source] if isinstance(source, str | Path) else source
    name = str(names[0]) if isinstance(names, list | tuple) and len(names) == 1 else ""
    if name in EMBEDDED_CORPORA and not Path(name).exists():
        opened = open_corpus(embedded_corpus(name), config.text, tokenizer)
        opened.name, opened.paths = name, [name]
        return opened
    if isinstance(source, str):
        source = _fetched(source, display)
    elif isinstance(names, list | tuple) and any(isinstance(each, Path) for each in names):
        source = [_fetched(each, display) if isinstance(each, Path) else each for each in names]
        if len(source) == 1:
            source = source[0]  # no list of sentences, then, and a missing one is named as such
    return open_corpus(source, config.text, tokenizer)


def prepare(
    corpus: Corpus,
    config: Config,
    display: Display | None = None,
    given: Vocabulary | None = None,
    base: Model | None = None,
    engine: Engine | None = None,
) -> tuple[Model, Text, Preparation]:
    """A model with initial values, or ``base`` with new words, and the text to train it on; all but training."""
    display, engine = display or Silent(), engine or ThisMachine()
    counting, words = _timed(lambda: _vocabulary(corpus, config, given, base, display, engine))
    encoding, encoded = _timed(lambda: _encode(corpus, words, config, display, engine))
    if not encoded.in_vocabulary:
        raise CorpusError(f"no word of {corpus.name} is in the vocabulary; count the words of this corpus instead")
    _return_freed_memory()
    initializing, created = _timed(lambda: base.grow(words, config) if base else Model.create(config, words))
    return created, encoded, Preparation(counting, encoding, initializing)


def train_prepared(
    model: Model,
    encoded: Text,
    before: Preparation,
    callbacks: Sequence[Callback] = (),
    sources: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> Model:
    """Train what :func:`prepare` made. The sources are those that resuming is to read."""
    saved_here = overwrite

    def checkpoint(state: TrainingState) -> None:
        nonlocal saved_here
        assert output is not None
        check_parameters(model)
        model.state = dataclasses.replace(state, sources=list(sources), before=before)
        model.save(output, overwrite=saved_here)
        saved_here = True

    with locked_folder(output):
        with (engine or ThisMachine()).crew(model, encoded) as crew:
            report = train_model(model, encoded, callbacks, checkpoint if output is not None else None, crew)
        check_parameters(model)
        model.report = dataclasses.replace(report, before=before)
        model.state = None
        if output is not None:
            model.save(output, overwrite=saved_here)
    return model


def _loaded(
    given: Result | str | os.PathLike[str] | None, kind: type[Result], load: Callable[[Path], Result], name: str
) -> Result | None:
    if given is None or isinstance(given, kind):
        return given
    if isinstance(given, str | os.PathLike):
        return load(Path(given))
    raise ConfigError(f"{name} is a {kind.__name__} or the path of a saved one, not a {type(given).__name__}")


def _sources(state: TrainingState, model: str | os.PathLike[str]) -> list[str | Path]:
    """Where the corpus of interrupted training was, if it is still there."""
    if not state.sources:
        raise ModelError(f"the corpus of {model} did not come from files alone; give it again: posvec resume {model} -")
    sources = [each if is_remote(each) else Path(each) for each in state.sources]
    for source in sources:
        if isinstance(source, Path) and not source.exists() and str(source) not in EMBEDDED_CORPORA:
            raise ModelError(
                f"the corpus {source} that {model} was being trained on is gone; put it back, or say where it is now: "
                f"posvec resume {model} CORPUS"
            )
    return sources


def _fetched(source: str | Path, display: FetchDisplay | None) -> str | Path:
    """The file of a dataset that can be fetched; anything else is itself."""
    if not is_fetchable(str(source)) or Path(source).exists():
        return source
    return corpus_path(str(source), display=display)


def _vocabulary(
    corpus: Corpus,
    config: Config,
    given: Vocabulary | None,
    start: Model | None,
    display: Display,
    engine: Engine,
) -> Vocabulary:
    if given is None:
        with display.stage("counting") as progress:
            given = engine.count(corpus, config, progress)
        if start is not None:
            given = start.vocabulary.merge(given)
    return Vocabulary(given.words, given.counts, given.total_words, config.vocabulary)


def _encode(corpus: Corpus, vocabulary: Vocabulary, config: Config, display: Display, engine: Engine) -> Text:
    with display.stage("encoding") as progress:
        return engine.encode(corpus, vocabulary, config, progress)


def _return_freed_memory() -> None:
    """Counting and encoding freed many small pieces, which the C library keeps; the tables come from the system."""
    with contextlib.suppress(OSError, AttributeError):  # only glibc has this
        ctypes.CDLL(None).malloc_trim(0)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    started = time.monotonic()
    result = work()
    return time.monotonic() - started, result
