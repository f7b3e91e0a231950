"""Search for the settings that suit a corpus: Tree-structured Parzen Estimator (Optuna), as the paper does.

Each trial trains a model and measures it; what was measured decides where the next trial looks. The corpus is counted
and encoded by the first trial and comes from the cache for all others. Every trial is stored as it ends, so that a
search can be stopped at any moment, go on later, and be shared by several processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from posvec.config import Config
from posvec.corpus.sources import Source
from posvec.errors import ConfigError
from posvec.evaluation.lines import as_paths
from posvec.model import Model
from posvec.presets import make_config
from posvec.storage.folders import check_output
from posvec.system.extras import require_extra
from posvec.training.pipeline import Display, Silent, open_source, prepare, train_prepared
from posvec.tuning.objectives import Objective, TestFiles, make_objectives
from posvec.tuning.results import SearchResult
from posvec.tuning.space import Dimension, paper_space, parse_space
from posvec.tuning.study import OtherStudyError, storing
from posvec.tuning.trials import Search, described

Paths = str | Path | Iterable[str | Path]


def search(
    corpus: Source,
    model: str = "constrained",
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
    preset: str = "posvec",
    config: Config | None = None,
    display: Display | None = None,
    runner: Callable[[Search, int | None, float | None, bool], SearchResult] = Search.run,
    **settings: Any,
) -> SearchResult:
    """Search for the settings that are best by the objectives; the study in the folder ``output`` goes on if there.

    ``space``: see :mod:`posvec.tuning.space`; by default the paper's. ``objectives``: see
    :func:`posvec.tuning.objectives.make_objectives`; by default accuracy if there are ``questions``, else similarity if
    there
    are ``pairs``. The budget is a number of ``trials``, over all runs of the study, or of ``seconds``, of this run.
    ``storage``: the address of a database, for several machines; ``name``: of the study there. All other arguments are
    those of :func:`posvec.train`, and hold for every trial. Ctrl-C stops, and the same call goes on. ``runner`` sees to
    the trials: by default this process, one after the other.
    """
    base = config.replace(**settings) if config else make_config(model, preset, **settings)
    tests = TestFiles(as_paths(questions), as_paths(pairs), restrict_vocab)
    dimensions = parse_space(space) or paper_space(base)
    goals = _objectives(objectives, tests, dimensions)
    require_extra("optuna", "search")
    with open_source(corpus, base) as opened, storing(Path(output), storage):
        run = Search(opened, base, dimensions, goals, display or Silent(), prune)
        run.open(Path(output), tests, storage, name, overwrite)
        return runner(run, trials, seconds, keep_best)


def autotune(
    corpus: Source,
    seconds: float,
    model: str = "constrained",
    *,
    output: str | os.PathLike[str],
    questions: Paths = (),
    preset: str = "posvec",
    config: Config | None = None,
    overwrite: bool = False,
    display: Display | None = None,
    **settings: Any,
) -> Model:
    """Search for some time, then train the best configuration on all of the corpus and save it in ``output``.

    Searched are c, D' (of the constrained model) and the learning rate, but for those that are given in ``settings``,
    by the validation loss. With ``questions`` the objective is the accuracy of analogies, and the number of epochs and
    the subsampling of frequent words are searched too, which the loss cannot judge: over other words it is another
    loss, and models of fewer epochs can have a lower one and far worse vectors. The study stays in the folder
    ``output``.search, and goes on if it is there.
    """
    check_output(output, overwrite)
    base = config.replace(**settings) if config else make_config(model, preset, **settings)
    tests = TestFiles(as_paths(questions))
    space = [each for each in _autotune_space(base, bool(tests.questions)) if each.name not in settings]
    if not space:
        raise ConfigError("every setting that autotune searches for is given; leave one out, such as window")
    dimensions = tuple(space)
    goals = _objectives(["accuracy" if tests.questions else "validation_loss"], tests, dimensions)
    display = display or Silent()
    require_extra("optuna", "search")
    folder = Path(output).absolute()
    folder = folder.with_name(f"{folder.name}.search")
    with open_source(corpus, base) as opened:
        run = Search(opened, base, dimensions, goals, display, prune=True)
        with storing(folder, None):
            try:
                run.open(folder, tests)
            except OtherStudyError:
                if not overwrite:
                    raise
                run.open(folder, tests, overwrite=True)
            best = run.run(None, seconds, keep_best=False)
        display.note(f"training the best of {len(best.ranked())} trials: {described(best.best_trial.settings)}")
        created, encoded, before = prepare(opened, best.best_config, display)
        return train_prepared(created, encoded, before, [display], opened.paths, output, overwrite)


def _objectives(
    wanted: Iterable[str | Callable[[Model], float]], tests: TestFiles, dimensions: tuple[Dimension, ...]
) -> tuple[Objective, ...]:
    chosen = list(wanted) or (["accuracy"] if tests.questions else ["similarity"] if tests.pairs else [])
    if not chosen:
        raise ConfigError(
            "a search needs something to look for: --questions FILE for the accuracy of analogies, --pairs FILE for "
            "similarity, or --objective validation_loss"
        )
    return make_objectives(chosen, tests, [dimension.name for dimension in dimensions])


def _autotune_space(base: Config, analogies: bool) -> tuple[Dimension, ...]:
    space = [
        "window=1..30",
        *[str(each) for each in paper_space(base) if each.name == "positional_dim"],
        "initial_lr=0.01..0.2:log",
        *(["epochs=1..20:log", "sample=1e-6..1e-3:log"] if analogies else []),
    ]
    return parse_space(space)
