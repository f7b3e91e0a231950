"""Figures of the positional vectors: importance of positions, clusters of features, context words, contributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from posvec.plots.style import COLOURS, INK, band, colour, label_text, legend, line, new_axes, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from posvec.evaluation.clusters import Clusters
    from posvec.evaluation.context_words import ContextWords
    from posvec.evaluation.masked import Explanation
    from posvec.evaluation.positions import PositionImportance


def positions(result: PositionImportance) -> Figure:
    """Plot the importance of positions, a curve for each model.

    Parameters
    ----------
    result
        The result of :func:`posvec.evaluation.positions.importance`.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation.positions import importance
    >>> figure = plots.positions(importance(posvec.load("model")))
    >>> plots.save(figure, "positions.svg")
    """
    return position_curves(
        {name: {position: (value,) * 3 for position, value in each.items()} for name, each in result.models.items()}
    )


@styled
def position_curves(series: Mapping[str, Mapping[int, Sequence[float]]]) -> Figure:
    """Plot the importance of positions with intervals.

    Parameters
    ----------
    series
        By the name of each curve and by position: the value, and the lower and upper end of its interval.

    Examples
    --------
    >>> from posvec import plots
    >>> figure = plots.position_curves({"model": {-1: (0.9, 0.8, 1.0), 1: (0.7, 0.6, 0.8)}})
    """
    figure, axes = new_axes(2.1)
    for number, (name, points) in enumerate(series.items()):
        values, lows, highs = zip(*points.values(), strict=True)
        _curve(axes, list(points), values, name, number)
        for side in (slice(len(points) // 2), slice(len(points) // 2, None)):
            band(axes, list(points)[side], lows[side], highs[side], number)
    _position_axis(axes, sorted({position for points in series.values() for position in points}))
    axes.set_ylabel("importance (scaled norm)")
    axes.set_ylim(-0.04, 1.04)
    legend(figure, list(series))
    return figure


@styled
def clusters(result: Clusters) -> Figure:
    """Plot the mean |d| of each cluster of positional features by position.

    Parameters
    ----------
    result
        The clusters that :func:`posvec.evaluation.clusters.find` returns; their sizes are shown in the legend.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation.clusters import find
    >>> figure = plots.clusters(find(posvec.load("model")))
    """
    figure, axes = new_axes(2.1)
    for number, cluster in enumerate(result):
        _curve(axes, result.positions, cluster.curve, f"{cluster.name} ({len(cluster.features)})", number)
    _position_axis(axes, result.positions)
    axes.set_ylabel("mean |d|")
    axes.set_ylim(bottom=0)
    legend(figure, result.names)
    return figure


@styled
def heat_map(result: Clusters) -> Figure:
    """Plot |d| of every position and feature, ordered by cluster and by the greatest weight of the feature.

    Parameters
    ----------
    result
        The clusters that :func:`posvec.evaluation.clusters.find` returns.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation.clusters import find
    >>> figure = plots.heat_map(find(posvec.load("model")))
    """
    figure, axes = new_axes(2.4)
    peaks = result.weights.max(0)
    order = [feature for each in result for feature in sorted(each.features, key=lambda j: -peaks[j])]
    # If the scale included the few greatest weights, all others would look black.
    limit = float(np.quantile(result.weights, 0.995)) or 1.0
    image = axes.imshow(
        result.weights[:, order], aspect="auto", interpolation="nearest", cmap="cividis", vmin=0, vmax=limit
    )
    rows = [each for each in _labelled(result.positions) if abs(each) > 1]  # the labels -1, gap and +1 would overlap
    gap = len(result.positions) / 2 - 0.5
    axes.set_yticks([*map(result.positions.index, rows), gap], [*map(_signed, rows), "gap"])
    axes.axhline(gap, color="white", linewidth=0.6, linestyle=":")
    axes.set_ylabel("position p")
    axes.set_xticks([])
    edges = np.cumsum([0, *(len(each.features) for each in result)])
    for edge in edges[1:-1]:
        axes.axvline(edge - 0.5, color="white", linewidth=1)
    for number, (each, begin, end) in enumerate(zip(result, edges[:-1], edges[1:], strict=True)):
        # A bar in the colour of the cluster's curve, named in the legend: names do not fit above it
        axes.plot(
            [begin - 0.5, end - 0.5], [1.03, 1.03], color=colour(number), linewidth=3, solid_capstyle="butt",
            transform=axes.get_xaxis_transform(), clip_on=False, label=f"{each.name} ({len(each.features)})",
        )  # fmt: skip
    axes.set_xlim(-0.5, len(order) - 0.5)
    legend(figure, result.names)
    axes.set_xlabel("positional features j")
    bar = figure.colorbar(image, ax=axes, extend="max", pad=0.02, aspect=30)
    bar.set_label("|d|")
    return figure


@styled
def context_words(result: ContextWords) -> Figure:
    """Plot the importance of the most important context words of each class.

    Parameters
    ----------
    result
        The result of :func:`posvec.evaluation.context_words.top`.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation.context_words import top
    >>> figure = plots.context_words(top(posvec.load("model")))
    """
    shown = {name: words for name, words in result.top.items() if words}
    heights = [len(words) for words in shown.values()]
    figure = new_figure(0.4 + 0.14 * sum(heights) + 0.25 * len(heights))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, words) in zip(panels, shown.items(), strict=True):
        number = list(result.top).index(name)
        axes.barh(range(len(words)), [each.importance[name] for each in words], 0.7, color=colour(number))
        axes.set_yticks(range(len(words)), [label_text(each.word) for each in words])
        axes.set_ylim(len(words) - 0.4, -0.6)
        axes.tick_params("y", length=0)
        axes.set_title(name, loc="left")
    panels[-1].set_xlabel("importance (mean |u| over the cluster)")
    return figure


@styled
def contributions(result: Explanation) -> Figure:
    """Plot the prior of the masked word and what each context word adds to its log-probability, or to its score.

    Parameters
    ----------
    result
        The explanation that :func:`posvec.evaluation.masked.explain` returns.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation.masked import explain
    >>> figure = plots.contributions(explain(posvec.load("model"), "the cat [MASK] the dog", "sees"))
    """
    names = [f"{label_text(each.word)} ({_signed(each.position)})" for each in result.contributions]
    values = [each.value for each in result.contributions]
    if result.prior is not None:
        names, values = ["prior", *names], [result.prior, *values]
    figure, axes = new_axes(0.75 + 0.16 * len(values))
    axes.barh(range(len(values)), values, 0.7, color=[COLOURS[0] if value >= 0 else COLOURS[1] for value in values])
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.set_yticks(range(len(values)), names)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.tick_params("y", length=0)
    name, explained = ("score", "score") if result.prior is None else ("log P", "log-probability")
    total = f"{result.total:.2f}".replace("-", "−")
    word = label_text(result.masked_word)
    axes.set_title(f"{word}: {name} {total}, probability {result.probability:.3f}", loc="left")
    axes.set_xlabel(f"contribution to the {explained}")
    return figure


def _curve(axes: Axes, positions: Sequence[int], values: Sequence[float], name: str, number: int) -> None:
    """Plot a line over positions with a gap at the masked word."""
    middle = len(positions) // 2
    gap = [*positions[:middle], 0, *positions[middle:]]
    line(axes, gap, [*values[:middle], np.nan, *values[middle:]], name, number)


def _position_axis(axes: Axes, positions: Sequence[int]) -> None:
    ticks = _labelled(positions)
    axes.set_xticks(ticks, [_signed(each) for each in ticks])
    axes.axvline(0, color=INK, linewidth=0.6, linestyle=":")
    axes.set_xlabel("position p")


def _labelled(positions: Sequence[int]) -> list[int]:
    """Return the positions with a label: all of a small window; of a large one the nearest and every fifth or so."""
    window = max(positions)
    if window <= 5:
        return list(positions)
    step = 5 * -(-window // 25)
    return [each for each in positions if abs(each) == 1 or each % step == 0]


def _signed(number: int) -> str:
    return f"{number:+d}".replace("-", "−")
