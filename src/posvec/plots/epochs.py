"""Figures of training by epoch: the losses of a model, and the perplexities of language models."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from posvec.plots.style import band, legend, line, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from posvec.language_model import PerplexityComparison
    from posvec.storage.records import TrainingReport


@styled
def training(report: TrainingReport) -> Figure:
    """Plot the training loss and, if there is one, the validation loss of each epoch.

    Examples
    --------
    >>> import posvec
    >>> from posvec import plots
    >>> figure = plots.training(posvec.load("model").report)
    >>> figure.axes[0].get_ylabel()
    'loss per masked word'
    """
    figure, axes = new_axes(1.8)
    epochs = list(range(1, len(report.epochs) + 1))
    line(axes, epochs, [each.loss for each in report.epochs], "training", 0)
    validation = [each.validation_loss for each in report.epochs if each.validation_loss is not None]
    if validation:
        line(axes, epochs[-len(validation) :], validation, "validation", 1)
    _epoch_axis(axes, len(epochs))
    axes.set_ylabel("loss per masked word")
    axes.legend()
    return figure


@styled
def perplexities(result: PerplexityComparison) -> Figure:
    """Plot the validation perplexity of language models by epoch.

    Parameters
    ----------
    result
        The comparison that :func:`posvec.language_model.compare` returns. Each name gets a line, the mean of its
        runs, and a band from the lowest to the highest of them.

    Examples
    --------
    >>> from posvec import language_model, plots
    >>> result = language_model.compare(["run", "other-run"])  # doctest: +SKIP
    >>> figure = plots.perplexities(result)  # doctest: +SKIP
    """
    figure, axes = new_axes(2.4)
    curves = result.validation()
    for number, (name, by_epoch) in enumerate(curves.items()):
        epochs = list(range(1, len(by_epoch) + 1))
        line(axes, epochs, [statistics.fmean(values) for values in by_epoch], name, number)
        band(axes, epochs, [min(values) for values in by_epoch], [max(values) for values in by_epoch], number)
    _epoch_axis(axes, max(map(len, curves.values())))
    axes.set_ylabel("validation perplexity")
    legend(figure, list(curves))
    return figure


def _epoch_axis(axes: Axes, epochs: int) -> None:
    axes.set_xticks(range(1, epochs + 1, -(-epochs // 10)))
    axes.set_xlabel("epoch")
