"""The calibration curve of masked words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posvec.plots.style import INK, line, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from posvec.evaluation.masked_words import MaskedWordAccuracy


@styled
def calibration(result: MaskedWordAccuracy) -> Figure:
    """Plot how often the most probable word is the masked one against its probability; on the diagonal they agree.

    Parameters
    ----------
    result
        The result of :func:`posvec.evaluation.masked_words.evaluate`.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> from posvec.evaluation import masked_words
    >>> figure = plots.calibration(masked_words.evaluate(posvec.load("model"), "corpus.txt", words=200))
    >>> figure.axes[0].get_ylabel()
    'how often it is the masked word'
    """
    figure, axes = new_axes(2.6)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.6, linestyle=":")
    line(
        axes,
        [each.confidence for each in result.calibration],
        [each.accuracy for each in result.calibration],
        "model",
        0,
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("probability of the most probable word")
    axes.set_ylabel("how often it is the masked word")
    axes.set_title(f"expected calibration error {result.calibration_error.value:.1%}", loc="left")
    return figure
