"""The style of all figures, and saving them.

Figures fit a column of a paper (3.4 inches): letters have at least 7 points, and lines differ in their marks and in
colours that colour-blind readers can distinguish (Okabe and Ito 2008).
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
from posvec.system.printable import printable
from posvec.system.utf8 import printable_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")

_WIDTH = 3.4  # inches
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")
# The colour of text and axes; inline_svg replaces it by the text colour of the page.
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
    "svg.hashsalt": "posvec",  # makes the files reproducible
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
_P = ParamSpec("_P")


def styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Decorate a function to draw in posvec's style, without changing the user's settings of matplotlib."""

    @functools.wraps(draw)
    def styled(*args: _P.args, **kwargs: _P.kwargs) -> Figure:
        with _style():
            figure = draw(*args, **kwargs)
        _escape_texts(figure)
        return figure

    return styled


def new_figure(height: float) -> Figure:
    """Return an empty figure of the height in inches."""
    figure: Figure = require_extra("matplotlib.figure", "plots").Figure((_WIDTH, height))
    return figure


def new_axes(height: float) -> tuple[Figure, Axes]:
    """Return a figure of the height in inches, and axes that fill it."""
    figure = new_figure(height)
    return figure, figure.subplots()


def legend(figure: Figure, names: Sequence[str]) -> None:
    """Add a legend above the axes, where it hides no curve, in two columns if the names are short enough."""
    if len(names) > 1:
        figure.legend(loc="outside upper center", ncols=2 if max(map(len, names)) <= 20 else 1, handlelength=1.5)


def label_text(text: str) -> str:
    """Return a word or a name as a label: XML forbids control characters, and matplotlib sets $x$ as a formula.

    Examples
    --------
    >>> from posvec.plots.style import label_text
    >>> label_text("a\x1b $x$")
    'a� \\\\$x\\\\$'
    """
    visible = re.sub("[\u2400-\u2421]", "\ufffd", printable(text))  # matplotlib's font has no pictures of controls
    return visible.replace("\t", " ").replace("$", r"\$")


def line(axes: Axes, x: Sequence[float], y: Sequence[float], name: str, number: int) -> None:
    """Plot a line; its number decides the colour and the marks."""
    axes.plot(x, y, color=colour(number), marker=MARKS[number % len(MARKS)], label=label_text(name))


def band(axes: Axes, x: Sequence[float], lows: Sequence[float], highs: Sequence[float], number: int) -> None:
    """Plot an interval around the line with the same number."""
    axes.fill_between(x, lows, highs, color=colour(number), alpha=0.2, linewidth=0)


def colour(number: int) -> str:
    """Return the colour of the line with this number."""
    return COLOURS[number % len(COLOURS)]


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF.

    Parameters
    ----------
    figure
        Any figure of matplotlib.
    path
        The file to write; its extension is the format.

    Raises
    ------
    ConfigError
        If the extension is another one.

    Examples
    --------
    >>> from posvec import plots
    >>> figure = plots.curves({"subword": {5: (1, 1, 1), 10: (2, 2, 2)}}, "x", "y")
    >>> plots.save(figure, "figure.pdf")
    """
    path = Path(path)
    check_format(path)
    with _style(), replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], metadata=_no_date(path.suffix))


def check_format(path: Path) -> None:
    """Raise a ConfigError unless the file extension is .png, .svg or .pdf.

    Examples
    --------
    >>> from pathlib import Path
    >>> from posvec import plots
    >>> plots.check_format(Path("figure.gif"))
    Traceback (most recent call last):
        ...
    posvec.errors.ConfigError: figure.gif has no known figure format; ...
    """
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} has no known figure format; use the file extension .png, .svg or .pdf")


def inline_svg(figure: Figure) -> str:
    """Return an ``<svg>`` element for an HTML page, as wide as its container and in the text colour of the page.

    Examples
    --------
    >>> from posvec import plots
    >>> figure = plots.curves({"subword": {5: (1, 1, 1), 10: (2, 2, 2)}}, "x", "y")
    >>> plots.inline_svg(figure)[:4]
    '<svg'
    """
    text = io.StringIO()
    with _style({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", transparent=True, metadata=_no_date(".svg"))
    svg = text.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", re.sub(r"\s*\n\s*", " ", svg), count=1)
    svg = re.sub(r"'[^;\"]*, sans-serif", "sans-serif", svg)  # instead of the fonts that matplotlib names
    return svg.replace(INK, "currentColor")


def _escape_texts(figure: Figure) -> None:
    """Make the names of models printable: fonts have no glyphs for bytes that are not UTF-8."""
    for text in figure.findobj(require_extra("matplotlib.text", "plots").Text):
        text.set_text(printable_text(text.get_text()))


def _style(more: Mapping[str, object] | None = None) -> AbstractContextManager[None]:
    context: AbstractContextManager[None] = require_extra("matplotlib", "plots").rc_context({**_STYLE, **(more or {})})
    return context


def _no_date(suffix: str) -> dict[str, None]:
    return {{".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}[suffix]: None}
