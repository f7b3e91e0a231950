"""posvec report: all about a model on one self-contained page of HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from posvec import __version__, plots
from posvec.config import SETTINGS
from posvec.corpus.sources import Source
from posvec.evaluation import clusters, context_words, examples, masked, positions
from posvec.evaluation.results import Result, Table, html_table
from posvec.model import Model
from posvec.system.atomic import replacing
from posvec.system.console import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def make_page(
    model: Model,
    name: str = "model",
    measures: Mapping[str, Result] | None = None,
    sentences: Sequence[str] = (),
    corpus: Source | None = None,
) -> str:
    """The page, which asks nothing of the network.

    ``measures`` are further results by the titles of their sections, such as {"Analogies": ...}; ``sentences`` with a
    [MASK] get their predictions; ``corpus`` is where example sentences come from.
    """
    sections = [_settings(model), *_training(model)]
    sections += [Section(title, "", tables=result.tables()) for title, result in (measures or {}).items()]
    if sentences:
        predictions = masked.predict(model, sentences)
        sections.append(Section("Masked words", "The best words for each gap.", tables=predictions.tables()))
    if model.config.model.positional_dim:
        sections += _positional(model, name, corpus)
    else:
        kind = model.config.kind
        sections.append(Section("Positions", f"A {kind} model weighs no position: it has no positional vectors."))
    return layout(name, repr(model).strip("<>"), sections)


def layout(title: str, lead: str, sections: Sequence[Section]) -> str:
    """A page of sections, which asks nothing of the network."""
    contents = "".join(f'<a href="#{each.anchor}">{html.escape(each.title)}</a> ' for each in sections)
    body = "\n".join(each.html for each in sections)
    title = html.escape(title)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title} · posvec</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"<p>{html.escape(lead)}</p>\n<nav>{contents}</nav>\n{body}\n"
        f"<footer>Made by posvec {__version__}.</footer>\n</main>\n</body>\n</html>\n"
    )


def write_page(page: str, path: str | Path) -> None:
    """Write a page in one step."""
    with replacing(path) as file:
        file.write(page.encode())


@dataclass(frozen=True)
class Section:
    """A heading and what is under it."""

    title: str
    text: str
    figures: Sequence[tuple[str, Figure]] = ()
    """Each with what it shows, for those who do not see it."""
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    """Shown on request."""
    points: Sequence[str] = ()
    """A list, before figures and tables."""

    @property
    def anchor(self) -> str:
        return re.sub(r"\W+", "-", self.title.lower())

    @cached_property
    def html(self) -> str:
        parts = [f'<section id="{self.anchor}">', f"<h2>{html.escape(self.title)}</h2>"]
        parts += [f"<p>{html.escape(self.text)}</p>"] if self.text else []
        if self.points:
            parts.append("<ul>" + "".join(f"<li>{html.escape(each)}</li>" for each in self.points) + "</ul>")
        parts += [
            f'<figure role="img" aria-label="{html.escape(shows)}">{plots.inline_svg(figure)}</figure>'
            for shows, figure in self.figures
        ]
        parts += [_scrolled(table) for table in self.tables]
        parts += [
            f"<details><summary>{html.escape(table.title)}</summary>{_scrolled(table)}</details>"
            for table in self.folded
        ]
        return "\n".join([*parts, "</section>"])


def _settings(model: Model) -> Section:
    values = [(each, getattr(getattr(model.config, each.group), each.name)) for each in SETTINGS.values()]
    changed = [(each.name, str(value)) for each, value in values if value != each.default]
    every = [(each.name, str(value), each.help) for each, value in values]
    return Section(
        "Settings",
        "Settings that differ from the defaults." if changed else "All settings are the defaults.",
        tables=[Table("", ("setting", "value"), changed)] if changed else [],
        folded=[Table("All settings", ("setting", "value", "meaning"), every)],
    )


def _training(model: Model) -> Iterator[Section]:
    report = model.report
    if report is None:
        text = "Training was interrupted." if model.state else "The model has no training report."
        yield Section("Training", text)
        return
    losses = f"loss {report.loss:.4f} per masked word" + (
        "" if report.validation_loss is None else f", {report.validation_loss:.4f} on lines held out"
    )
    text = (
        f"{plural(len(report.epochs), 'epoch')} over {report.tokens:,} words in {report.lines:,} lines took "
        f"{report.seconds:,.1f} s on {plural(report.threads, 'thread')} ({report.words_per_second:,.0f} words/s): "
        f"{losses}."
    )
    table = Table(
        "Epochs",
        ("epoch", "loss", "validation loss", "seconds"),
        [(i, each.loss, each.validation_loss, each.seconds) for i, each in enumerate(report.epochs, 1)],
    )
    curve = [("Loss of each epoch", plots.training(report))] if len(report.epochs) > 1 else []
    yield Section("Training", text, curve, folded=[table])


def _positional(model: Model, name: str, corpus: Source | None) -> Iterator[Section]:
    importance = positions.importance({name: model})
    yield Section(
        "Positions",
        "How long the positional vector of each position is, scaled from 0 to 1: how much a word there can matter.",
        [("Importance of positions", plots.positions(importance))],
        folded=importance.tables(),
    )
    found = clusters.find(model)
    sizes, *more = found.tables()
    yield Section(
        "Clusters",
        "Positional features that weigh the same side of the masked word: mean |d| of each cluster at each position, "
        "and |d| of every feature.",
        [("Clusters of positional features", plots.clusters(found)), ("Heat map of |d|", plots.heat_map(found))],
        [sizes],
        more,
    )
    words = context_words.top(model, found)
    yield Section(
        "Context words",
        "The words that each cluster makes most important, by the mean |u| of its features.",
        [("Top context words of each class", plots.context_words(words))],
        folded=words.tables(),
    )
    pairs = examples.find(model, found, corpus)
    yield Section(
        "Examples",
        "Pairs of sentences that differ in the place of one context word, and the probability of the masked word in "
        "each: by the features of the cluster alone, and by the whole model.",
        tables=pairs.tables(),
    )


def _scrolled(table: Table) -> str:
    return f'<div class="scrolled">{html_table(table)}</div>'


_STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1a1a1b; --faint: #6b6b70; --line: #dcdce0; --link: #0060a0; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16171a; --ink: #e6e6e8; --faint: #a0a0a8; --line: #3a3b40; --link: #7cc4ff; }
}
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1, h2 { line-height: 1.2; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
nav a { color: var(--link); margin-right: .6rem; white-space: nowrap; }
summary { cursor: pointer; color: var(--link); }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; }
.scrolled { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .5rem 0 1rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 500; }
footer { margin-top: 3rem; color: var(--faint); font-size: .9rem; }
""".replace("\n", " ")
