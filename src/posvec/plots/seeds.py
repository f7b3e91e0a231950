"""Figures of repeated measurements: curves with intervals over seeds, and densities of random values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from posvec.plots.style import band, colour, legend, line, new_axes, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def curves(series: Mapping[str, Mapping[int, Sequence[float]]], x: str, y: str) -> Figure:
    """Plot lines with intervals, which are shown as bands.

    Parameters
    ----------
    series
        By the name of each line and by x: the value, and the lower and upper end of its interval.
    x, y
        The labels of the axes.

    Examples
    --------
    >>> from posvec import plots
    >>> series = {"subword": {5: (65.3, 64.9, 65.7), 10: (63.3, 62.8, 63.8)}}
    >>> figure = plots.curves(series, "window size c", "accuracy (%)")
    """
    figure, axes = new_axes(2.1)
    for number, (name, points) in enumerate(series.items()):
        values, lows, highs = zip(*points.values(), strict=True)
        line(axes, list(points), values, name, number)
        band(axes, list(points), lows, highs, number)
    axes.locator_params("x", integer=True)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    legend(figure, list(series))
    return figure


@styled
def densities(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Plot densities, a panel for each initializer.

    Parameters
    ----------
    panels
        By the title of each panel: ``"values"``, which are the x of all its lines, and the densities of each line by
        its name.

    Examples
    --------
    >>> from posvec import plots
    >>> panels = {"uniform": {"values": [-1, 0, 1], "u": [0.2, 0.6, 0.2], "d": [0.1, 0.8, 0.1]}}
    >>> figure = plots.densities(panels)
    """
    rows = -(-len(panels) // 2)
    figure = new_figure(0.5 + 1.15 * rows)
    grid = figure.subplots(rows, 2, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    lines = []
    for axes, (title, panel) in zip(grid.flat, panels.items(), strict=False):
        named = {name: values for name, values in panel.items() if name != "values"}
        lines = [
            axes.plot(
                panel["values"], values, color=colour(number), linestyle=("-", "--", ":")[number % 3], label=name
            )[0]
            for number, (name, values) in enumerate(named.items())
        ]
        # If all draws have the same value, such as d = 1, its peak is cut off so that the other lines stay visible.
        *_, second, highest = sorted(map(max, named.values()))
        axes.set_ylim(0, 1.1 * min(highest, 5 * second))
        axes.set_title(title.replace("_", " "), loc="left")
        axes.locator_params(nbins=4)
    figure.legend(handles=lines, loc="outside upper center", ncols=3, handlelength=1.5)
    figure.supylabel("density", fontsize=8)
    return figure
