"""Seconds to start: importing posvec, posvec --help, opening a model; in new processes, alternating with gensim.

    python benchmarks/startup.py [--rounds 10] [--words 150000] [--buckets 2000000] [-o RESULT.md]

Both programs save a generated subword model of the size of one trained on Wikipedia in a temporary folder (about 4 GB);
it is in the system's cache when it is read. Times are wall-clock times of whole processes; opening excludes the import.
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
    parser.add_argument("--buckets", type=int, default=2_000_000, help="of gensim's model, which stores all buckets")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "startup.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        word = save_models(Path(name), arguments.words, arguments.buckets)
        contestants = {
            "python, nothing else": process(["-c", "pass"]),
            "import posvec": process(["-c", "import posvec"]),
            "import gensim": process(["-c", "import gensim"]),
            "posvec --help": process(["-c", "from posvec.cli import main; main()", "--help"]),
            "opening a model and reading a vector, posvec": opening("posvec", Path(name) / "posvec", word),
            "opening a model and reading a vector, gensim": opening("gensim", Path(name) / "gensim", word),
        }
        rounds: list[dict[str, float]] = []
        for number in range(-1, arguments.rounds):  # round -1 fills caches and is not counted
            seconds = {name: call() for name, call in contestants.items()}
            print(number, seconds, flush=True)
            if number >= 0:
                rounds.append(seconds)
    write(arguments.output, report(rounds, arguments))


def save_models(folder: Path, words: int, buckets: int) -> str:
    """Save models with the same vocabulary by both programs; return a word of it."""
    from gensim.models import FastText

    model = make_model(words, 300)
    model.save(folder / "posvec")
    vocabulary = model.vocabulary
    peer = FastText(vector_size=300, window=5, min_count=5, bucket=buckets, min_n=3, max_n=6)
    peer.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    peer.save(str(folder / "gensim"))
    return vocabulary.words[words // 2]


def process(arguments: Sequence[str]) -> Callable[[], float]:
    """A function that runs a process and returns its seconds."""

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
    return f"""# Startup time

Wall-clock seconds, median (lowest–highest) of {len(rounds)} rounds of new processes, posvec and gensim alternating.
Times of imports and of --help include the start of Python, which takes {least:.3f}; opening a subword model of
{arguments.words:,} words, 300 features and {arguments.buckets:,} buckets (posvec stores those in use) excludes the
import.

{table(["", "seconds", "goal: below"], rows)}

gensim's time over posvec's, within a round: import {ratios[0]}, opening {ratios[1]}.

{made_by(f"python benchmarks/startup.py {settings}", "gensim", "numpy")}"""


if __name__ == "__main__":
    main()
