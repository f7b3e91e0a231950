"""The report of a model as a page of HTML: settings, training, measures, positions, clusters and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from posvec import plots
from posvec.cli.printing import describe_setting, format_learning_rate
from posvec.config import SETTINGS, setting_values
from posvec.corpus.sources import Source
from posvec.evaluation import clusters, context_words, examples, masked, positions
from posvec.evaluation.results import Result, Table
from posvec.model import Model
from posvec.plots.page import PageSection, render_page
from posvec.presets import default_settings
from posvec.system.console import plural


def render_model_report(
    model: Model,
    name: str = "model",
    results: Mapping[str, Result] | None = None,
    sentences: Sequence[str] = (),
    corpus: Source | None = None,
) -> str:
    """Return the report of a model as a self-contained page of HTML.

    Parameters
    ----------
    model
        The model.
    name
        The title of the page.
    results
        Further results by the title of their section, for example ``{"Analogies": ...}``.
    sentences
        Sentences with a [MASK], for which the page shows predictions.
    corpus
        The text that example sentences are taken from; without it they are made of single words.
    """
    sections = [_settings(model), *_training(model)]
    sections += [PageSection(title, "", tables=result.tables()) for title, result in (results or {}).items()]
    if sentences:
        predictions = masked.predict(model, sentences)
        sections.append(
            PageSection("Masked words", "The most probable words for each [MASK].", tables=predictions.tables())
        )
    if model.config.model.positional_dim:
        sections += _positional(model, name, corpus)
    else:
        sections.append(PageSection("Positions", f"This {model.config.kind_in_text} has no positional vectors."))
    return render_page(name, repr(model).strip("<>"), sections)


def _settings(model: Model) -> PageSection:
    values, defaults = setting_values(model.config), default_settings(model.config)
    changed = [(name, describe_setting(model, name)) for name, value in values.items() if value != defaults[name]]
    every = [(name, describe_setting(model, name), SETTINGS[name].help) for name in values]
    kind = model.config.kind_in_text
    table = (
        f"The table shows the settings that differ from the defaults of a {kind}."
        if changed
        else f"All settings have the defaults of a {kind}."
    )
    return PageSection(
        "Settings",
        f"Learning rate {format_learning_rate(model.config)}. {table}",
        tables=[Table("", ("setting", "value"), changed)] if changed else [],
        folded=[Table("All settings", ("setting", "value", "meaning"), every)],
    )


def _training(model: Model) -> Iterator[PageSection]:
    report = model.report
    if report is None:
        text = "Training was interrupted." if model.state else "The model has no training report."
        yield PageSection("Training", text)
        return
    losses = f"loss {report.loss:.4f} per masked word" + (
        "" if report.validation_loss is None else f", {report.validation_loss:.4f} on the validation lines"
    )
    training = model.config.training
    is_whole = len(report.epochs) < training.epochs or training.last_epoch == 1
    epochs = plural(len(report.epochs), "epoch") if is_whole else f"{training.total_epochs:.3g} epochs"
    text = (
        f"{epochs} over {report.tokens:,} words in {report.lines:,} lines took "
        f"{report.seconds:,.1f} s on {plural(report.threads, 'thread')} ({report.words_per_second:,.0f} words/s): "
        f"{losses}."
    )
    table = Table(
        "Epochs",
        ("epoch", "loss", "validation loss", "seconds"),
        [(i, each.loss, each.validation_loss, each.seconds) for i, each in enumerate(report.epochs, 1)],
    )
    curve = [("Loss of each epoch", plots.training(report))] if len(report.epochs) > 1 else []
    yield PageSection("Training", text, curve, folded=[table])


def _positional(model: Model, name: str, corpus: Source | None) -> Iterator[PageSection]:
    importance = positions.importance({name: model})
    yield PageSection(
        "Positions",
        "The norm of the positional vector of each position, scaled to 0–1: how much a word at that position matters.",
        [("Importance of positions", plots.positions(importance))],
        folded=importance.tables(),
    )
    found = clusters.find(model)
    sizes, *more = found.tables()
    yield PageSection(
        "Clusters",
        "Positional features clustered by the side of the masked word that they give more weight to: mean |d| of each "
        "cluster at each position, and |d| of every feature.",
        [("Clusters of positional features", plots.clusters(found)), ("Heat map of |d|", plots.heat_map(found))],
        [sizes],
        more,
    )
    words = context_words.top(model, found)
    yield PageSection(
        "Context words",
        "The most important context words for each cluster, by the mean |u| of its features.",
        [("Top context words of each class", plots.context_words(words))],
        folded=words.tables(),
    )
    pairs = examples.find(model, found, corpus)
    yield PageSection(
        "Examples",
        "Pairs of sentences that differ in the position of one context word, and the probability of the masked word in "
        "each: by the features of the cluster alone, and by the whole model.",
        tables=pairs.tables(),
    )
