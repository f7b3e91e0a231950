"""Search for some time, then train a model with the best settings: ``posvec train --autotune``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from posvec.config import Config
from posvec.corpus.sources import Source
from posvec.errors import ConfigError
from posvec.evaluation.lines import as_paths
from posvec.model import Model
from posvec.presets import DEFAULT_PRESET, make_config
from posvec.storage.folders import check_output
from posvec.system.extras import require_extra
from posvec.training.pipeline import Display, Silent, choose_settings, train_prepared
from posvec.training.sources import open_source
from posvec.tuning.objectives import Paths, TestFiles, choose_objectives
from posvec.tuning.results import format_settings
from posvec.tuning.space import Dimension, paper_space, parse_space
from posvec.tuning.storage import storage_errors
from posvec.tuning.study import StudyMismatchError
from posvec.tuning.trials import TrialRunner


def autotune(
    corpus: Source,
    seconds: float,
    model: str | None = None,
    *,
    output: str | os.PathLike[str],
    questions: Paths = (),
    preset: str = DEFAULT_PRESET,
    config: Config | None = None,
    overwrite: bool = False,
    display: Display | None = None,
    **settings: Any,
) -> Model:
    """Search for some time, then train the best configuration on the whole corpus.

    The window size, the number of positional features (of the constrained model) and the learning rate are searched,
    except for those given in ``settings``, and the lowest validation loss wins. With ``questions``, the highest
    accuracy of analogies wins, and the number of epochs and the subsampling of frequent words are searched too. The
    loss cannot judge these two: subsampling changes the words that it is measured on, and a model with fewer epochs
    can have a lower loss and much worse vectors.

    Parameters
    ----------
    corpus, model, preset, config, display, **settings
        As in :func:`posvec.train`; they hold for all trials. Settings that follow the corpus are chosen once; those
        that are searched are the first trial's.
    seconds
        How long to search. The first trial is always finished.
    output
        The folder of the model. The study is kept in the folder ``output``.search, and is continued if it exists.
    questions
        Files of word analogies.
    overwrite
        Replace a model, and a study of another corpus or configuration.

    Returns
    -------
    Model
        The trained model, which is also saved.

    Raises
    ------
    ConfigError
        If all settings that would be searched are given.

    Examples
    --------
    >>> from posvec import tuning
    >>> settings = {"dim": 32, "epochs": 1, "threads": 1}
    >>> model = tuning.autotune("corpus.txt", seconds=0.01, output="tuned", **settings)
    >>> tuning.load_study("tuned.search").best_config == model.config
    True
    """
    check_output(output, overwrite)
    base = config.replace(**settings) if config else make_config(model, preset, **settings)
    tests = TestFiles(as_paths(questions))
    space = [each for each in _make_space(base, bool(tests.questions)) if each.name not in settings]
    if not space:
        raise ConfigError("every setting that autotune searches is given; leave one out, for example window")
    dimensions = tuple(space)
    objective = "accuracy" if tests.questions else "validation_loss"
    objectives = choose_objectives([objective], tests, [dimension.name for dimension in dimensions])
    display = display or Silent()
    require_extra("optuna", "search")
    folder = Path(output).absolute()
    folder = folder.with_name(f"{folder.name}.search")
    with open_source(corpus, base) as opened:
        automatic = tuple[str, ...]()
        if preset == DEFAULT_PRESET and config is None:
            base, _, automatic = choose_settings(opened, base, settings, display)
        runner = TrialRunner(opened, base, dimensions, objectives, display, prune=True, automatic=automatic)
        with storage_errors(folder, None):
            try:
                runner.open(folder, tests)
            except StudyMismatchError:
                if not overwrite:
                    raise
                runner.open(folder, tests, overwrite=True)
            best = runner.run(None, seconds, keep_best=False)
        display.note(f"training the best of {len(best.ranked())} trials: {format_settings(best.best_trial.settings)}")
        created, encoded, before = runner.prepare(opened, best.best_config, display)
        return train_prepared(created, encoded, before, [display], opened.paths, output, overwrite)


def _make_space(base: Config, analogies: bool) -> tuple[Dimension, ...]:
    space = [
        "window=1..30",
        *[str(each) for each in paper_space(base) if each.name == "positional_dim"],
        "initial_lr=0.01..0.2:log",
        *(["epochs=1..20:log", "sample=1e-6..1e-3:log"] if analogies else []),
    ]
    return parse_space(space)
