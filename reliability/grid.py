"""Numerical stability: short trainings over presets, models, initializers, D and learning rates.

    python reliability/grid.py [--every 1] [--runs build/grid.jsonl] [-o results/reliability/grid.md]

No parameter may become NaN or infinite, and the loss of the last epoch must be well below that of the first, for every
learning rate in the documented range (`posvec train --help`). If a few epochs do not suffice, because all values start
close to zero and steps are small, more epochs are tried. Outcomes out of the range are only counted. All CPU levels of
the kernel (POSVEC_CPU) must give the same model up to rounding. Finished trainings are saved, so that an interrupted
run can continue.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import posvec
from posvec._kernel import cpu_levels
from posvec.config import SETTINGS
from posvec.errors import TrainingError
from posvec.presets import MODELS, PRESETS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from reporting import made_by, table, write
from runs import keep_run, read_runs

RESULTS = Path(__file__).parents[1] / "results" / "reliability"
DIMS = (1, 10, 100, 300)
INITIALIZERS = SETTINGS["initializer"].choices
RATES = (0.005, 0.025, 0.05, 0.1, 0.5, 2.0, 100.0)
NOISE = 0.01  # windows and negatives differ between epochs: the loss of a model that does not learn varies by 0.0003
EPOCHS = (5, 50, 200)  # more only if the loss did not fall with fewer


class Point(NamedTuple):
    preset: str
    model: str
    initializer: str
    dim: int
    lr: float


class Outcome(NamedTuple):
    point: Point
    first: float
    last: float
    epochs: int
    refusal: str
    """The message of the error if training was refused."""

    @property
    def is_good(self) -> bool:
        return self.first - self.last > NOISE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="train every n-th point")
    parser.add_argument("--runs", "--kept", type=Path, default=Path(__file__).parents[1] / "build" / "grid.jsonl")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "grid.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POSVEC_CACHE"] = folder
        corpus = write_corpus(Path(folder) / "corpus.txt")
        finished = {Point(*run["point"]): run for run in read_runs(arguments.runs)}
        outcomes = []
        for point in itertools.islice(points(), 0, None, arguments.every):
            run = finished.get(point) or keep_run(arguments.runs, train_long_enough(point, corpus)._asdict())
            outcomes.append(Outcome(**{**run, "point": point}))
            print(*point, *outcomes[-1][1:], flush=True)
        levels = list(compare_levels(corpus))
    bad = [each for each in outcomes if not each.is_good and is_documented(each.point)]
    write(arguments.output, report(outcomes, levels, arguments))
    sys.exit(f"{len(bad)} points failed: {bad[:5]}" if bad or not all(level[-1] for level in levels) else 0)


def points() -> Iterator[Point]:
    """All points; initializers vary only for models with positional features."""
    for preset, model, dim, lr in itertools.product(PRESETS, MODELS, DIMS, RATES):
        for initializer in INITIALIZERS if MODELS[model]["positional_dim"] else ["uniform"]:
            yield Point(preset, model, initializer, dim, lr)


def write_corpus(path: Path, lines: int = 600) -> Path:
    """Write sentences about one of 20 subjects, in which three kinds of words alternate: 300 words."""
    draw = random.Random(1)
    words = [
        [[f"{kind}{subject:02}{'abcde'[word] * 3}" for word in range(5)] for kind in ("na", "ve", "du")]
        for subject in range(20)
    ]
    chosen = (draw.choice(words) for _ in range(lines))
    path.write_text("".join(" ".join(draw.choice(kinds[i % 3]) for i in range(12)) + "\n" for kinds in chosen))
    return path


def is_documented(point: Point) -> bool:
    """Whether the learning rate is in the documented range."""
    low = 0.05 if point.initializer == "vanilla" else 0.025
    return low <= point.lr <= (0.05 if PRESETS[point.preset].get("context_mean") == "words" else 0.1)


def train_long_enough(point: Point, corpus: Path) -> Outcome:
    for epochs in EPOCHS:
        outcome = train_at(point, corpus, epochs)
        if outcome.is_good or outcome.refusal or not is_documented(point):
            break
    return outcome


def train_at(point: Point, corpus: Path, epochs: int) -> Outcome:
    try:
        model = trained(point, corpus, epochs=epochs)
    except TrainingError as error:
        return Outcome(point, 0.0, 0.0, epochs, str(error))
    assert model.report is not None
    for each in (model.input_vectors, model.output_vectors, model.positional_vectors, model.word_head):
        assert np.isfinite(each).all()
    return Outcome(point, model.report.epochs[0].loss, model.report.epochs[-1].loss, epochs, "")


def trained(point: Point, corpus: Path, **settings: Any) -> posvec.Model:
    # subsampling would drop all of so few words
    given = {"sample": 0.0, "min_count": 1, "threads": 1, "dim": point.dim, "initial_lr": point.lr, **settings}
    return posvec.train(corpus, point.model, preset=point.preset, initializer=point.initializer, **given)


def compare_levels(corpus: Path) -> Iterator[tuple[Point, str, float, float, bool]]:
    """Compare each level with the highest one: relative differences of the loss and of the input vectors."""
    best = cpu_levels()[-1]
    for preset, model in itertools.product(PRESETS, MODELS):
        point = Point(preset, model, "identity", 100, 0.05)
        models = {}
        for level in cpu_levels():
            os.environ["POSVEC_CPU"] = level
            models[level] = trained(point, corpus, epochs=EPOCHS[0])
        del os.environ["POSVEC_CPU"]
        for level in cpu_levels()[:-1]:
            one, other = models[level], models[best]
            assert one.report is not None
            assert other.report is not None
            loss = abs(one.report.loss - other.report.loss) / other.report.loss
            vectors = float(np.abs(one.input_vectors - other.input_vectors).max() / np.abs(other.input_vectors).max())
            # Sums that differ in their last bit are sometimes rounded to the next 16-bit value.
            limits = (1e-2, 1e-1) if one.config.training.precision == "fixed16" else (1e-4, 1e-3)
            yield point, f"{level} and {best}", loss, vectors, loss < limits[0] and vectors < limits[1]


def report(
    outcomes: list[Outcome], levels: list[tuple[Point, str, float, float, bool]], arguments: argparse.Namespace
) -> str:  # fmt: skip
    rows = [
        [f"{lr:g}", name, *counts(some)]
        for lr, (name, wanted) in itertools.product(RATES, {"yes": True, "no": False}.items())
        if (some := [each for each in outcomes if each.point.lr == lr and is_documented(each.point) == wanted])
    ]
    by = defaultdict(list)
    for each in outcomes:
        if is_documented(each.point):
            by[each.point.preset, each.point.model].append(each)
    differences = {key: [each.first - each.last for each in some] for key, some in by.items()}
    falls = [
        [*key, str(len(some)), str(sum(each > NOISE for each in some)), f"{min(some):.3g}", f"{max(some):.3g}"]
        for key, some in differences.items()
    ]
    long = [each.point for each in outcomes if each.epochs > EPOCHS[0]]
    names = ", ".join(sorted({point.initializer for point in long}))
    dims, more = ", ".join(map(str, DIMS)), " or ".join(map(str, EPOCHS[1:]))
    refusals = sorted(
        {re.sub(r" \(now [^)]*\)", "", each.refusal.partition(": ")[2]) for each in outcomes if each.refusal}
    )
    worst = [
        [point.preset, point.model, name, f"{loss:.1e}", f"{vectors:.1e}", "yes" if ok else "NO"]
        for point, name, loss, vectors, ok in levels
    ]
    command = f"python reliability/grid.py --every {arguments.every}"
    return f"""# The grid of presets, models, initializers, D and learning rates

{len(outcomes):,} trainings on 600 generated lines of 300 words: {len(PRESETS)} presets, {len(MODELS)} models,
{len(INITIALIZERS)} initializers where there are positional features, D of {dims}. Each has {EPOCHS[0]} epochs;
in the documented range {len(long)} with values that start too close to zero for that
(initializers {names}) have {more}. All parameters of every model that training returned are finite. *Loss falls*: that
of the last epoch is below that of the first by more than {NOISE}; random variation is about 0.0003. *Refused*: training
ended with a message that names the setting to change, because the loss grew beyond that of an untrained model and
beyond twice the lowest so far, or because parameters overflowed.
The documented range is 0.025 to 0.1; with context_mean=words (preset paper) up to 0.05, with initializer=vanilla from
0.05, as this grid has shown: out of this range, some trainings diverge or do not learn.

{table(["initial_lr", "in the documented range", "trainings", "loss falls", "loss does not fall", "refused"], rows)}

In the documented range, by preset and model:

{table(["preset", "model", "trainings", "loss falls", "smallest fall", "largest fall"], falls)}

Messages of refused trainings: {"; ".join(refusals) or "nothing"}.

## Levels of the CPU

{EPOCHS[0]} epochs at D = 100 with each level that this machine runs (initializer identity); the greatest
difference of any input feature, relative to the greatest feature. The levels sum in different
orders and therefore round differently; with precision=fixed16 (presets posvec and small) sometimes by a whole unit of
1/2048, which then propagates: 0.01 of the loss and 0.1 of the greatest feature are allowed there, 0.0001 and 0.001
elsewhere.

{table(["preset", "model", "levels", "difference of the loss", "of the vectors", "agree"], worst)}

{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(command, "numpy")}"""


def counts(some: list[Outcome]) -> list[str]:
    good, refused = sum(each.is_good for each in some), sum(bool(each.refusal) for each in some)
    return [str(len(some)), str(good), str(len(some) - good - refused), str(refused)]


if __name__ == "__main__":
    main()
