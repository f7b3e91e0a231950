"""Figures of a hyperparameter search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posvec.plots.style import INK, MARKS, colour, new_axes, styled
from posvec.system.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from posvec.tuning.results import SearchResult


def study(result: SearchResult) -> dict[str, Figure]:
    """Plot everything about a search.

    Parameters
    ----------
    result
        The result of :func:`posvec.tuning.search` or :func:`posvec.tuning.load_study`.

    Returns
    -------
    dict
        The figures by name: ``history``, ``importance`` if there are enough trials, the effect of each setting on the
        first objective (such as ``accuracy-window``) and, with several objectives, ``front``.

    Examples
    --------
    >>> from posvec import plots, tuning
    >>> result = tuning.search(
    ...     "corpus.txt", output="study", space=["window=1..3"], objectives=["validation_loss"], trials=2,
    ...     dim=32, epochs=1, threads=1,
    ... )
    >>> list(plots.study(result))
    ['history', 'validation_loss-window']
    """
    figures = {"history": history(result)}
    if result.importance:
        figures["importance"] = setting_importance(result)
    for text in result.space:
        name = text.partition("=")[0]
        figures[f"{next(iter(result.objectives))}-{name}".replace(":", "-")] = effect(result, name)
    if len(result.objectives) > 1:
        figures["front"] = front(result)
    return figures


@styled
def history(result: SearchResult) -> Figure:
    """Plot the first objective of every trial, and the best value so far.

    Parameters
    ----------
    result
        The result of a search.

    Examples
    --------
    >>> from posvec import plots, tuning
    >>> settings = {"dim": 32, "epochs": 1, "threads": 1}
    >>> space = ["window=1..3"]
    >>> result = tuning.search(
    ...     "corpus.txt", output="history-study", space=space, objectives=["validation_loss"], trials=2, **settings
    ... )
    >>> figure = plots.history(result)
    """
    name, direction = next(iter(result.objectives.items()))
    figure, axes = new_axes(2.1)
    trials = [trial for trial in result.trials if trial.values]
    numbers, values = [trial.number for trial in trials], [trial.values[name] for trial in trials]
    best = np.maximum.accumulate(values) if direction == "maximize" else np.minimum.accumulate(values)
    axes.step(numbers, best, where="post", color=colour(1), label="best so far")
    axes.plot(numbers, values, MARKS[0], color=colour(0), label="trial")
    pruned = [trial.number for trial in result.trials if trial.state == "pruned"]
    if pruned:  # at the lower edge, because they have no final value
        axes.plot(
            pruned, [0.01] * len(pruned), "x", color=INK, transform=axes.get_xaxis_transform(), label="stopped early"
        )  # fmt: skip
    axes.locator_params("x", integer=True)
    axes.set_xlabel("trial")
    axes.set_ylabel(_objective(name))
    figure.legend(loc="outside upper center", ncols=3, handlelength=1.5)
    return figure


@styled
def setting_importance(result: SearchResult) -> Figure:
    """Plot how much each setting decides whether a trial is among the best quarter.

    Parameters
    ----------
    result
        The result of a search with at least 10 completed trials and two settings; fewer have no importance.

    Examples
    --------
    >>> from posvec import Config, plots, tuning
    >>> space, importance = ("window=1..5", "dim=100..300"), {"window": 0.9, "dim": 0.1}
    >>> result = tuning.SearchResult("corpus.txt", {"accuracy": "maximize"}, space, (), importance, (), Config())
    >>> plots.setting_importance(result).axes[0].get_xlabel()
    'importance (PED-ANOVA)'
    """
    names = list(result.importance)
    figure, axes = new_axes(0.55 + 0.2 * len(names))
    axes.barh(range(len(names)), list(result.importance.values()), 0.7, color=colour(0))
    axes.set_yticks(range(len(names)), [_setting(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params("y", length=0)
    axes.set_xlabel("importance (PED-ANOVA)")
    return figure


@styled
def effect(result: SearchResult, setting: str) -> Figure:
    """Plot the first objective of all trials against one setting; the best trials have another mark.

    Parameters
    ----------
    result
        The result of a search.
    setting
        The name of a setting of the search space.

    Examples
    --------
    >>> from posvec import plots, tuning
    >>> settings = {"dim": 32, "epochs": 1, "threads": 1}
    >>> space = ["window=1..3"]
    >>> result = tuning.search(
    ...     "corpus.txt", output="effect-study", space=space, objectives=["validation_loss"], trials=2, **settings
    ... )
    >>> figure = plots.effect(result, "window")
    """
    name = next(iter(result.objectives))
    figure, axes = new_axes(2.1)
    trials = [trial for trial in result.trials if trial.values]
    values = [trial.settings[setting] for trial in trials]
    if any(value is None or isinstance(value, bool | str) for value in values):
        choices = sorted(map(str, set(values)))
        axes.set_xticks(range(len(choices)), choices, rotation=20 if len(choices) > 3 else 0)
        axes.set_xlim(-0.5, len(choices) - 0.5)
        x: list[float] = [choices.index(str(value)) for value in values]
    else:
        x = list(values)
        if any(text.startswith(f"{setting}=") and text.endswith(":log") for text in result.space):
            ticker = require_extra("matplotlib.ticker", "plots")
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_locator(ticker.NullLocator())
        else:
            axes.locator_params("x", integer=all(isinstance(value, int) for value in values))
    best = "best" if len(result.objectives) == 1 else "Pareto front"
    for is_best in (False, True):
        shown = [i for i, trial in enumerate(trials) if (trial.number in result.best) == is_best]
        axes.plot(
            [x[i] for i in shown], [trials[i].values[name] for i in shown], MARKS[is_best],
            color=colour(is_best), markersize=5 if is_best else 3, label=best if is_best else "trial",
        )  # fmt: skip
    axes.set_xlabel(_setting(setting))
    axes.set_ylabel(_objective(name))
    figure.legend(loc="outside upper center", ncols=2, handlelength=1.5)
    return figure


@styled
def front(result: SearchResult) -> Figure:
    """Plot the first two objectives against each other; a line joins the trials on the Pareto front.

    Parameters
    ----------
    result
        The result of a search with several objectives.

    Examples
    --------
    >>> from posvec import plots, tuning
    >>> result = tuning.search(
    ...     "corpus.txt", output="front-study", space=["window=1..3"], objectives=["validation_loss", "seconds"],
    ...     trials=2, dim=32, epochs=1, threads=1,
    ... )
    >>> plots.front(result).axes[0].get_xlabel()
    'training time (s)'
    """
    one, other = list(result.objectives)[:2]
    figure, axes = new_axes(2.4)
    trials = [trial.values for trial in result.trials if trial.values]
    axes.plot(
        [each[other] for each in trials], [each[one] for each in trials], MARKS[0], color=colour(0), label="trial"
    )
    best = sorted((result.trials[number].values for number in result.best), key=lambda values: values[other])
    axes.plot(
        [each[other] for each in best], [each[one] for each in best], marker=MARKS[1], markersize=5, color=colour(1),
        label="Pareto front",
    )  # fmt: skip
    axes.set_xlabel(_objective(other))
    axes.set_ylabel(_objective(one))
    figure.legend(loc="outside upper center", ncols=2, handlelength=1.5)
    return figure


def _objective(name: str) -> str:
    return {"seconds": "training time (s)", "similarity": "similarity (Spearman's ρ)"}.get(name, name.replace("_", " "))


def _setting(name: str) -> str:
    return {"window": "window size c", "positional_dim": "positional features D′"}.get(name, name)
