"""Training speed as a fraction of the bound by memory bandwidth; both are measured in alternation.

    python benchmarks/roofline.py TOKENIZED_TEXT [--rounds 8] [--every 50] [-o results/benchmarks/roofline.md]

roofline.cpp, compiled with the system's compiler (CXX, or c++), only copies, reads and updates rows of a table of the
model's size. The rows that training must read and write at least are sampled from the text.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from machine import OWN_CORES, probed
from one_epoch import one_epoch
from posvec import Config, Model, make_config
from posvec.system.arrays import padded
from reporting import HERE, RESULTS, made_by, spread, table, write
from trainers import PosvecTrainer, Sample

MODELS = {"subword": 5, "constrained": 15}
THREADS = (1, 2)
MICRO_BATCH = 8  # masked words that are trained together; a word stays cached for all of them
TOKENS = 200_000  # kept tokens whose rows are sampled
SECONDS = 0.3  # per measurement of bandwidth
MEASURES = {
    "copy": "copying",
    "read": "random rows, read",
    "update": "random rows, read and written",
    "needed": "rows in the order that training needs them, read and written",
}


class Traffic(NamedTuple):
    """The rows that training must read and write at least."""

    order: np.ndarray  # row numbers, those of the output table after those of the input table
    input_rows: float  # per masked word
    output_rows: float
    kept: float  # masked words per word of the text
    row_bytes: int

    @property
    def bytes_per_masked_word(self) -> float:
        return 2 * (self.input_rows + self.output_rows) * self.row_bytes

    @property
    def bytes_per_word(self) -> float:
        return self.bytes_per_masked_word * self.kept


class Round(NamedTuple):
    bandwidths: dict[int, dict[str, float]]  # GB/s by threads
    speeds: dict[str, dict[int, float]]  # words/s by model and threads
    cores: dict[str, float]  # around the measurement of bandwidth ("") and of each training

    def had_own_cores(self, *names: str) -> bool:
        return all(self.cores[name] >= OWN_CORES for name in names)

    def fraction(self, model: str, threads: int, measure: str, traffic: Traffic) -> float:
        return self.speeds[model][threads] * traffic.bytes_per_word / (self.bandwidths[threads][measure] * 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "roofline.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(folder)
        sample = Sample(folder, arguments.corpus, arguments.every)
        base = Model.create(make_config("subword", **one_epoch("subword")), sample.vocabulary)
        configs = {kind: make_config(kind, **{**one_epoch(kind), "window": window}) for kind, window in MODELS.items()}
        traffic = {kind: least_traffic(config, base, sample) for kind, config in configs.items()}
        trainers = {
            (kind, threads): PosvecTrainer(config.replace(threads=threads), base, sample)
            for kind, config in configs.items()
            for threads in THREADS
        }
        traffic["subword"].order.tofile(folder / "order.u32")
        rows = base.rows.table_rows + len(base.vocabulary)
        row_bytes = whole_lines(traffic["subword"].row_bytes)
        command = [program, str(rows), str(row_bytes), str(SECONDS), folder / "order.u32"]
        rounds = []
        for number in range(arguments.rounds):
            rounds.append(measured(command, trainers, sample.words))
            print(number, rounds[-1], flush=True)
            write(arguments.output, report(rounds, traffic, rows, arguments))


def compiled(folder: Path) -> Path:
    program = folder / "roofline"
    flags = ["-O3", "-march=native", "-std=c++20", "-pthread"]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, HERE / "roofline.cpp", "-o", program], check=True)
    return program


def least_traffic(config: Config, base: Model, sample: Sample) -> Traffic:
    """The rows of words that enter the window and are not cached yet, and of their negatives."""
    random = np.random.default_rng(1)
    vocabulary, ids = base.vocabulary, np.asarray(sample.encoded.ids)
    known = ids[ids < len(vocabulary)]
    words = known[random.random(len(known)) < vocabulary.keep_probabilities()[known]]
    kept, words = len(words) / len(ids), words[:TOKENS]
    entering = ~is_cached(words, 2 * config.model.window + MICRO_BATCH)
    negatives = random.choice(len(vocabulary), (len(words), config.training.negatives), p=vocabulary.negative_weights())
    begin, rows, outputs = base.rows.row_begin, base.rows.rows, base.rows.table_rows
    order: list[np.ndarray] = []
    input_rows = 0
    for word, enters, others in zip(words.tolist(), entering.tolist(), negatives, strict=True):
        if enters:
            order.append(rows[begin[word] : begin[word + 1]])
            input_rows += len(order[-1])
        order.append(outputs + np.append(others, word))
    number_bytes = 2 if config.training.precision == "fixed16" else 4
    return Traffic(
        np.concatenate(order).astype(np.uint32), input_rows / len(words), 1 + config.training.negatives, kept,
        number_bytes * padded(config.model.dim),
    )  # fmt: skip


def whole_lines(size: int) -> int:
    """The size rounded up to whole cache lines."""
    return -(-size // 64) * 64


def is_cached(words: np.ndarray, distance: int) -> np.ndarray:
    """Which words of a text occurred at most ``distance`` words before."""
    order = np.lexsort((np.arange(len(words)), words))
    repeated = (words[order][1:] == words[order][:-1]) & (np.diff(order) <= distance)
    found = np.zeros(len(words), bool)
    found[order[1:]] = repeated
    return found


def measured(command: list[object], trainers: dict[tuple[str, int], PosvecTrainer], words: int) -> Round:
    done, around = probed(lambda: subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True))
    cores = {"": around}
    bandwidths = {line.pop("threads"): line for line in map(json.loads, done.stdout.splitlines())}
    speeds: dict[str, dict[int, float]] = {kind: {} for kind, _ in trainers}
    for (kind, threads), trainer in trainers.items():
        trained, cores[f"{kind} {threads}"] = probed(trainer.run)
        speeds[kind][threads] = words / trained.seconds
    return Round(bandwidths, speeds, cores)


def report(rounds: list[Round], traffic: dict[str, Traffic], rows: int, arguments: argparse.Namespace) -> str:
    command = f"python benchmarks/roofline.py TOKENIZED_TEXT --rounds {arguments.rounds} --every {arguments.every}"
    row_bytes = whole_lines(traffic["subword"].row_bytes)
    return f"""# Training compared with the limits of memory

## Bandwidth of the machine

GB/s, counting bytes read and bytes written, in a table of {rows:,} rows of {row_bytes:,} bytes
({rows * row_bytes / 1e9:.2f} GB) in pages of 2 MB; rows are prefetched. Median (lowest–highest) of the rounds
in which two threads had a core each before and after (machine.py), and of all {len(rounds)}.

{bandwidths(rounds)}

## Data that training must move

A word's input rows are read when it enters the window of a masked word and written when it leaves it, unless it is
cached already (within the window of 2c words and the micro-batch of {MICRO_BATCH}). The output rows of a masked word
and of its negatives are read and written. Positional vectors stay in the cache. A feature takes 2 bytes. So each masked
word moves at least 2 × (input rows + output rows) × bytes per row, and each word of the text that amount times the
fraction of words that are kept:

{needs(traffic)}

## Training speed and bound

The bound is a bandwidth of the same round divided by the bytes per word; the fraction is the speed of training divided
by the bound. Random order is the slowest; in the order of the text, rows arrive faster, because frequent ones stay in
the caches. This is the stricter bound: a program that only moves the necessary rows at the best rate of this machine
and computes nothing.

{fractions(rounds, traffic)}

{made_by(command)}"""


def bandwidths(rounds: list[Round]) -> str:
    own = [each for each in rounds if each.had_own_cores("")]
    cells = []
    for key, text in MEASURES.items():
        for threads in THREADS:
            found = [spread([each.bandwidths[threads][key] for each in some], ".1f") for some in (own, rounds)]
            cells.append([text, str(threads), found[0], f"{len(own)} of {len(rounds)}", found[1]])
    return table(["", "threads", "two cores", "rounds", "all"], cells)


def needs(traffic: dict[str, Traffic]) -> str:
    cells = [
        [
            f"{kind} c={MODELS[kind]}", f"{each.input_rows:.1f}", f"{each.output_rows:.1f}",
            f"{each.bytes_per_masked_word / 1000:,.1f}", f"{each.kept:.1%}", f"{each.bytes_per_word / 1000:,.1f}",
        ]
        for kind, each in traffic.items()
    ]  # fmt: skip
    head = ["model", "input rows", "output rows", "kB per masked word", "words kept", "kB per word of the text"]
    return table(head, cells)


def fractions(rounds: list[Round], traffic: dict[str, Traffic]) -> str:
    cells = []
    for kind, threads, key in ((kind, t, key) for kind in MODELS for t in THREADS for key in ("update", "needed")):
        own = [each for each in rounds if each.had_own_cores("", f"{kind} {threads}")]
        shown = own or rounds
        bounds = [each.bandwidths[threads][key] * 1e6 / traffic[kind].bytes_per_word for each in shown]
        speeds = [each.speeds[kind][threads] / 1000 for each in shown]
        found = [spread([each.fraction(kind, threads, key, traffic[kind]) for each in some]) for some in (own, rounds)]
        cells.append([
            f"{kind} c={MODELS[kind]}", str(threads), MEASURES[key].split(",")[0], spread(bounds, ",.0f"),
            spread(speeds, ",.0f"), found[0], f"{len(own)} of {len(rounds)}", found[1],
        ])  # fmt: skip
    head = ["model", "threads", "bound by", "bound, thousand words/s", "training"]
    return table([*head, "fraction, two cores", "rounds", "all"], cells)


if __name__ == "__main__":
    main()
