"""How the speed of training depends on c, D′, D, the vocabulary, threads and the text: tables and plots.

    python benchmarks/growth.py TOKENIZED_TEXT [--repeats 3] [--every 50] [--axes NAME ...] [-o RESULT.md]

Each point is the best of several short runs: other programs slow down a run, here by up to half, and nothing speeds it
up. Runs of points that can train the same tables alternate. Plots are saved beside the result, which is written after
each axis.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from one_epoch import one_epoch
from posvec import Config, Model, Vocabulary, make_config
from posvec.config import TextConfig
from posvec.corpus.sources import open_corpus
from posvec.plots.style import legend, line, new_axes, save, styled
from reporting import RESULTS, made_by, table, write
from trainers import PosvecTrainer, Sample

THREADS = 2
SUBWORD_MODELS = ("subword", "constrained", "positional")


class Axis(NamedTuple):
    label: str
    note: str
    log: bool = False


AXES = {
    "window": Axis("window size c", "D = 300; D′ = 0 (subword), 60 and 300"),
    "positional_dim": Axis("positional features D′", "D = 300, c = 15"),
    "dim": Axis("features D", "c = 5 (subword) and 15 (constrained, D′ a fifth of D)"),
    "max_words": Axis("words of the vocabulary", "The most frequent words; others are ignored", log=True),
    "threads": Axis("threads", "c = 5 (general, whose tokens have one row, and subword) and 15"),
    "lines": Axis("million words of the text", "The vocabulary of every n-th line of the text", log=True),
}
WINDOWS = (1, 2, 5, 10, 15, 20, 30, 50)


class Point(NamedTuple):
    axis: str
    model: str
    value: float
    config: Config
    part: int = 1  # the vocabulary is counted from every part-th line

    @property
    def tables(self) -> tuple[object, ...]:
        """Points for which this is equal can train the same tables."""
        return self.config.subwords, self.config.model.dim, self.config.vocabulary.max_words, self.part


class Run(NamedTuple):
    axis: str
    model: str
    value: float
    speed: float  # words per second
    kept_per_line: float
    rows_per_token: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "growth.md")
    arguments = parser.parse_args()
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        sample = Sample(Path(folder), arguments.corpus, arguments.every)
        for name in arguments.axes:
            runs += measured(list(POINTS[name](arguments.every)), sample, arguments.repeats)
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            write(arguments.output, report(runs, arguments))


def window_points(_: int) -> Iterator[Point]:
    for window, kind in itertools.product(WINDOWS, SUBWORD_MODELS):
        yield Point("window", kind, window, make_config(kind, **one_epoch(kind), window=window, threads=THREADS))


def positional_points(_: int) -> Iterator[Point]:
    for features in (0, 30, 60, 120, 180, 240, 300):
        config = make_config("constrained", **one_epoch("constrained"), positional_dim=features, threads=THREADS)
        yield Point("positional_dim", "constrained", features, config)


def dim_points(_: int) -> Iterator[Point]:
    for dim, kind in itertools.product((50, 100, 200, 300, 500, 1000), ("subword", "constrained")):
        yield Point("dim", kind, dim, make_config(kind, **one_epoch(kind), dim=dim, threads=THREADS))


def vocabulary_points(_: int) -> Iterator[Point]:
    for words, kind in itertools.product((5000, 15_000, 50_000, 150_000), ("subword", "constrained")):
        yield Point("max_words", kind, words, make_config(kind, **one_epoch(kind), max_words=words, threads=THREADS))


def thread_points(_: int) -> Iterator[Point]:
    for kind, threads in itertools.product(("general", *SUBWORD_MODELS), (1, 2)):
        yield Point("threads", kind, threads, make_config(kind, **one_epoch(kind), threads=threads))


def text_points(every: int) -> Iterator[Point]:
    """Vocabularies of every 50th line, every 32nd, ... and of all lines; training uses the same lines as elsewhere."""
    parts = [part for part in (64, 32, 16, 8, 4, 2, 1) if part < every] if every > 1 else [1]
    for part, kind in itertools.product((every, *parts), ("subword", "constrained")):
        yield Point("lines", kind, 1 / part, make_config(kind, **one_epoch(kind), threads=THREADS), part)


POINTS = {
    "window": window_points,
    "positional_dim": positional_points,
    "dim": dim_points,
    "max_words": vocabulary_points,
    "threads": thread_points,
    "lines": text_points,
}


def measured(points: list[Point], sample: Sample, repeats: int) -> Iterator[Run]:
    for _, group in itertools.groupby(points, lambda point: point.tables):
        some = list(group)
        vocabulary = vocabulary_of(some[0], sample)
        base = Model.create(some[0].config, vocabulary)
        trainers = [PosvecTrainer(point.config, base, sample) for point in some]
        for _ in range(repeats):
            for point, trainer in zip(some, trainers, strict=True):
                trained = trainer.run()
                run = Run(
                    point.axis, point.model, value_of(point, vocabulary), sample.words / trained.seconds,
                    trained.kept_tokens / sample.lines, trainer.rows_per_token,
                )  # fmt: skip
                print(f"{run.axis} {run.model} {run.value:g}: {run.speed:,.0f} words/s", flush=True)
                yield run


def vocabulary_of(point: Point, sample: Sample) -> Vocabulary:
    if point.part == 1:
        vocabulary, config = sample.vocabulary, point.config.vocabulary
        words, counts = vocabulary.words[: config.max_words], vocabulary.counts[: config.max_words]
        return Vocabulary(words, counts, vocabulary.total_words, config)
    part = Sample(sample.folder, sample.corpus, point.part)
    path = part.write(f"every-{point.part}.txt")
    return Vocabulary.count(open_corpus(path, TextConfig(tokenizer="whitespace")), cache=sample.folder)


def value_of(point: Point, vocabulary: Vocabulary) -> float:
    """The value on the axis: the setting, or what it led to."""
    if point.axis == "max_words":
        return len(vocabulary)
    return round(vocabulary.total_words / 1e6, 2) if point.axis == "lines" else point.value


def report(runs: list[Run], arguments: argparse.Namespace) -> str:
    sections = []
    for name, axis in AXES.items():
        found = [run for run in runs if run.axis == name]
        if found:
            curves = {model: curve(found, model) for model in dict.fromkeys(run.model for run in found)}
            picture = arguments.output.with_name(f"growth-{name.replace('_', '-')}.svg")
            save(plot(axis, curves), picture)
            sections.append(section(axis, found, curves, picture.name))
    command = f"python benchmarks/growth.py TOKENIZED_TEXT --repeats {arguments.repeats} --every {arguments.every}"
    windows = curve([run for run in runs if run.axis == "window"], "constrained")
    goal = ""
    if {5, 30} <= set(windows):
        fall = 1 - windows[30] / windows[5]
        goal = f"From c = 5 to c = 30 the constrained model's speed falls by {fall:.1%}; the goal is below 10 %.\n\n"
    return f"""# How the speed of training depends on settings

Thousand words per second of training, {THREADS} threads unless stated otherwise, every {arguments.every}th line of the
text; 3–6-grams, 2M buckets, 10 negatives, r = 1e-5. Each figure is the best of {arguments.repeats} runs: the virtual
machine slows some of them by up to half (benchmarks/JOURNAL.md) and speeds up none.

{goal}{"".join(sections)}{made_by(command)}"""


def curve(runs: list[Run], model: str) -> dict[float, float]:
    """Thousand words per second by value."""
    best: dict[float, float] = defaultdict(float)
    for run in runs:
        if run.model == model:
            best[run.value] = max(best[run.value], run.speed / 1000)
    return dict(sorted(best.items()))


@styled
def plot(axis: Axis, curves: dict[str, dict[float, float]]) -> Figure:
    figure, axes = new_axes(2.1)
    for number, (name, points) in enumerate(curves.items()):
        line(axes, list(points), list(points.values()), name, number)
    values = sorted({value for points in curves.values() for value in points})
    if axis.log:
        axes.set_xscale("log")
    if axis.log or len(values) < 3:
        axes.set_xticks(values, labels=[f"{value:,g}" for value in values])
        axes.minorticks_off()
    axes.set_ylim(0, 1.06 * max(value for points in curves.values() for value in points.values()))
    axes.set_xlabel(axis.label)
    axes.set_ylabel("thousand words/s")
    legend(figure, list(curves))
    return figure


def section(axis: Axis, runs: list[Run], curves: dict[str, dict[float, float]], picture: str) -> str:
    values = sorted({run.value for run in runs})

    def shape(value: float) -> list[str]:
        last = next(run for run in reversed(runs) if run.value == value)
        return [f"{last.kept_per_line:.1f}", f"{last.rows_per_token:.1f}"]

    rows = [
        [f"{value:,g}", *(f"{curve[value]:,.0f}" if value in curve else "" for curve in curves.values()), *shape(value)]
        for value in values
    ]
    head = [axis.label, *curves, "kept tokens per line", "rows per kept token"]
    label = axis.label[0].upper() + axis.label[1:]
    return f"## {label}\n\n{axis.note}.\n\n{table(head, rows)}\n\n![{label}]({picture})\n\n"


if __name__ == "__main__":
    main()
