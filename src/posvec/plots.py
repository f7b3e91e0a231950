"""Figures: one function for each, result in, Figure out; :func:`save` writes PNG, SVG or PDF.

Made for a paper's column (3.4 inches): no letter under 7 points, colours that colour-blind readers tell apart (Okabe
and Ito 2008), and marks that differ where colours are lost.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import numpy as np

from posvec.atomic import replacing
from posvec.errors import ConfigError
from posvec.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from posvec.evaluation.clusters import Clusters
    from posvec.evaluation.context_words import ContextWords
    from posvec.evaluation.masked import Explanation
    from posvec.evaluation.positions import PositionImportance
    from posvec.reports import TrainingReport
    from posvec.search_results import SearchResult

FORMATS = (".png", ".svg", ".pdf")

_WIDTH = 3.4  # inches
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKS = ("o", "s", "^", "D", "v", "P")
# The colour of everything that is not data; a page replaces it by that of its own text.
_INK = "#1a1a1b"
_STYLE = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
    "svg.hashsalt": "posvec",  # the same figure gives the same bytes
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
}
_P = ParamSpec("_P")


def _styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Draws in posvec's style and leaves the user's settings of matplotlib as they were."""

    @functools.wraps(draw)
    def styled(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with _style():
            return draw(*args, **kwargs)

    return styled


@_styled
def positions(result: PositionImportance) -> Figure:
    """Importance of positions, a curve for each model."""
    figure, axes = _figure(2.1)
    for number, (name, importance) in enumerate(result.models.items()):
        _curve(axes, list(importance), list(importance.values()), name, number)
    _position_axis(axes, result.positions)
    axes.set_ylabel("importance (scaled norm)")
    axes.set_ylim(-0.04, 1.04)
    _legend(figure, list(result.models))
    return figure


@_styled
def clusters(result: Clusters) -> Figure:
    """Importance of positions according to each cluster, with the cluster's size."""
    figure, axes = _figure(2.1)
    for number, cluster in enumerate(result):
        _curve(axes, result.positions, cluster.curve, f"{cluster.name} ({len(cluster.features)})", number)
    _position_axis(axes, result.positions)
    axes.set_ylabel("mean |d|")
    axes.set_ylim(bottom=0)
    _legend(figure, result.names)
    return figure


@_styled
def heat_map(result: Clusters) -> Figure:
    """|d_p,j| of every position and feature, features ordered by cluster and, within it, by their greatest weight."""
    figure, axes = _figure(2.4)
    peaks = result.weights.max(0)
    order = [feature for each in result for feature in sorted(each.features, key=lambda j: -peaks[j])]
    # The few greatest weights would leave all others in the dark.
    limit = float(np.quantile(result.weights, 0.995)) or 1.0
    image = axes.imshow(
        result.weights[:, order], aspect="auto", interpolation="nearest", cmap="cividis", vmin=0, vmax=limit
    )
    rows = [each for each in _labelled(result.positions) if abs(each) > 1]  # those nearest to the gap would overlap
    gap = len(result.positions) / 2 - 0.5
    axes.set_yticks([*map(result.positions.index, rows), gap], [*map(_signed, rows), "gap"])
    axes.axhline(gap, color="white", linewidth=0.6, linestyle=":")
    axes.set_ylabel("position p")
    axes.set_xticks([])
    edges = np.cumsum([0, *(len(each.features) for each in result)])
    for edge in edges[1:-1]:
        axes.axvline(edge - 0.5, color="white", linewidth=1)
    for number, (each, begin, end) in enumerate(zip(result, edges[:-1], edges[1:], strict=True)):
        # a bar in the colour of the cluster's curve, named in the legend: names do not fit above narrow clusters
        axes.plot(
            [begin - 0.5, end - 0.5], [1.03, 1.03], color=_colour(number), linewidth=3, solid_capstyle="butt",
            transform=axes.get_xaxis_transform(), clip_on=False, label=f"{each.name} ({len(each.features)})",
        )  # fmt: skip
    axes.set_xlim(-0.5, len(order) - 0.5)
    _legend(figure, result.names)
    axes.set_xlabel("positional features j")
    bar = figure.colorbar(image, ax=axes, extend="max", pad=0.02, aspect=30)
    bar.set_label("|d|")
    return figure


@_styled
def context_words(result: ContextWords) -> Figure:
    """The most important context words of each class."""
    shown = {name: words for name, words in result.top.items() if words}
    heights = [len(words) for words in shown.values()]
    figure = _new_figure(0.4 + 0.14 * sum(heights) + 0.25 * len(heights))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, words) in zip(panels, shown.items(), strict=True):
        number = list(result.top).index(name)
        axes.barh(range(len(words)), [each.importance[name] for each in words], 0.7, color=_colour(number))
        axes.set_yticks(range(len(words)), [each.word for each in words])
        axes.set_ylim(len(words) - 0.4, -0.6)
        axes.tick_params("y", length=0)
        axes.set_title(name, loc="left")
    panels[-1].set_xlabel("importance (mean |u| over the cluster)")
    return figure


@_styled
def contributions(result: Explanation) -> Figure:
    """What each context word contributes to the score of the masked word."""
    parts = result.contributions
    figure, axes = _figure(0.75 + 0.16 * len(parts))
    values = [each.value for each in parts]
    axes.barh(range(len(parts)), values, 0.7, color=[_COLOURS[0] if value >= 0 else _COLOURS[1] for value in values])
    axes.axvline(0, color=_INK, linewidth=0.6)
    axes.set_yticks(range(len(parts)), [f"{each.word} ({_signed(each.position)})" for each in parts])
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.tick_params("y", length=0)
    score = f"{result.score:.2f}".replace("-", "−")
    axes.set_title(f"{result.masked_word}: score {score}, probability {result.probability:.3f}", loc="left")
    axes.set_xlabel("contribution to the score")
    return figure


@_styled
def training(report: TrainingReport) -> Figure:
    """Loss of each epoch."""
    figure, axes = _figure(1.8)
    epochs = list(range(1, len(report.epochs) + 1))
    _line(axes, epochs, [each.loss for each in report.epochs], "training", 0)
    validation = [each.validation_loss for each in report.epochs if each.validation_loss is not None]
    if validation:
        _line(axes, epochs[-len(validation) :], validation, "validation", 1)
    axes.set_xticks(epochs[:: -(-len(epochs) // 10)])
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss per masked word")
    axes.legend()
    return figure


def study(result: SearchResult) -> dict[str, Figure]:
    """Everything that there is to see in a search, by the name of its file."""
    figures = {"history": history(result)}
    if result.importance:
        figures["importance"] = importance(result)
    for text in result.space:
        name = text.partition("=")[0]
        figures[f"{next(iter(result.objectives))}-{name}".replace(":", "-")] = effect(result, name)
    if len(result.objectives) > 1:
        figures["front"] = front(result)
    return figures


@_styled
def history(result: SearchResult) -> Figure:
    """The first objective of every trial, and the best so far."""
    name, direction = next(iter(result.objectives.items()))
    figure, axes = _figure(2.1)
    trials = [trial for trial in result.trials if trial.values]
    numbers, values = [trial.number for trial in trials], [trial.values[name] for trial in trials]
    best = np.maximum.accumulate(values) if direction == "maximize" else np.minimum.accumulate(values)
    axes.step(numbers, best, where="post", color=_colour(1), label="best so far")
    axes.plot(numbers, values, _MARKS[0], color=_colour(0), label="trial")
    pruned = [trial.number for trial in result.trials if trial.state == "pruned"]
    if pruned:  # at the edge: there is no value of theirs to show
        axes.plot(
            pruned, [0.01] * len(pruned), "x", color=_INK, transform=axes.get_xaxis_transform(), label="given up early"
        )  # fmt: skip
    axes.locator_params("x", integer=True)
    axes.set_xlabel("trial")
    axes.set_ylabel(_objective(name))
    figure.legend(loc="outside upper center", ncols=3, handlelength=1.5)
    return figure


@_styled
def importance(result: SearchResult) -> Figure:
    """How much each setting decides whether a trial is among the best."""
    names = list(result.importance)
    figure, axes = _figure(0.55 + 0.2 * len(names))
    axes.barh(range(len(names)), list(result.importance.values()), 0.7, color=_colour(0))
    axes.set_yticks(range(len(names)), [_setting(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params("y", length=0)
    axes.set_xlabel("importance (PED-ANOVA)")
    return figure


@_styled
def effect(result: SearchResult, setting: str) -> Figure:
    """The first objective against one setting, a mark for each trial, the best ones marked."""
    name = next(iter(result.objectives))
    figure, axes = _figure(2.1)
    trials = [trial for trial in result.trials if trial.values]
    values = [trial.settings[setting] for trial in trials]
    if any(value is None or isinstance(value, bool | str) for value in values):
        choices = sorted(map(str, set(values)))
        axes.set_xticks(range(len(choices)), choices, rotation=20 if len(choices) > 3 else 0)
        axes.set_xlim(-0.5, len(choices) - 0.5)
        places: list[float] = [choices.index(str(value)) for value in values]
    else:
        places = list(values)
        if any(text.startswith(f"{setting}=") and text.endswith(":log") for text in result.space):
            ticker = need("matplotlib.ticker", "plots")
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
            [places[i] for i in shown], [trials[i].values[name] for i in shown], _MARKS[is_best],
            color=_colour(is_best), markersize=5 if is_best else 3, label=best if is_best else "trial",
        )  # fmt: skip
    axes.set_xlabel(_setting(setting))
    axes.set_ylabel(_objective(name))
    figure.legend(loc="outside upper center", ncols=2, handlelength=1.5)
    return figure


@_styled
def front(result: SearchResult) -> Figure:
    """Two objectives against each other; those that no other trial beats in all are joined."""
    one, other = list(result.objectives)[:2]
    figure, axes = _figure(2.4)
    trials = [trial.values for trial in result.trials if trial.values]
    axes.plot(
        [each[other] for each in trials], [each[one] for each in trials], _MARKS[0], color=_colour(0), label="trial"
    )
    best = sorted((result.trials[number].values for number in result.best), key=lambda values: values[other])
    axes.plot(
        [each[other] for each in best], [each[one] for each in best], marker=_MARKS[1], markersize=5, color=_colour(1),
        label="Pareto front",
    )  # fmt: skip
    axes.set_xlabel(_objective(other))
    axes.set_ylabel(_objective(one))
    figure.legend(loc="outside upper center", ncols=2, handlelength=1.5)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write PNG, SVG or PDF, as the ending of the name says."""
    path = Path(path)
    check_format(path)
    with _style(), replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], metadata=_no_date(path.suffix))


def check_format(path: Path) -> None:
    """Raises unless the ending of the name is one that can be written."""
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} should end in .png, .svg or .pdf, so that it is clear what to draw")


def inline_svg(figure: Figure) -> str:
    """An <svg> element for a page: as wide as there is room, transparent, its letters in the colour of the page."""
    text = io.StringIO()
    with _style({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", transparent=True, metadata=_no_date(".svg"))
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", re.sub(r"\s*\n\s*", " ", svg), count=1)
    svg = re.sub(r"'[^;\"]*, sans-serif", "sans-serif", svg)  # not the fonts of this machine by name
    return svg.replace(_INK, "currentColor")


def _style(more: Mapping[str, object] | None = None) -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = need("matplotlib", "plots").rc_context({**_STYLE, **(more or {})})
    return context


def _new_figure(height: float) -> Figure:
    figure: Figure = need("matplotlib.figure", "plots").Figure((_WIDTH, height))
    return figure


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = _new_figure(height)
    return figure, figure.subplots()


def _legend(figure: Figure, names: Sequence[str]) -> None:
    """Above the axes, where no name is long enough to hide a curve; side by side if two of them fit there."""
    if len(names) > 1:
        figure.legend(loc="outside upper center", ncols=2 if max(map(len, names)) <= 20 else 1, handlelength=1.5)


def _curve(axes: Axes, positions: Sequence[int], values: Sequence[float], name: str, number: int) -> None:
    """A line over positions that stops at the masked word and goes on behind it."""
    middle = len(positions) // 2
    gap = [*positions[:middle], 0, *positions[middle:]]
    _line(axes, gap, [*values[:middle], np.nan, *values[middle:]], name, number)


def _line(axes: Axes, x: Sequence[float], y: Sequence[float], name: str, number: int) -> None:
    axes.plot(x, y, color=_colour(number), marker=_MARKS[number % len(_MARKS)], label=name)


def _position_axis(axes: Axes, positions: Sequence[int]) -> None:
    ticks = _labelled(positions)
    axes.set_xticks(ticks, [_signed(each) for each in ticks])
    axes.axvline(0, color=_INK, linewidth=0.6, linestyle=":")
    axes.set_xlabel("position p")


def _labelled(positions: Sequence[int]) -> list[int]:
    """Positions that are named on an axis: all of a small window; of a large one the nearest, every fifth, the last."""
    window = max(positions)
    if window <= 5:
        return list(positions)
    step = 5 * -(-window // 25)
    return [each for each in positions if abs(each) == 1 or each % step == 0]


def _objective(name: str) -> str:
    return {"seconds": "training time (s)", "similarity": "similarity (Spearman's ρ)"}.get(name, name.replace("_", " "))


def _setting(name: str) -> str:
    return {"window": "window size c", "positional_dim": "positional features D′"}.get(name, name)


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−")


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _no_date(suffix: str) -> dict[str, None]:
    return {{".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}[suffix]: None}
