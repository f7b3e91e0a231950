"""Words per second of training, posvec, gensim and fastText alternating on the same lines of a text.

    python benchmarks/speed.py TOKENIZED_TEXT [--rounds 10] [--every 50] [--contestants NAME ...] [-o RESULT.md]

A contestant is PROGRAM-MODEL-cWINDOW, for example posvec-constrained-c15; -t1 means one thread instead of two. The
vocabulary is that of the whole text (for fastText that of the lines). Each round trains every contestant on every 50th
line, so that a round is short and other programs on the machine affect all contestants alike. fastText, which takes as
long as all others together, runs in every third round. Ratios are computed within a round. The number of available
cores is measured before and after each run (machine.py): a virtual machine may run two CPUs on one core for some
seconds, which halves the speed of a program that computes all the time and hardly slows one that waits.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from contestant import THREADS
from machine import OWN_CORES, probed
from posvec import Model
from reporting import RESULTS, made_by, spread, table, write
from trainers import Sample, Trainer, make_trainer

CONTESTANTS = [
    "gensim-subword-c5", "posvec-subword-c5", "posvec-constrained-c15", "posvec-positional-c15", "posvec-subword-c5-t1",
    "posvec-constrained-c15-t1", "posvec-subword-c15", "posvec-constrained-c5", "posvec-positional-c5",
    "gensim-general-c5", "posvec-general-c5", "posvec-general-c15", "fasttext-subword-c5",
]  # fmt: skip
RUNS_EVERY = {"fasttext": 3}  # rounds


class Goal(NamedTuple):
    """A goal for the ratio of two speeds, or of two times, where less is better."""

    one: str
    other: str
    goal: float | None
    of_times: bool = False

    @property
    def name(self) -> str:
        return f"{'time of ' * self.of_times}{self.one} / {self.other}"

    def ratio(self, each: Round) -> float:
        speeds = each[self.one].speed / each[self.other].speed
        return 1 / speeds if self.of_times else speeds

    @property
    def bound(self) -> str:
        return "" if self.goal is None else f"{'at most' if self.of_times else 'at least'} {self.goal:g}"


GOALS = [
    Goal("posvec-subword-c5", "gensim-subword-c5", 6),
    Goal("posvec-subword-c5", "fasttext-subword-c5", 8),
    Goal("posvec-constrained-c15", "gensim-subword-c5", 4.5),
    Goal("posvec-general-c5", "gensim-general-c5", None),
    Goal("posvec-constrained-c15", "posvec-subword-c5", 1.15, of_times=True),
    Goal("posvec-positional-c15", "posvec-subword-c5", 1.6, of_times=True),
    Goal("posvec-subword-c5", "posvec-subword-c5-t1", 1.8),
    Goal("posvec-constrained-c15", "posvec-constrained-c15-t1", 1.8),
]


class Run(NamedTuple):
    speed: float  # words per second
    kept_per_line: float
    cores: float  # the arithmetic of two threads over that of one, the lower value of before and after

    @property
    def had_own_cores(self) -> bool:
        return self.cores >= OWN_CORES


Round = dict[str, Run]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--contestants", nargs="+", metavar="NAME", default=CONTESTANTS)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "speed.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sample, tables = Sample(Path(folder), arguments.corpus, arguments.every), dict[bool, Model]()
        trainers: dict[str, Trainer] = {}
        for name in arguments.contestants:
            trainers[name] = make_trainer(*parse(name), sample, tables)
            print(f"{name} is ready", flush=True)
        rounds: list[Round] = []
        for number in range(arguments.rounds):
            rounds.append({})
            for name, trainer in trainers.items():
                if number % RUNS_EVERY.get(name.split("-")[0], 1) == 0:
                    rounds[-1][name] = run = measured(trainer, sample)
                    print(f"{number} {name}: {run.speed:,.0f} words/s ({run.cores:.1f} cores)", flush=True)
            write(arguments.output, report(rounds, trainers, sample, arguments))


def parse(name: str) -> tuple[str, str, int, int]:
    """Program, model, window and threads of a contestant's name."""
    found = re.fullmatch(r"(posvec-\w+|(?:gensim|fasttext)-(?:general|subword))-c(\d+)(?:-t(\d+))?", name)
    if not found:
        raise SystemExit(f"unknown contestant {name}; use for example posvec-constrained-c15 or gensim-subword-c5-t1")
    program, kind = found[1].split("-")
    return program, kind, int(found[2]), int(found[3] or THREADS)


def measured(trainer: Trainer, sample: Sample) -> Run:
    trained, cores = probed(trainer.run)
    return Run(sample.words / trained.seconds, trained.kept_tokens / sample.lines, cores)


def report(rounds: list[Round], trainers: dict[str, Trainer], sample: Sample, arguments: argparse.Namespace) -> str:
    chosen = f" --contestants {' '.join(trainers)}" if list(trainers) != CONTESTANTS else ""
    command = f"python benchmarks/speed.py TOKENIZED_TEXT --rounds {arguments.rounds} --every {arguments.every}{chosen}"
    programs = {name.split("-")[0] for name in trainers} - {"posvec"}
    return f"""# Speed of training

{len(rounds)} rounds, contestants alternating in one process, {sample.words:,} words per run with a vocabulary of
{len(sample.vocabulary):,}. D = 300, 3–6-grams, 2M buckets, 10 negatives, r = 1e-5, {THREADS} threads unless the name
ends in -t1; training time only, without the constant time of a call (measured on a tiny text). fastText cannot be given
a vocabulary: it counts that of the lines, which is smaller, so it keeps fewer of the same words; its time is that of
two epochs minus that of one.

{goals(rounds)}

At times, the two CPUs of the virtual machine share one core: two threads that only compute then do about 1.2 times the
work of one instead of twice. “Two cores” excludes runs before or after which that was measured, “all” has every run:
median (lowest–highest) of ratios within a round. At other times the two CPUs share no cache, and threads that write the
same rows slow each other down to the speed of one thread; such runs are not excluded (benchmarks/JOURNAL.md).

{speeds(rounds, trainers)}

Every run, in thousand words per second; in parentheses the arithmetic of two threads over that of one around the run:

{every_run(rounds, list(trainers))}

{made_by(command, *sorted(programs))}"""


def goals(rounds: list[Round]) -> str:
    rows = []
    for goal in GOALS:
        both = [each for each in rounds if goal.one in each and goal.other in each]
        own = [each for each in both if each[goal.one].had_own_cores and each[goal.other].had_own_cores]
        if both:
            ratios = [spread([goal.ratio(each) for each in some]) for some in (own, both)]
            rows.append([goal.name, goal.bound, ratios[0], f"{len(own)} of {len(both)}", ratios[1]])
    return table(["ratio", "goal", "two cores", "rounds", "all"], rows)


def speeds(rounds: list[Round], trainers: dict[str, Trainer]) -> str:
    rows = []
    for name, trainer in trainers.items():
        runs = [each[name] for each in rounds if name in each]
        own, both = ([run.speed / 1000 for run in some] for some in ([r for r in runs if r.had_own_cores], runs))
        if runs:
            rows.append([
                name, spread(own, ",.0f"), f"{len(own)} of {len(both)}", spread(both, ",.0f"),
                f"{runs[-1].kept_per_line:.1f}", f"{trainer.rows_per_token:.1f}",
            ])  # fmt: skip
    head = ["trainer", "thousand words/s on two cores", "runs", "all", "kept tokens per line", "rows per kept token"]
    return table(head, rows)


def every_run(rounds: list[Round], names: list[str]) -> str:
    def cell(run: Run | None) -> str:
        return f"{run.speed / 1000:,.0f} ({run.cores:.1f})" if run else ""

    numbers = [str(number) for number in range(1, len(rounds) + 1)]
    return table(["trainer", *numbers], [[name, *(cell(each.get(name)) for each in rounds)] for name in names])


if __name__ == "__main__":
    main()
