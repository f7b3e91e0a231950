"""Train position-aware word embeddings on the documentation of Python and NumPy, and show what the model learned."""

from __future__ import annotations

from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

import posvec
from posvec.training.display import make_display

SECONDS = 30
WORDS = ["list", "function", "returns", "file", "integer", "error"]
SENTENCES = [
    "return the number of [MASK] in the list",
    "raises [MASK] if the file does not exist",
    "the default [MASK] is none",
]


def main() -> None:
    console = Console()
    console.rule("posvec: position-aware word embeddings of the Python documentation")
    console.print(f"Reading the documentation and training take at most {SECONDS} seconds together.", highlight=False)
    with make_display(console) as display:
        model = posvec.train("python-docs", time=SECONDS, display=display)
    show_report(console, model)
    show_neighbors(console, model)
    show_predictions(console, model)
    show_positions(console, model)


def show_report(console: Console, model: posvec.Model) -> None:
    report = model.report
    assert report is not None
    epochs = model.config.training.total_epochs
    console.print(
        f"{model!r}\n{report.tokens:,} words, {epochs:.3g} epochs in {report.seconds:.1f} s on "
        f"{report.threads} threads: {report.words_per_second:,.0f} words/s, "
        f"loss {report.epochs[0].loss:.3f} → {report.loss:.3f}",
        highlight=False,
    )


def show_neighbors(console: Console, model: posvec.Model) -> None:
    console.rule("Nearest neighbours")
    columns = []
    for word in WORDS:
        table = Table(word, "", box=box.SIMPLE_HEAD)
        for neighbor in model.vectors.most_similar(word, topn=6):
            table.add_row(neighbor.word, f"{neighbor.similarity:.2f}")
        columns.append(table)
    console.print(Columns(columns))


def show_predictions(console: Console, model: posvec.Model) -> None:
    console.rule("Predictions of masked words")
    for sentence in SENTENCES:
        words = ", ".join(each.word for each in model.predict_masked(sentence, topn=4))
        console.print(f"  {sentence.replace('[MASK]', '____'):38} {words}", highlight=False)


def show_positions(console: Console, model: posvec.Model) -> None:
    console.rule("Importance of positions")
    for position, importance in model.position_importance().items():
        console.print(f"  {position:+3d} {'█' * round(40 * importance)} {importance:.2f}", highlight=False)


if __name__ == "__main__":
    main()
