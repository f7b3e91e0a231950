"""Figures of training, epoch by epoch: of a model, and of language models on the vectors of several."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from posvec.plots.style import band, legend, line, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from posvec.language_model import Comparison
    from posvec.storage.records import TrainingReport


@styled
def training(report: TrainingReport) -> Figure:
    """Loss of each epoch."""
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
def perplexities(result: Comparison) -> Figure:
    """Validation perplexity of language models by epoch: a line for each name, a band over its runs."""
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
