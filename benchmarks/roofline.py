"""How near training comes to what the machine's memory allows: bandwidths and training, alternating.

    python benchmarks/roofline.py TOKENIZED_TEXT [--rounds 8] [--every 50] [-o results/benchmarks/roofline.md]

roofline.cpp, compiled here by the system's compiler (CXX, or c++), copies, reads and updates rows of a table of
the model's size and does nothing else. The rows that training must move at least are drawn from the text.
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
from posvec import Config, Model, make_config
from posvec.system.arrays import padded
from reporting import HERE, RESULTS, made_by, spread, table, write
from trainers import PosvecTrainer, Sample

MODELS = {"subword": 5, "constrained": 15}
THREADS = (1, 2)
MICRO_BATCH = 8  # masked words that are trained together, and with whose contexts a word is at hand (cpp/problem.hpp)
TOKENS = 200_000  # kept tokens whose rows are drawn
SECONDS = 0.3  # of each measurement of bandwidth
MEASURES = {
    "copy": "copying",
    "read": "random rows, read",
    "update": "random rows, read and written",
    "needed": "rows in the order that training needs them, read and written",
}


class Moved(NamedTuple):
    """What training must move at least."""

    order: np.ndarray  # rows of the input table and, behind it, of the output table
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
    cores: dict[str, float]  # around the measurement of bandwidth, "", and each of training

    def had_own_cores(self, *names: str) -> bool:
        return all(self.cores[name] >= OWN_CORES for name in names)

    def share(self, model: str, threads: int, measure: str, moved: Moved) -> float:
        return self.speeds[model][threads] * moved.bytes_per_word / (self.bandwidths[threads][measure] * 1e9)


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
        base = Model.create(make_config("subword"), sample.vocabulary)
        configs = {kind: make_config(kind, window=window) for kind, window in MODELS.items()}
        moved = {kind: least_moved(config, base, sample) for kind, config in configs.items()}
        trainers = {
            (kind, threads): PosvecTrainer(config.replace(threads=threads), base, sample)
            for kind, config in configs.items()
            for threads in THREADS
        }
        moved["subword"].order.tofile(folder / "order.u32")
        rows = base.rows.table_rows + len(base.vocabulary)
        row_bytes = whole_lines(moved["subword"].row_bytes)
        command = [program, str(rows), str(row_bytes), str(SECONDS), folder / "order.u32"]
        rounds = []
        for number in range(arguments.rounds):
            rounds.append(measured(command, trainers, sample.words))
            print(number, rounds[-1], flush=True)
            write(arguments.output, report(rounds, moved, rows, arguments))


def compiled(folder: Path) -> Path:
    program = folder / "roofline"
    flags = ["-O3", "-march=native", "-std=c++20", "-pthread"]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, HERE / "roofline.cpp", "-o", program], check=True)
    return program


def least_moved(config: Config, base: Model, sample: Sample) -> Moved:
    """The rows of words as they enter the window, unless they are there already, and of what is drawn for them."""
    random = np.random.default_rng(1)
    vocabulary, ids = base.vocabulary, np.asarray(sample.encoded.ids)
    known = ids[ids < len(vocabulary)]
    words = known[random.random(len(known)) < vocabulary.keep_probabilities()[known]]
    kept, words = len(words) / len(ids), words[:TOKENS]
    entering = ~at_hand(words, 2 * config.model.window + MICRO_BATCH)
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
    return Moved(
        np.concatenate(order).astype(np.uint32), input_rows / len(words), 1 + config.training.negatives, kept,
        number_bytes * padded(config.model.dim),
    )  # fmt: skip


def whole_lines(size: int) -> int:
    """Bytes of the cache lines that so many bytes take."""
    return -(-size // 64) * 64


def at_hand(words: np.ndarray, distance: int) -> np.ndarray:
    """Which words of a text stood in it no more than ``distance`` words before."""
    order = np.lexsort((np.arange(len(words)), words))
    again = (words[order][1:] == words[order][:-1]) & (np.diff(order) <= distance)
    found = np.zeros(len(words), bool)
    found[order[1:]] = again
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


def report(rounds: list[Round], moved: dict[str, Moved], rows: int, arguments: argparse.Namespace) -> str:
    command = f"python benchmarks/roofline.py TOKENIZED_TEXT --rounds {arguments.rounds} --every {arguments.every}"
    row_bytes = whole_lines(moved["subword"].row_bytes)
    return f"""# How near training comes to the limits of memory

## What the machine does

GB/s, bytes read and bytes written both counted, in a table of {rows:,} rows of {row_bytes:,} bytes
({rows * row_bytes / 1e9:.2f} GB) in pages of 2 MB; rows are fetched ahead. Median (lowest–highest) of the rounds
in which two threads had a core each before and after (machine.py), and of all {len(rounds)}.

{bandwidths(rounds)}

## What training must move

A word's input rows are read when it comes near a masked word and written when it goes, unless it is near already
(within the window of 2c words and the micro-batch of {MICRO_BATCH}). A masked word's output row and those of its
negatives are read and written. Positional vectors never leave the cache. Features take 2 bytes each. So a masked word
moves at least 2 × (input rows + output rows) × their bytes, and a word of the text that times the share of words that
are kept:

{needs(moved)}

## How near training comes

The bound is a bandwidth of the same round over the bytes per word, the share what training reaches of it. Random rows
are the hardest order; rows in the order of the text come faster, for frequent ones stay in the caches, and are the
stricter bound: a program that only moves the rows it must, at the best rate of this machine, and computes nothing.

{shares(rounds, moved)}

{made_by(command)}"""


def bandwidths(rounds: list[Round]) -> str:
    own = [each for each in rounds if each.had_own_cores("")]
    cells = []
    for key, text in MEASURES.items():
        for threads in THREADS:
            found = [spread([each.bandwidths[threads][key] for each in some], ".1f") for some in (own, rounds)]
            cells.append([text, str(threads), found[0], f"{len(own)} of {len(rounds)}", found[1]])
    return table(["", "threads", "two cores", "rounds", "all"], cells)


def needs(moved: dict[str, Moved]) -> str:
    cells = [
        [
            f"{kind} c={MODELS[kind]}", f"{each.input_rows:.1f}", f"{each.output_rows:.1f}",
            f"{each.bytes_per_masked_word / 1000:,.1f}", f"{each.kept:.1%}", f"{each.bytes_per_word / 1000:,.1f}",
        ]
        for kind, each in moved.items()
    ]  # fmt: skip
    head = ["model", "input rows", "output rows", "kB per masked word", "words kept", "kB per word of the text"]
    return table(head, cells)


def shares(rounds: list[Round], moved: dict[str, Moved]) -> str:
    cells = []
    for kind, threads, key in ((kind, t, key) for kind in MODELS for t in THREADS for key in ("update", "needed")):
        own = [each for each in rounds if each.had_own_cores("", f"{kind} {threads}")]
        shown = own or rounds
        bounds = [each.bandwidths[threads][key] * 1e6 / moved[kind].bytes_per_word for each in shown]
        speeds = [each.speeds[kind][threads] / 1000 for each in shown]
        found = [spread([each.share(kind, threads, key, moved[kind]) for each in some]) for some in (own, rounds)]
        cells.append([
            f"{kind} c={MODELS[kind]}", str(threads), MEASURES[key].split(",")[0], spread(bounds, ",.0f"),
            spread(speeds, ",.0f"), found[0], f"{len(own)} of {len(rounds)}", found[1],
        ])  # fmt: skip
    head = ["model", "threads", "bound by", "bound, thousand words/s", "training", "share, two cores", "rounds", "all"]
    return table(head, cells)


if __name__ == "__main__":
    main()
