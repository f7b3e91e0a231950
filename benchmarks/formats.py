"""Seconds to read files of word vectors, posvec and gensim alternating in one process, and to open a saved model.

    python benchmarks/formats.py [--words 150000] [--dim 300] [--rounds 5] [--text-rounds 2]
        [-o results/benchmarks/formats.md]

The files are written to a temporary folder (about 3 GB) and are in the system's cache when they are read. Ratios are
computed within a round. A saved model is opened in a new process, where nothing is loaded yet.
"""

from __future__ import annotations

import argparse
import gc
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import posvec
from posvec import formats
from reporting import RESULTS, commit, cpu

OPENING = """
import sys, time
import posvec, posvec.model
start = time.perf_counter()
model = posvec.load(sys.argv[1])
opened = time.perf_counter()
model.vectors[sys.argv[2]]
print(opened - start, time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=150_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--text-rounds", type=int, default=2, help="rounds of text formats, which gensim reads slowly")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "formats.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = make_model(arguments.words, arguments.dim)
        model.save(folder / "model")
        opening = [open_model(folder / "model", model.vocabulary.words[i]) for i in range(arguments.rounds)]
        print("opening", opening, flush=True)
        for file in ("v.bin", "v.npz", "v.safetensors", *(["v.txt"] if arguments.text_rounds else [])):
            formats.write_vectors(folder / file, model)
        kind = repr(model).strip("<>")
        del model
        readers = {
            "gensim, word2vec binary": gensim_reader(folder / "v.bin", binary=True),
            "posvec, word2vec binary": lambda: posvec.load_vectors(folder / "v.bin"),
            "gensim, word2vec text": gensim_reader(folder / "v.txt", binary=False),
            "posvec, word2vec text": lambda: posvec.load_vectors(folder / "v.txt"),
            "posvec, npz": lambda: posvec.load_vectors(folder / "v.npz"),
            "posvec, safetensors": lambda: posvec.load_vectors(folder / "v.safetensors"),
        }
        rounds = []
        for number in range(arguments.rounds):
            slow = number < arguments.text_rounds
            rounds.append({name: seconds(read) for name, read in readers.items() if slow or "text" not in name})
            print(number, rounds[-1], flush=True)
    arguments.output.write_text(report(kind, opening, rounds, arguments))


def make_model(words: int, dim: int) -> posvec.Model:
    """A subword model with initial values: the content does not matter here."""
    draw, letters = random.Random(1), "etaoinshrdlucmfwypvbgkjq"
    counts: dict[str, int] = {}
    while len(counts) < words:
        word = "".join(draw.choices(letters, weights=range(len(letters), 0, -1), k=draw.randint(3, 9)))
        counts[word] = draw.randint(5, 100_000)
    config = posvec.make_config("subword", dim=dim)
    return posvec.Model.create(config, posvec.Vocabulary.from_counts(counts, config.vocabulary))


def open_model(path: Path, word: str) -> tuple[float, float]:
    """Seconds until a model is open, and until it has returned a vector."""
    run = subprocess.run([sys.executable, "-c", OPENING, path, word], capture_output=True, text=True, check=True)
    opened, answered = map(float, run.stdout.split())
    return opened, answered


def gensim_reader(path: Path, binary: bool) -> Callable[[], object]:
    from gensim.models import KeyedVectors

    return lambda: KeyedVectors.load_word2vec_format(str(path), binary=binary)


def seconds(read: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock time, and CPU time, which varies less on a shared machine."""
    gc.collect()
    start, used = time.perf_counter(), time.process_time()
    vectors = read()
    took = time.perf_counter() - start, time.process_time() - used
    del vectors
    return took


def report(
    kind: str,
    opening: list[tuple[float, float]],
    rounds: list[dict[str, tuple[float, float]]],
    arguments: argparse.Namespace,
) -> str:
    lines = [
        "# Reading word vectors",
        "",
        f"{arguments.words:,} × {arguments.dim}, {len(rounds)} rounds ({arguments.text_rounds} of text), readers",
        "alternating in one process, files in the system's cache. Medians, and of ratios within a",
        "round the lowest and highest too.",
        "",
        "| reader | wall-clock seconds | gensim's time over this | CPU seconds | gensim's time over this |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in rounds[0]:
        cells = []
        for kind_of_time in (0, 1):
            measured = [each[name][kind_of_time] for each in rounds if name in each]
            cells.append(f"{statistics.median(measured):.2f}")
            gensim = [each.get(name.replace("posvec", "gensim"), (0, 0))[kind_of_time] for each in rounds]
            ratios = [theirs / ours for theirs, ours in zip(gensim, measured, strict=False)]
            compared = f"{statistics.median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})"
            cells.append(compared if name.startswith("posvec") and max(ratios) > 0 else "–")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    opened, answered = (sorted(each) for each in zip(*opening, strict=True))
    lines += [
        "",
        f"Opening a saved model ({kind}) in a new process: {statistics.median(opened):.2f} s",
        f"({opened[0]:.2f}–{opened[-1]:.2f}), until the vector of a first word {statistics.median(answered):.2f} s",
        f"({answered[0]:.2f}–{answered[-1]:.2f}); without the time to import posvec.",
        "",
        f"Made by `python benchmarks/formats.py --words {arguments.words} --rounds {arguments.rounds} "
        f"--text-rounds {arguments.text_rounds}`",
        f"with posvec {posvec.__version__} ({commit()}),",
        f"gensim {version('gensim')}, NumPy {np.__version__}, Python {platform.python_version()}, on {cpu()}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
