"""The report of a reproduction, as Markdown with a folder of figures and as one page of HTML."""

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
from posvec.system.utf8 import encode_text

MARKDOWN, HTML, FIGURES = "report.md", "report.html", "figures"

_LEAD = (
    "A reproduction of the tables and figures of “When FastText Pays Attention: Efficient Estimation of Word "
    "Representations using Constrained Positional Weighting” (Novotný, Štefánik, Ayetiran, Sojka, Řehůřek; J.UCS "
    "28(2), 2022)."
)


@dataclass(frozen=True)
class ExperimentStatus:
    """How much of an experiment is measured, or why it is skipped."""

    done: int
    """The number of measured variants, over all seeds."""
    total: int
    skipped: str | None = None
    cpu_minutes: float = 0.0
    """The CPU time; a model that several experiments use counts for the first of them."""

    def __str__(self) -> str:
        if self.skipped:
            return f"skipped: {self.skipped}"
        return "complete" if self.done == self.total else f"{self.done} of {self.total} measured so far"


class ReportWriter:
    """Writes the report repeatedly; only sections with new measurements are rendered again."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        self.folder, self.findings = folder, findings
        self._rendered: dict[str, tuple[ExperimentStatus, PageSection, list[str]]] = {}

    def write(self, facts: Mapping[str, str], statuses: Sequence[tuple[Experiment, ExperimentStatus]]) -> None:
        """Write both files; ``facts`` describe the corpus, the scale, the command and the machine."""
        for experiment, status in statuses:
            self._render(experiment, status)
        general = _general_sections(facts, statuses, self.findings)
        rendered = [self._rendered[experiment.name] for experiment, _ in statuses]
        missing = sum(status.done < status.total or bool(status.skipped) for _, status in statuses)
        title = f"Reproduction of the paper: {self.folder.absolute().name}"
        lead = f"{_LEAD} {plural(missing, 'part is', 'parts are') if missing else 'No part is'} missing."
        write_page(render_page(title, lead, [*general, *(section for _, section, _ in rendered)]), self.folder / HTML)
        lines = [f"# {title}", "", lead, ""]
        lines += [line for section in general for line in _markdown(section, self.folder)]
        lines += [line for _, _, markdown in rendered for line in markdown]
        with replacing(self.folder / MARKDOWN) as file:
            file.write(encode_text("\n".join(lines)))

    def _render(self, experiment: Experiment, status: ExperimentStatus) -> None:
        before = self._rendered.get(experiment.name)
        if before is None or before[0] != status:
            section = _experiment_section(experiment, status, self.findings)
            self._rendered[experiment.name] = status, section, list(_markdown(section, self.folder))


def _general_sections(
    facts: Mapping[str, str], statuses: Sequence[tuple[Experiment, ExperimentStatus]], findings: Findings
) -> list[PageSection]:
    verdicts = [judge(claim, findings) for experiment, _ in statuses for claim in experiment.claims]
    judged = [each for each in verdicts if each.agrees is not None]
    against = [each for each in judged if not each.agrees]
    summary = f"Of {plural(len(judged), 'claim')} that could be compared, {len(judged) - len(against)} agree. {RULE}"
    progress = [
        (experiment.title, experiment.location, str(status), status.cpu_minutes) for experiment, status in statuses
    ]
    progress.append(("all", "", "", sum(status.cpu_minutes for _, status in statuses)))
    columns = ("experiment", "in the paper", "status", "CPU minutes")
    return [
        PageSection("Setup", "", tables=[Table("", ("what", ""), list(facts.items()))]),
        PageSection("Progress", "", tables=[Table("", columns, progress, ".1f")]),
        PageSection(
            "Disagreements with the paper",
            summary if judged else "Nothing could be compared yet.",
            points=[each.sentence() for each in against],
        ),
    ]


def _experiment_section(experiment: Experiment, status: ExperimentStatus, findings: Findings) -> PageSection:
    title, where = experiment.title, f"In the paper: {experiment.location}."
    if not status.done:
        return PageSection(title, f"{where} {f'Skipped: {status.skipped}' if status.skipped else 'Still missing'}.")
    presentation = experiment.present(findings, experiment.published)
    verdicts = [judge(claim, findings) for claim in experiment.claims]
    # Claims about the paper's own sentences and words do not apply to those of the user.
    rows = [(each.claim.text, each.claim.paper, each.measured, each.label) for each in verdicts if each.label]
    claims = [Table("Claims of the paper", ("claim", "paper", "reproduced", ""), rows)] if rows else []
    text = f"{where} {experiment.description}"
    if status.done < status.total:
        text += f" Still missing: {status.total - status.done} of {status.total}."
    tables = [*presentation.tables, *claims]
    return PageSection(title, text, presentation.figures, tables, presentation.folded)


def _markdown(section: PageSection, folder: Path) -> Iterator[str]:
    yield from (f"## {section.title}", "")
    if section.text:
        yield from (section.text, "")
    if section.points:
        yield from (*(f"- {point}" for point in section.points), "")
    for number, (description, figure) in enumerate(section.figures, 1):
        name = f"{section.anchor}-{number}.svg"
        (folder / FIGURES).mkdir(exist_ok=True)
        plots.save(figure, folder / FIGURES / name)
        yield from (f"![{description}]({FIGURES}/{name})", "")
    for table in section.tables:
        yield from _markdown_table(table)
    for table in section.folded:
        yield from (f"<details><summary>{table.title}</summary>", "", *_markdown_table(table, titled=False))
        yield from ("</details>", "")


def _markdown_table(table: Table, titled: bool = True) -> Iterator[str]:
    if table.title and titled:
        yield from (f"**{_escape(table.title)}**", "")
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns))
    yield from map(_row, table.formatted_rows())
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _escape(text: str) -> str:
    for character in "\\|*_<`":
        text = text.replace(character, f"\\{character}")
    return text
