"""Seconds to start: importing posvec, its help, opening a model; each a new process, beside gensim, alternating.

    python benchmarks/startup.py [--rounds 10] [--words 150000] [--buckets 2000000] [-o RESULT.md]

A made-up subword model of the size of one of Wikipedia is saved by both in a temporary folder (about 4 GB) and is in
the system's cache when it is read. Times are of whole processes, by the clock; opening is without the import.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from formats import make_model
from reporting import RESULTS, made_by, spread, table, write

IMPORTS = {"posvec": "import posvec, posvec.model", "gensim": "from gensim.models import FastText"}
OPENING = {
    "posvec": "posvec.load(sys.argv[1]).vectors[sys.argv[2]]",
    "gensim": "FastText.load(sys.argv[1]).wv[sys.argv[2]]",
}
GOALS = {"import posvec": 0.15, "posvec --help": 0.3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--words", type=int, default=150_000)
    parser.add_argument("--buckets", type=int, default=2_000_000, help="of gensim's model, which keeps all of them")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "startup.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        word = save_models(Path(name), arguments.words, arguments.buckets)
        contestants = {
            "python, nothing else": process(["-c", "pass"]),
            "import posvec": process(["-c", "import posvec"]),
            "import gensim": process(["-c", "import gensim"]),
            "posvec --help": process(["-c", "from posvec.cli import main; main()", "--help"]),
            "opening a model and a first vector, posvec": opening("posvec", Path(name) / "posvec", word),
            "opening a model and a first vector, gensim": opening("gensim", Path(name) / "gensim", word),
        }
        rounds: list[dict[str, float]] = []
        for number in range(-1, arguments.rounds):  # the first, which fills caches, is not counted
            seconds = {name: call() for name, call in contestants.items()}
            print(number, seconds, flush=True)
            if number >= 0:
                rounds.append(seconds)
    write(arguments.output, report(rounds, arguments))


def save_models(folder: Path, words: int, buckets: int) -> str:
    """The same vocabulary in both; returns a word of it."""
    from gensim.models import FastText

    model = make_model(words, 300)
    model.save(folder / "posvec")
    vocabulary = model.vocabulary
    peer = FastText(vector_size=300, window=5, min_count=5, bucket=buckets, min_n=3, max_n=6)
    peer.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    peer.save(str(folder / "gensim"))
    return vocabulary.words[words // 2]


def process(arguments: Sequence[str]) -> Callable[[], float]:
    """Seconds that a whole process takes."""

    def seconds() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started

    return seconds


def opening(program: str, path: Path, word: str) -> Callable[[], float]:
    code = (
        f"import sys, time; {IMPORTS[program]}\nstart = time.perf_counter()\n{OPENING[program]}\n"
        "print(time.perf_counter() - start)"
    )

    def seconds() -> float:
        command = [sys.executable, "-c", code, str(path), word]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return seconds


def report(rounds: list[dict[str, float]], arguments: argparse.Namespace) -> str:
    rows = [
        [name, spread([each[name] for each in rounds], ".3f"), f"{GOALS[name]:g}" if name in GOALS else ""]
        for name in rounds[0]
    ]
    ratios = [
        spread([each[name.replace("posvec", "gensim")] / each[name] for each in rounds], ".1f")
        for name in rounds[0]
        if name.replace("posvec", "gensim") != name and name.replace("posvec", "gensim") in rounds[0]
    ]
    least = statistics.median(each["python, nothing else"] for each in rounds)
    settings = f"--rounds {arguments.rounds} --words {arguments.words} --buckets {arguments.buckets}"
    return f"""# Starting up

Seconds by the clock, median (lowest–highest) of {len(rounds)} rounds of new processes, posvec and gensim alternating.
An import or a help counts from the start of Python, which alone takes {least:.3f}; opening a subword model of
{arguments.words:,} words, 300 features and {arguments.buckets:,} buckets (posvec keeps those in use) counts without the
import.

{table(["", "seconds", "goal: below"], rows)}

gensim's time over posvec's, within a round: import {ratios[0]}, opening {ratios[1]}.

{made_by(f"python benchmarks/startup.py {settings}", "gensim", "numpy")}"""


if __name__ == "__main__":
    main()
