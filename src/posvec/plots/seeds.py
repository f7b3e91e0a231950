"""Figures of what is measured again and again: curves with intervals over seeds, densities of what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from posvec.plots.style import band, colour, legend, line, new_axes, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def curves(series: Mapping[str, Mapping[int, Sequence[float]]], x: str, y: str) -> Figure:
    """A line for each name: at each x a value and the ends of its interval, which is shown as a band."""
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
    """Histograms, a panel for each initializer: ``values`` and, by name, how dense they are there."""
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
        # Of a value that all draws have, as with d = 1, the foot is enough: else nothing else would be seen.
        *_, second, highest = sorted(map(max, named.values()))
        axes.set_ylim(0, 1.1 * min(highest, 5 * second))
        axes.set_title(title.replace("_", " "), loc="left")
        axes.locator_params(nbins=4)
    figure.legend(handles=lines, loc="outside upper center", ncols=3, handlelength=1.5)
    figure.supylabel("density", fontsize=8)
    return figure
