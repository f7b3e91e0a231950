"""Search for the settings that suit a corpus with the Tree-structured Parzen Estimator (Optuna), as the paper does.

Each trial trains and measures a model, and the results decide which settings the next trial tries. The first trial
counts and encodes the corpus, and all others take it from the cache. Each trial is stored when it ends, so that a
search can be interrupted at any time, continued later, and shared by several processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from posvec.config import Config
from posvec.corpus.sources import Source
from posvec.evaluation.lines import as_paths
from posvec.model import Model
from posvec.presets import DEFAULT_PRESET, make_config
from posvec.system.extras import require_extra
from posvec.training.pipeline import Display, Silent, choose_settings
from posvec.training.sources import open_source
from posvec.tuning.objectives import Paths, TestFiles, choose_objectives
from posvec.tuning.results import SearchResult
from posvec.tuning.space import paper_space, parse_space
from posvec.tuning.storage import storage_errors
from posvec.tuning.trials import TrialRunner

Runner = Callable[[TrialRunner, int | None, float | None, bool], SearchResult]


def search(
    corpus: Source,
    model: str | None = None,
    *,
    output: str | os.PathLike[str],
    space: Iterable[str] = (),
    objectives: Iterable[str | Callable[[Model], float]] = (),
    questions: Paths = (),
    pairs: Paths = (),
    restrict_vocab: int | None = 200_000,
    trials: int | None = None,
    seconds: float | None = None,
    prune: bool = True,
    keep_best: bool = False,
    storage: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
    preset: str = DEFAULT_PRESET,
    config: Config | None = None,
    display: Display | None = None,
    runner: Runner = TrialRunner.run,
    **settings: Any,
) -> SearchResult:
    """Search for the settings that are best by one or several objectives.

    Ctrl-C stops the search; the same call continues it.

    Parameters
    ----------
    corpus, model, preset, config, display, **settings
        As in :func:`posvec.train`; they hold for all trials. Settings that follow the corpus are chosen once; those
        that are searched are the first trial's.
    output
        The folder of the study. A study that it already contains is continued.
    space
        The settings to search and their values, for example ``"window=1..50"``; see :mod:`posvec.tuning.space`. By
        default the paper's: the window size and, for the constrained model, the number of positional features.
    objectives
        What to optimize; see :func:`posvec.tuning.objectives.make_objectives`. By default accuracy if there are
        ``questions``, or else similarity if there are ``pairs``.
    questions, pairs
        Files of word analogies and of word pairs with their similarity.
    restrict_vocab
        Ask analogies among this many most frequent words; None for all.
    trials
        The number of trials of the study, over all calls; 50 if ``seconds`` is not given either.
    seconds
        Stop this call after this time, but not before one trial is finished.
    prune
        Stop trials early that do worse than most. Only used with a single objective.
    keep_best
        Also save the best model, in the study's folder.
    storage, name
        The address of a database that several machines can share, and the name of the study in it.
    overwrite
        Start the study again.
    runner
        Runs the trials; by default this process, one trial after another.

    Returns
    -------
    SearchResult
        All trials, and which of them are best.

    Raises
    ------
    ConfigError
        If a setting, the space or an objective is invalid.
    PosvecError
        If ``output`` has a study with another corpus, configuration, space or objective.

    Examples
    --------
    >>> from posvec import tuning
    >>> result = tuning.search(
    ...     "corpus.txt", output="study", space=["window=1..3"], objectives=["validation_loss"], trials=2,
    ...     dim=32, epochs=1, threads=1,
    ... )
    >>> len(result.trials), result.best_config.model.dim
    (2, 32)
    """
    base = config.replace(**settings) if config else make_config(model, preset, **settings)
    tests = TestFiles(as_paths(questions), as_paths(pairs), restrict_vocab)
    dimensions = parse_space(space) or paper_space(base)
    chosen = choose_objectives(objectives, tests, [dimension.name for dimension in dimensions])
    require_extra("optuna", "search")
    display = display or Silent()
    with open_source(corpus, base) as opened, storage_errors(Path(output), storage):
        automatic = tuple[str, ...]()
        if preset == DEFAULT_PRESET and config is None:
            base, _, automatic = choose_settings(opened, base, settings, display)
        trial_runner = TrialRunner(opened, base, dimensions, chosen, display, prune, automatic)
        trial_runner.open(Path(output), tests, storage, name, overwrite)
        return runner(trial_runner, trials, seconds, keep_best)
