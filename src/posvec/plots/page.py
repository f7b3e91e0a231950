"""Self-contained pages of HTML with figures and tables."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from posvec import __version__
from posvec.evaluation.results import Table, html_table
from posvec.plots.style import inline_svg
from posvec.system.atomic import replacing
from posvec.system.printable import printable
from posvec.system.utf8 import encode_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PageSection:
    """A section of a page: a heading, a paragraph, a list, figures and tables."""

    title: str
    text: str
    figures: Sequence[tuple[str, Figure]] = ()
    """Each with a description for screen readers."""
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    """Tables that are collapsed at first."""
    points: Sequence[str] = ()
    """The items of a list, which precedes figures and tables."""

    @property
    def anchor(self) -> str:
        """The name that links to this section use."""
        return re.sub(r"\W+", "-", self.title.lower())

    @cached_property
    def html(self) -> str:
        """The section as HTML."""
        parts = [f'<section id="{self.anchor}">', f"<h2>{html.escape(self.title)}</h2>"]
        parts += [f"<p>{html.escape(self.text)}</p>"] if self.text else []
        if self.points:
            parts.append("<ul>" + "".join(f"<li>{html.escape(each)}</li>" for each in self.points) + "</ul>")
        parts += [
            f'<figure role="img" aria-label="{html.escape(description)}">{inline_svg(figure)}</figure>'
            for description, figure in self.figures
        ]
        parts += [_scrollable(table) for table in self.tables]
        parts += [
            f"<details><summary>{html.escape(table.title)}</summary>{_scrollable(table)}</details>"
            for table in self.folded
        ]
        return "\n".join([*parts, "</section>"])


def render_page(title: str, lead: str, sections: Sequence[PageSection]) -> str:
    """Return a page of HTML that loads nothing from the network.

    Examples
    --------
    >>> from posvec.plots.page import PageSection, render_page
    >>> page = render_page("A page", "What it is about.", [PageSection("First section", "Some text.")])
    >>> "<h2>First section</h2>" in page
    True
    """
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
    """Write a page; the file is replaced only when it is complete."""
    with replacing(path) as file:
        file.write(encode_text(printable(page)))


def _scrollable(table: Table) -> str:
    return f'<div class="scrollable">{html_table(table)}</div>'


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
.scrollable { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .5rem 0 1rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 500; }
footer { margin-top: 3rem; color: var(--faint); font-size: .9rem; }
""".replace("\n", " ")
