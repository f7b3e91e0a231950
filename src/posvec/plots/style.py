"""The look of all figures, and the files they become.

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

from posvec.errors import ConfigError
from posvec.system.atomic import replacing
from posvec.system.extras import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")

_WIDTH = 3.4  # inches
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")
# The colour of everything that is not data; a page replaces it by that of its own text.
INK = "#1a1a1b"
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
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
_P = ParamSpec("_P")


def styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Draws in posvec's style and leaves the user's settings of matplotlib as they were."""

    @functools.wraps(draw)
    def styled(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with _style():
            return draw(*args, **kwargs)

    return styled


def new_figure(height: float) -> Figure:
    figure: Figure = require_extra("matplotlib.figure", "plots").Figure((_WIDTH, height))
    return figure


def new_axes(height: float) -> tuple[Figure, Axes]:
    figure = new_figure(height)
    return figure, figure.subplots()


def legend(figure: Figure, names: Sequence[str]) -> None:
    """Above the axes, where no name is long enough to hide a curve; side by side if two of them fit there."""
    if len(names) > 1:
        figure.legend(loc="outside upper center", ncols=2 if max(map(len, names)) <= 20 else 1, handlelength=1.5)


def line(axes: Axes, x: Sequence[float], y: Sequence[float], name: str, number: int) -> None:
    axes.plot(x, y, color=colour(number), marker=MARKS[number % len(MARKS)], label=name)


def band(axes: Axes, x: Sequence[float], lows: Sequence[float], highs: Sequence[float], number: int) -> None:
    """Around the line of the same number."""
    axes.fill_between(x, lows, highs, color=colour(number), alpha=0.2, linewidth=0)


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


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
    return svg.replace(INK, "currentColor")


def _style(more: Mapping[str, object] | None = None) -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = require_extra("matplotlib", "plots").rc_context({**_STYLE, **(more or {})})
    return context


def _no_date(suffix: str) -> dict[str, None]:
    return {{".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}[suffix]: None}
