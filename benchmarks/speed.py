"""Words per second of training, posvec and gensim alternating in one process on the same lines and the same vocabulary.

    python benchmarks/speed.py TOKENIZED_TEXT [--rounds 5] [--every 10] [-o benchmarks/results/speed.md]

The vocabulary is that of the whole text; each round trains every contestant on every tenth line of it, so that a round
is short and what else the machine does falls on all contestants alike. Ratios are taken within a round. Before and
after each run the machine is asked whether it gives two threads a core each (machine.py): a virtual machine may put
both on one core for some seconds, which halves a program that keeps a core busy and hardly slows one that waits.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import posvec
from accuracy import commit, cpu
from contestant import THREADS
from machine import OWN_CORES, cores

KINDS = {"subword": 5, "constrained": 15, "positional": 15}
# Lines of a text that takes no time to train: what a call then takes goes before training, whatever the text (seconds
# in gensim, which copies the vocabulary; tenths in posvec), and is taken off each contestant's time.
TINY = 50


class Run(NamedTuple):
    speed: float  # words per second
    cores: float  # times the arithmetic of one thread that two did, before or after, whichever is less

    @property
    def had_own_cores(self) -> bool:
        return self.cores >= OWN_CORES


Round = dict[str, Run]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "speed.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.txt"
        with arguments.corpus.open("rb") as lines, part.open("wb") as sample:
            sample.writelines(itertools.islice(lines, 0, None, arguments.every))
        with part.open("rb") as lines, part.with_name("tiny.txt").open("wb") as tiny:
            tiny.writelines(itertools.islice(lines, TINY))
        words = sum(len(line.split()) for line in part.open("rb"))
        contestants = {"gensim subword c=5": gensim_trainer(arguments.corpus, part, Path(tiny.name), words)}
        vocabulary = posvec.Vocabulary.count(posvec_corpus(arguments.corpus))
        for kind, window in KINDS.items():
            contestants[f"posvec {kind} c={window}"] = posvec_trainer(kind, part, Path(tiny.name), vocabulary)
        rounds: list[Round] = []
        for number in range(arguments.rounds):
            rounds.append({name: measured(train, words) for name, train in contestants.items()})
            print(number, {name: f"{run.speed:,.0f} ({run.cores:.1f})" for name, run in rounds[-1].items()}, flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(report(rounds, words, len(vocabulary), arguments))


def measured(train: Callable[[], float], words: int) -> Run:
    before = cores(THREADS)
    speed = words / train()
    return Run(speed, min(before, cores(THREADS)))


def gensim_trainer(corpus: Path, part: Path, tiny: Path, words: int) -> Callable[[], float]:
    from gensim.models import FastText

    model = FastText(
        vector_size=300, window=5, min_count=5, sample=1e-5, negative=10, sg=0, alpha=0.05, workers=THREADS,
        bucket=2_000_000, min_n=3, max_n=6, epochs=1,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(corpus))
    lines = sum(1 for _ in part.open("rb"))

    def seconds(path: Path, lines: int, words: int) -> float:
        started = time.monotonic()
        model.train(corpus_file=str(path), total_words=words, total_examples=lines, epochs=1)
        return time.monotonic() - started

    return lambda: seconds(part, lines, words) - seconds(tiny, TINY, 2000)


def posvec_trainer(kind: str, part: Path, tiny: Path, vocabulary: posvec.Vocabulary) -> Callable[[], float]:
    def seconds(path: Path) -> float:
        model = posvec.train(path, kind, tokenizer="whitespace", vocabulary=vocabulary, threads=THREADS)
        assert model.report is not None
        return model.report.seconds

    return lambda: seconds(part) - seconds(tiny)


def posvec_corpus(path: Path) -> object:
    from posvec.config import TextConfig
    from posvec.corpus import open_corpus

    return open_corpus(path, TextConfig(tokenizer="whitespace"))


def report(rounds: list[Round], words: int, vocabulary: int, arguments: argparse.Namespace) -> str:
    base = next(iter(rounds[0]))
    rows = [
        [
            "trainer",
            "words/s on two cores",
            f"times {base}, both on two cores: median (lowest–highest)",
            "rounds",
            "all rounds",
        ],
        ["---"] * 5,
    ]
    for name in rounds[0]:
        own = [each for each in rounds if each[name].had_own_cores and each[base].had_own_cores]
        speeds = [each[name].speed for each in rounds if each[name].had_own_cores]
        rows.append(
            [
                name,
                f"{statistics.median(speeds) / 1000:,.0f}k (best {max(speeds) / 1000:,.0f}k)" if speeds else "–",
                ratios(own, name, base),
                f"{len(own)} of {len(rounds)}",
                ratios(rounds, name, base),
            ]
        )
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"""# Speed of training

{arguments.rounds} rounds, contestants alternating in one process, {words:,} words per run under a vocabulary of
{vocabulary:,}. D = 300, 3–6-grams, 2M buckets, 10 negatives, r = 1e-5, {THREADS} threads; training alone, without
what a call takes on hardly any text.

{table}

This machine is virtual, and at times gives its two CPUs one core between them: two threads that only compute then do
about 1.2 times the work of one, not twice. The middle columns leave out runs before or after which that was so; the
last column has every run.

Every run, in thousand words per second, with the times the arithmetic of one thread that two did around it:

{every_run(rounds)}

Made by `python benchmarks/speed.py TOKENIZED_TEXT --rounds {arguments.rounds} --every {arguments.every}` with posvec
{version("posvec")} ({commit()}), gensim {version("gensim")}, Python {platform.python_version()}, on {cpu()}.
"""


def ratios(rounds: list[Round], name: str, base: str) -> str:
    found = [each[name].speed / each[base].speed for each in rounds]
    return f"{statistics.median(found):.2f} ({min(found):.2f}–{max(found):.2f})" if found else "–"


def every_run(rounds: list[Round]) -> str:
    rows = [["round", *rounds[0]], ["---"] * (1 + len(rounds[0]))]
    for number, each in enumerate(rounds, 1):
        rows.append([str(number), *(f"{run.speed / 1000:,.0f} ({run.cores:.1f})" for run in each.values())])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    main()
