"""From a corpus to a trained model: count, encode, create, train, save.

``posvec train`` is :func:`train` with flags.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

from posvec.automatic import LEAST_MIN_COUNT, describe_settings
from posvec.config import Config
from posvec.corpus.sources import Corpus, Source
from posvec.datasets.fetching import FetchDisplay, SilentFetchDisplay
from posvec.errors import ConfigError, CorpusError, ModelError, TrainingError
from posvec.model import Model
from posvec.presets import DEFAULT_PRESET, make_config
from posvec.storage.folders import check_output, load_folder
from posvec.storage.locks import locked_folder
from posvec.storage.records import Preparation, TrainingState
from posvec.system.allocator import return_freed_memory
from posvec.system.durations import parse_duration
from posvec.system.remote import is_remote
from posvec.system.signals import deferred_signals
from posvec.training.backend import Backend, LocalBackend
from posvec.training.budget import TimeBudget
from posvec.training.calibration import calibrate
from posvec.training.callbacks import Callback
from posvec.training.checkpoints import check_state, sources_of
from posvec.training.chunks import ChunkedCorpus
from posvec.training.divergence import check_parameters
from posvec.training.following import announce, follow_corpus
from posvec.training.loop import train as train_model
from posvec.training.sources import open_source
from posvec.vocabulary import Vocabulary

Result = TypeVar("Result")


class Display(FetchDisplay, Callback, Protocol):
    """Shows progress: of downloads, of the stages before training, and of training."""


def train(
    corpus: Source,
    model: str | None = None,
    *,
    preset: str = DEFAULT_PRESET,
    config: Config | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    vocabulary: Vocabulary | str | os.PathLike[str] | None = None,
    start: Model | str | os.PathLike[str] | None = None,
    tokenizer: Callable[[str], Sequence[str]] | str | None = None,
    time: float | str | None = None,
    callbacks: Sequence[Callback] = (),
    display: Display | None = None,
    backend: Backend | None = None,
    **settings: Any,
) -> Model:
    """Train a model on a corpus.

    Parameters
    ----------
    corpus
        Files, folders, globs, ``"-"``, the name of a dataset, or an iterable of sentences or token lists.
    model
        By default a model with two heads, one for meaning and one for spelling (``two-heads``), or one of the paper's:
        ``general``, ``subword``, ``positional`` or ``constrained``.
    preset
        A set of defaults. Under ``posvec``, epochs and other settings follow the size of the corpus
        (:mod:`posvec.automatic`), and any setting that is given wins. The others are ``paper``, ``as-run``,
        ``fasttext`` and ``gensim``, see :func:`posvec.make_config`.
    config
        A whole configuration, in place of ``model`` and ``preset``.
    output
        A folder for the model, and for checkpoints during training.
    overwrite
        Replace the model in ``output`` if there is one.
    vocabulary
        A vocabulary that was counted before, or the path of a saved one.
    start
        A model to train further; new words are added to its vocabulary.
    tokenizer
        A function from a line to its tokens, or the name of a tokenizer.
    time
        Train as well as can be in this time, from reading the corpus to saving the model: seconds, or text such as
        ``"10m"``. The number of epochs follows from the speed that is measured, up to three times what suits the size
        of the corpus; the last epoch may be a part of one.
    callbacks
        Called after every chunk of lines and every epoch, see :class:`posvec.training.callbacks.Callback`.
    display
        Shows progress; by default nothing is shown. What was chosen is also logged by the logger ``posvec``.
    backend
        Where counting, encoding and training run, by default on this machine; see :mod:`posvec.distributed`.
    **settings
        Any settings of :mod:`posvec.config`, such as ``dim``, ``epochs`` or ``threads``.

    Returns
    -------
    Model
        The trained model; its ``report`` says how training went.

    Raises
    ------
    PosvecError
        If the corpus, a setting or the output folder cannot be used, or if training diverges.

    Examples
    --------
    >>> import posvec
    >>> model = posvec.train("corpus.txt", dim=32, epochs=1, threads=1)
    >>> model.config.kind, model.config.model.dim
    ('two-heads', 32)
    """
    started = monotonic()
    seconds = None if time is None else _checked_time(time, settings)
    custom = tokenizer if callable(tokenizer) else None
    if tokenizer is not None and custom is None:
        settings["tokenizer"] = tokenizer
    if vocabulary is not None and start is not None:
        raise ConfigError("a model that is trained further has its own vocabulary; leave out vocabulary or start")
    if config is not None and not isinstance(config, Config):
        raise ConfigError(f"config is a posvec.Config, not a {type(config).__name__}; make one with posvec.make_config")
    base = _loaded(start, Model, lambda path: Model.load(path, verify=True), "start")
    if base is not None:
        base.trained_tables()  # refuse a compressed model before hours are spent
    given = _loaded(vocabulary, Vocabulary, Vocabulary.load, "vocabulary")
    if given is not None:  # the model records the limits with which the vocabulary was made
        settings |= {"min_count": given.config.min_count, "max_words": given.config.max_words}
    follows = preset == DEFAULT_PRESET and config is None and base is None
    if config is None and base is not None:
        config = base.config
    chosen = config.replace(**settings) if config else make_config(model, preset, **settings)
    if output is not None:
        check_output(output, overwrite)
    display, backend = display or Silent(), backend or LocalBackend()
    with open_source(corpus, chosen, custom, display) as opened, locked_folder(output):
        counting, automatic = 0.0, tuple[str, ...]()
        if follows:
            says = seconds is None  # otherwise the choice is announced when the number of epochs is known
            counting, (chosen, given, automatic) = _timed(
                lambda: choose_settings(opened, chosen, settings, display, backend, given, says)
            )
        created, encoded, before = prepare(opened, chosen, display, given, base, backend)
        before = dataclasses.replace(before, counting=before.counting + counting, automatic=automatic)
        callbacks, budget = [display, *callbacks], None
        if seconds is not None:
            before = dataclasses.replace(before, automatic=tuple(dict.fromkeys([*automatic, "epochs", "last_epoch"])))
            saved = created if output is not None else None
            budget = _budget(seconds, started, encoded.tokens, before, saved, display)
        return train_prepared(created, encoded, before, callbacks, opened.paths, output, overwrite, backend, budget)


def resume(
    path: str | os.PathLike[str],
    corpus: Source | None = None,
    *,
    threads: int | None = None,
    initial_lr: float | None = None,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
    callbacks: Sequence[Callback] = (),
    display: Display | None = None,
    backend: Backend | None = None,
    allow_network: bool = False,
) -> Model:
    """Resume interrupted training from the checkpoint in the folder of a model.

    With one thread the result is, byte for byte, that of training that was never interrupted.

    Parameters
    ----------
    path
        The folder of the model.
    corpus
        The corpus, if it is not where it was when training began, or was not a file.
    threads
        Number of threads from now on.
    initial_lr
        The learning rate at the start, from which the present one follows; a lower one if training diverged.
    tokenizer
        The tokenizer, if it was a function.
    callbacks, display, backend
        As in :func:`train`.
    allow_network
        Whether the corpus may be on any server that the checkpoint names; by default only on the one of ``path``.

    Returns
    -------
    Model
        The trained model.

    Raises
    ------
    ModelError
        If there is nothing to resume, if the checkpoint is damaged, or if the corpus has changed.

    Examples
    --------
    >>> import posvec
    >>> posvec.resume("model")
    Traceback (most recent call last):
        ...
    posvec.errors.ModelError: training of model is complete; ...
    """
    load_folder(path)  # refuse a folder that holds no model before locked_folder it
    with locked_folder(path):
        model = Model.load(path, verify=True)
        model.trained_tables()
        state = model.state
        if state is None:
            raise ModelError(
                f"training of {path} is complete; to train it further on more text, use posvec train --start {path}"
            )
        changed = {"threads": threads, "initial_lr": initial_lr}
        model.config = model.config.replace(**{name: value for name, value in changed.items() if value is not None})
        if corpus is None:
            corpus = sources_of(state, path, allow_network)
        display = display or Silent()
        with open_source(corpus, model.config, tokenizer, display) as opened:
            encoded = _encode(opened, model.vocabulary, model.config, display, backend or LocalBackend())
            check_state(state, model.config, encoded, opened.name, path)
            callbacks = [display, *callbacks]
            return train_prepared(
                model.trainable(), encoded, state.before, callbacks, opened.paths, path, True, backend
            )


def count(corpus: Source, config: Config | None = None, display: Display | None = None, **settings: Any) -> Vocabulary:
    """Return the vocabulary that a model trained on a corpus would have.

    Without ``config``, ``min_count`` and ``sample`` follow the corpus unless they are given, as in :func:`train`.

    Examples
    --------
    >>> vocabulary = count("corpus.txt")
    >>> vocabulary.words[0], vocabulary.config.min_count
    ('the', 3)
    """
    chosen = config.replace(**settings) if config else make_config(**settings)
    display = display or Silent()
    with open_source(corpus, chosen, None, display) as opened:
        if config is None:
            return choose_settings(opened, chosen, settings, display, says=False)[1]
        return _vocabulary(opened, chosen, None, None, display, LocalBackend())


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
    """A display that shows nothing, and passes warnings to Python."""

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=2)

    def on_chunk(self, progress: object) -> None: ...

    def on_epoch(self, progress: object) -> None: ...


class Quiet(Silent):
    """A display that shows nothing at all."""

    def warn(self, text: str) -> None: ...


def choose_settings(
    corpus: Corpus,
    config: Config,
    given: Collection[str],
    display: Display,
    backend: Backend | None = None,
    vocabulary: Vocabulary | None = None,
    says: bool = True,
) -> tuple[Config, Vocabulary, tuple[str, ...]]:
    """Choose the settings that follow the size of the corpus; its words are counted once, whatever is chosen.

    Parameters
    ----------
    corpus
        The text.
    config
        The configuration, of the default preset.
    given
        The names of settings that the user has given, which are not chosen.
    display
        Shows the progress of counting.
    backend
        Where words are counted, by default on this machine.
    vocabulary
        A vocabulary that was counted before.
    says
        Whether to say what was chosen.

    Returns
    -------
    config : Config
        The configuration that suits the corpus.
    vocabulary : Vocabulary
        The vocabulary of the corpus under this configuration.
    automatic : tuple of str
        The names of the settings that were chosen.
    """
    if vocabulary is None:
        least = config if "min_count" in given else config.replace(min_count=LEAST_MIN_COUNT)
        vocabulary = _vocabulary(corpus, least, None, None, display, backend or LocalBackend())
    config, automatic = follow_corpus(vocabulary.total_words, config, given)
    if says:
        announce(describe_settings(vocabulary.total_words, config), display)
    return config, vocabulary.limited(config.vocabulary), automatic


def prepare(
    corpus: Corpus,
    config: Config,
    display: Display | None = None,
    given: Vocabulary | None = None,
    base: Model | None = None,
    backend: Backend | None = None,
) -> tuple[Model, ChunkedCorpus, Preparation]:
    """Return a model with initial values, or ``base`` with new words, and the encoded corpus."""
    display, backend = display or Silent(), backend or LocalBackend()
    counting, words = _timed(lambda: _vocabulary(corpus, config, given, base, display, backend))
    encoding, encoded = _timed(lambda: _encode(corpus, words, config, display, backend))
    if not encoded.in_vocabulary:
        raise CorpusError(
            f"no word of {corpus.name} is in the vocabulary; leave out the vocabulary to count the words of this corpus"
        )
    return_freed_memory()  # of counting and encoding: the tables need it
    initializing, created = _timed(lambda: base.grow(words, config) if base else Model.create(config, words))
    return created, encoded, Preparation(counting, encoding, initializing)


def train_prepared(
    model: Model,
    encoded: ChunkedCorpus,
    before: Preparation,
    callbacks: Sequence[Callback] = (),
    sources: Sequence[str] = (),
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    backend: Backend | None = None,
    budget: TimeBudget | None = None,
) -> Model:
    """Train what :func:`prepare` has made; ``sources`` are the files that resuming reads."""
    saved_here = overwrite

    def checkpoint(state: TrainingState) -> None:
        nonlocal saved_here
        assert output is not None
        check_parameters(model)
        model.state = dataclasses.replace(state, sources=list(sources), before=before)
        model.save(output, overwrite=saved_here)
        saved_here = True

    if output is not None and not is_remote(output):
        output = Path(output).absolute()  # a callback may change the working folder
    # A signal from here on ends training only after the checkpoint or the complete model is saved.
    with locked_folder(output), deferred_signals() as interruption:
        with (backend or LocalBackend()).executor(model, encoded) as executor:
            save = checkpoint if output is not None else None
            try:
                report = train_model(model, encoded, callbacks, save, executor, budget)
            except TrainingError as error:
                if error.model is None or error.model.state is None:
                    raise
                if output is not None:
                    with interruption.protected():
                        checkpoint(error.model.state)
                raise _with_last_good_state(error, error.model, output) from error
        with interruption.protected():
            check_parameters(model)
            model.report = dataclasses.replace(report, before=before)
            model.calibration = calibrate(model, encoded)
            model.state = None
            if output is not None:
                model.save(output, overwrite=saved_here)
    return model


def _with_last_good_state(error: TrainingError, model: Model, output: str | os.PathLike[str] | None) -> TrainingError:
    """Return the error with a sentence on the state of the model when the loss was lowest."""
    assert model.state is not None
    rate = model.config.training.initial_lr / 2
    where = (
        f"is in {output}; to train it further: posvec resume {output} --initial-lr {rate:g}"
        if output is not None
        else "is the attribute model of this error"
    )
    told = TrainingError(
        f"{error}; the model as it was after {model.state.words:,} words, before the loss grew, {where}"
    )
    told.model = model
    return told


def _checked_time(time: float | str, settings: Mapping[str, Any]) -> float:
    """Return the seconds of a time; raise ConfigError if something else says how long to train."""
    for name in ("epochs", "last_epoch"):
        if name in settings:
            raise ConfigError(f"{name} and time both say how long to train; leave out one of them")
    return parse_duration(time)


def _budget(
    seconds: float, started: float, words: int, before: Preparation, saved: Model | None, display: Display
) -> TimeBudget:
    """Return a budget of the seconds that are left after preparation, which says what it chooses."""

    def announce_choice(config: Config) -> None:
        announce(describe_settings(words, config, is_estimate=True), display)
        if config.training.total_epochs == budget.most:
            text = f"More than {budget.most} epochs do not improve the vectors of so few words"
            announce(f"{text}, so training ends before the time is over.", display)

    # Saving takes about as long as initializing, and a second per 300 MB.
    size = sum(table.nbytes for table in saved.trained_tables()) if saved else 0
    saving = before.initializing + size / 300e6 if saved else 0.0
    taken = monotonic() - started
    if taken + saving >= seconds:
        raise ConfigError(
            f"time is {seconds:g} s, of which reading the corpus and creating and saving the model take about "
            f"{taken + saving:.1f} s; give more"
        )
    budget = TimeBudget(0.99 * seconds - taken, saving, words, announce_choice)
    return budget


def _loaded(
    given: Result | str | os.PathLike[str] | None, kind: type[Result], load: Callable[[Path], Result], name: str
) -> Result | None:
    if given is None or isinstance(given, kind):
        return given
    if isinstance(given, str | os.PathLike):
        return load(Path(given))
    raise ConfigError(f"{name} is a {kind.__name__} or the path of a saved one, not a {type(given).__name__}")


def _vocabulary(
    corpus: Corpus,
    config: Config,
    given: Vocabulary | None,
    start: Model | None,
    display: Display,
    backend: Backend,
) -> Vocabulary:
    if given is None:
        with display.stage("counting") as progress:
            given = backend.count(corpus, config, progress)
        if start is not None:
            given = start.vocabulary.merge(given)
    return Vocabulary(given.words, given.counts, given.total_words, config.vocabulary)


def _encode(
    corpus: Corpus, vocabulary: Vocabulary, config: Config, display: Display, backend: Backend
) -> ChunkedCorpus:
    with display.stage("encoding") as progress:
        return backend.encode(corpus, vocabulary, config, progress)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    started = monotonic()
    result = work()
    return monotonic() - started, result
