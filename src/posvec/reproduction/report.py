"""The report of a reproduction: one list of sections, as Markdown with figures beside it, and as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec import plots
from posvec.evaluation.results import Table
from posvec.plots.page import PageSection, render_page, write_page
from posvec.reproduction.claims import RULE, judge
from posvec.reproduction.experiments import Experiment
from posvec.reproduction.findings import Findings
from posvec.system.atomic import replacing
from posvec.system.console import plural

MARKDOWN, HTML, FIGURES = "report.md", "report.html", "figures"


@dataclass(frozen=True)
class State:
    """How far an experiment is: variants measured of all, over all seeds; or why it is skipped."""

    done: int
    total: int
    skipped: str | None = None
    cpu_minutes: float = 0.0
    """Of all cores; a model that several experiments look at is trained by the first of them."""

    def __str__(self) -> str:
        if self.skipped:
            return f"skipped: {self.skipped}"
        return "complete" if self.done == self.total else f"{self.done} of {self.total} measured so far"


class Report:
    """Writes the report, as often as there is something new; sections of which nothing is new are not drawn again."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        self.folder, self.findings = folder, findings
        self._drawn: dict[str, tuple[State, PageSection, list[str]]] = {}

    def write(self, facts: Mapping[str, str], states: Sequence[tuple[Experiment, State]]) -> None:
        """Both files, each in one step; ``facts`` say what was run, on what, and how."""
        for experiment, state in states:
            self._draw(experiment, state)
        general = _general(facts, states, self.findings)
        drawn = [self._drawn[experiment.name] for experiment, _ in states]
        missing = sum(state.done < state.total or bool(state.skipped) for _, state in states)
        title = f"The paper, reproduced: {self.folder.absolute().name}"
        lead = f"{_LEAD} {plural(missing, 'part is', 'parts are') if missing else 'No part is'} missing."
        write_page(render_page(title, lead, [*general, *(section for _, section, _ in drawn)]), self.folder / HTML)
        lines = [f"# {title}", "", lead, ""]
        lines += [line for section in general for line in _markdown(section, self.folder)]
        lines += [line for _, _, markdown in drawn for line in markdown]
        with replacing(self.folder / MARKDOWN) as file:
            file.write("\n".join(lines).encode())

    def _draw(self, experiment: Experiment, state: State) -> None:
        before = self._drawn.get(experiment.name)
        if before is None or before[0] != state:
            section = _section(experiment, state, self.findings)
            self._drawn[experiment.name] = state, section, list(_markdown(section, self.folder))


_LEAD = (
    "The tables and figures of “When FastText Pays Attention: Efficient Estimation of Word Representations using "
    "Constrained Positional Weighting” (Novotný, Štefánik, Ayetiran, Sojka, Řehůřek; J.UCS 28(2), 2022), measured "
    "again."
)


def _general(
    facts: Mapping[str, str], states: Sequence[tuple[Experiment, State]], findings: Findings
) -> list[PageSection]:
    verdicts = [judge(claim, findings) for experiment, _ in states for claim in experiment.claims]
    judged = [each for each in verdicts if each.agrees is not None]
    against = [each for each in judged if not each.agrees]
    summary = f"Of {plural(len(judged), 'claim')} that could be compared, {len(judged) - len(against)} agree. {RULE}"
    progress = [(experiment.title, experiment.place, str(state), state.cpu_minutes) for experiment, state in states]
    progress.append(("all", "", "", sum(state.cpu_minutes for _, state in states)))
    return [
        PageSection("What was run", "", tables=[Table("", ("what", ""), list(facts.items()))]),
        PageSection(
            "Progress", "", tables=[Table("", ("experiment", "in the paper", "state", "CPU minutes"), progress, ".1f")]
        ),
        PageSection(
            "Where this disagrees with the paper",
            summary if judged else "Nothing could be compared yet.",
            points=[each.sentence() for each in against],
        ),
    ]


def _section(experiment: Experiment, state: State, findings: Findings) -> PageSection:
    title, where = experiment.title, f"In the paper: {experiment.place}."
    if not state.done:
        return PageSection(title, f"{where} {f'Skipped: {state.skipped}' if state.skipped else 'Still missing'}.")
    shown = experiment.show(findings, experiment.published)
    verdicts = [judge(claim, findings) for claim in experiment.claims]
    # Of the user's own sentences and words the paper says nothing.
    rows = [(each.claim.text, each.claim.paper, each.here, each.word) for each in verdicts if each.agrees is not None]
    claims = [Table("What the paper says", ("claim", "the paper", "here", ""), rows)] if rows else []
    unfinished = f" Still missing: {state.total - state.done} of {state.total}." if state.done < state.total else ""
    text = f"{where} {experiment.lead}{unfinished}"
    return PageSection(title, text, shown.figures, [*shown.tables, *claims], shown.folded)


def _markdown(section: PageSection, folder: Path) -> Iterator[str]:
    yield from (f"## {section.title}", "")
    if section.text:
        yield from (section.text, "")
    if section.points:
        yield from (*(f"- {point}" for point in section.points), "")
    for number, (shows, figure) in enumerate(section.figures, 1):
        name = f"{section.anchor}-{number}.svg"
        (folder / FIGURES).mkdir(exist_ok=True)
        plots.save(figure, folder / FIGURES / name)
        yield from (f"![{shows}]({FIGURES}/{name})", "")
    for table in section.tables:
        yield from _markdown_table(table)
    for table in section.folded:
        yield from (f"<details><summary>{table.title}</summary>", "", *_markdown_table(table, titled=False))
        yield from ("</details>", "")


def _markdown_table(table: Table, titled: bool = True) -> Iterator[str]:
    if table.title and titled:
        yield from (f"**{_escaped(table.title)}**", "")
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns))
    yield from map(_row, table.formatted_rows())
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    for character in "\\|*_<`":
        text = text.replace(character, f"\\{character}")
    return text
