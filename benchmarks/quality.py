"""Quality of the vectors of posvec, gensim and fastText on parts of a corpus, at their defaults and tuned.

    python benchmarks/quality.py TEXT DATA --work FOLDER [--sizes N ...] [--trainers NAME ...] [--only PATTERN ...]
                                 [--seeds N ...] [--best COUNT SIZE] [--list] [--report] [-o OUTPUT]

TEXT is raw text, not compressed, with one paragraph per line; DATA has analogy/ and similarity/ (see
benchmarks/README.md). A run is a trainer, the name of its settings, a number of words and a seed. It is trained and
measured in a separate process (benchmarks/quality_run.py) and appended to OUTPUT.jsonl when it ends. Runs that are
there already are not repeated, so that an interrupted benchmark continues where it was. A part of the text with so many
words is written once into the folder given by --work, with a tokenized copy for the programs that do not tokenize.

--best 2 1000000 makes only the two settings of each trainer that had the highest means at 1,000,000 words, of those
that --only leaves. --list shows the runs and whether they are finished. --report writes OUTPUT.md from the finished
runs (benchmarks/quality_report.py) and trains nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from quality_report import report
from reporting import HERE, RESULTS, write
from runs import Run, keep_run, read_runs, run_process

Settings = dict[str, Any]

# What the tuned settings of gensim and of fastText change in the defaults, each in the program's own words.
GENSIM = {"vector_size": 300, "window": 5, "negative": 10, "sample": 1e-4, "epochs": 15}
FASTTEXT = {"dim": 300, "ws": 5, "neg": 10, "t": 1e-4, "epoch": 15}
CBOW = GENSIM | {"alpha": 0.05}
SKIPGRAM = GENSIM | {"alpha": 0.025}

# The settings of every trainer by name. Everything that is not given has the program's own default, except that all
# have as many threads.
SETTINGS: dict[str, dict[str, Settings]] = {
    "posvec": {"defaults": {}},
    "gensim-cbow": {
        "defaults": {},
        "d300": CBOW,
        "d300-lr0.025": CBOW | {"alpha": 0.025},
        "d300-sample1e-3": CBOW | {"sample": 1e-3},
        "d300-sample1e-5": CBOW | {"sample": 1e-5},
        "d300-window10": CBOW | {"window": 10},
        "d300-negatives5": CBOW | {"negative": 5},
        "d300-min_count3": CBOW | {"min_count": 3},
        "d300-epochs5": CBOW | {"epochs": 5},
        "d300-epochs5-sample1e-5": CBOW | {"epochs": 5, "sample": 1e-5},
        "d300-epochs5-window10": CBOW | {"epochs": 5, "window": 10},
    },
    "gensim-skipgram": {
        "defaults": {},
        "d300": SKIPGRAM,
        "d300-lr0.05": SKIPGRAM | {"alpha": 0.05},
        "d300-sample1e-3": SKIPGRAM | {"sample": 1e-3},
        "d300-sample1e-5": SKIPGRAM | {"sample": 1e-5},
        "d300-window10": SKIPGRAM | {"window": 10},
        "d300-negatives5": SKIPGRAM | {"negative": 5},
        "d300-min_count3": SKIPGRAM | {"min_count": 3},
        "d300-epochs5": SKIPGRAM | {"epochs": 5},
        "d300-epochs5-sample1e-5": SKIPGRAM | {"epochs": 5, "sample": 1e-5},
        "d300-epochs5-window10": SKIPGRAM | {"epochs": 5, "window": 10},
    },
    "gensim-fasttext": {
        "defaults": {},
        "d300": CBOW,
        "d300-ngrams5-5": CBOW | {"min_n": 5, "max_n": 5},
        "d300-epochs5": CBOW | {"epochs": 5},
        "d300-epochs5-sample1e-5": CBOW | {"epochs": 5, "sample": 1e-5},
    },
    "fasttext-skipgram": {
        "defaults": {},
        "d300": FASTTEXT,
        "d300-lr0.025": FASTTEXT | {"lr": 0.025},
        "d300-sample1e-3": FASTTEXT | {"t": 1e-3},
        "d300-sample1e-5": FASTTEXT | {"t": 1e-5},
        "d300-window10": FASTTEXT | {"ws": 10},
        "d300-ngrams5-5": FASTTEXT | {"minn": 5, "maxn": 5},
        "d300-ngrams4-5": FASTTEXT | {"minn": 4, "maxn": 5},
        "d300-epochs5": FASTTEXT | {"epoch": 5},
        "d300-epochs5-sample1e-5": FASTTEXT | {"epoch": 5, "t": 1e-5},
        "d300-epochs5-ngrams5-5": FASTTEXT | {"epoch": 5, "minn": 5, "maxn": 5},
    },
    "fasttext-cbow": {
        "defaults": {},
        "d300": FASTTEXT,
        "d300-lr0.1": FASTTEXT | {"lr": 0.1},
        "d300-sample1e-3": FASTTEXT | {"t": 1e-3},
        "d300-sample1e-5": FASTTEXT | {"t": 1e-5},
        "d300-window10": FASTTEXT | {"ws": 10},
        "d300-ngrams5-5": FASTTEXT | {"minn": 5, "maxn": 5},
        "d300-negatives5": FASTTEXT | {"neg": 5},
        "d300-epochs5": FASTTEXT | {"epoch": 5},
        "d300-epochs5-sample1e-5": FASTTEXT | {"epoch": 5, "t": 1e-5},
        "d300-epochs5-ngrams5-5": FASTTEXT | {"epoch": 5, "minn": 5, "maxn": 5},
    },
}

CHOICE = ("correct of all", "WS-353", "SimLex", "RW", "MTurk")  # --best goes by the mean of these


class Key(NamedTuple):
    """What distinguishes a run from others."""

    trainer: str
    name: str
    words: int
    seed: int

    def __str__(self) -> str:
        return f"{self.trainer} {self.name}, {self.words:,} words, seed {self.seed}"


def main() -> None:
    arguments = parse()
    lines = arguments.output.with_suffix(".jsonl")
    if arguments.report:
        return write(arguments.output.with_suffix(".md"), report(read_runs(lines)))
    for key in keys(arguments, read_runs(lines)):
        done = is_done(key, read_runs(lines))  # another process can have added to the file
        if arguments.list:
            print("finished" if done else "open    ", key)
        elif not done:
            print(key, flush=True)
            keep_run(lines, run(key, arguments))
    return None


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="?")
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 7_000_000, 66_500_000])
    parser.add_argument("--trainers", nargs="+", choices=SETTINGS, default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--best", type=int, nargs=2, metavar=("COUNT", "SIZE"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "quality")
    arguments = parser.parse_args()
    trains = not (arguments.list or arguments.report)
    if trains and not (arguments.text and arguments.data and arguments.work):
        parser.error("training needs TEXT, DATA and --work FOLDER")
    return arguments


def keys(arguments: argparse.Namespace, runs: list[Run]) -> Iterator[Key]:
    """The runs that are asked for: sizes one after another, in each the seeds, the trainers and their settings."""
    for words in arguments.sizes:
        for seed in arguments.seeds:
            for trainer in arguments.trainers:
                names = [name for name in SETTINGS[trainer] if any(fnmatch(name, each) for each in arguments.only)]
                if arguments.best:
                    names = best(trainer, names, *arguments.best, runs)
                yield from (Key(trainer, name, words, seed) for name in names)


def best(trainer: str, names: list[str], count: int, words: int, runs: list[Run]) -> list[str]:
    """The settings of a trainer that had the highest means over tests and seeds with so many words."""
    means = {
        name: statistics.mean(statistics.mean(run[measure] for measure in CHOICE) for run in found)
        for name in names
        if (found := [run for run in runs if (run["trainer"], run["name"], run["words"]) == (trainer, name, words)])
    }
    return sorted(means, key=lambda name: -means[name])[:count]


def is_done(key: Key, runs: list[Run]) -> bool:
    """Whether the run is among the finished ones. Exit if it was made with other settings of the same name."""
    found = [run for run in runs if (run["trainer"], run["name"], run["words"], run["seed"]) == key]
    for run in found:
        if run["settings"] != SETTINGS[key.trainer][key.name]:
            sys.exit(
                f"{key} was made with other settings, {json.dumps(run['settings'])}; rename one, or delete its line"
            )
    return bool(found)


def run(key: Key, arguments: argparse.Namespace) -> Run:
    text, tokens = write_part(arguments.text, key.words, arguments.work)
    task = {**key._asdict(), "settings": SETTINGS[key.trainer][key.name]}
    command = [sys.executable, HERE / "quality_run.py", json.dumps(task), text, tokens, arguments.data, arguments.work]
    return run_process(command, str(key))


def write_part(source: Path, words: int, folder: Path) -> tuple[Path, Path]:
    """The first lines of a text until they have so many words, and the same tokenized, as posvec does it."""
    text, tokens = (folder / f"{source.stem}-{words}.{kind}" for kind in ("txt", "tokens"))
    if not (text.exists() and tokens.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        new = [path.with_suffix(f"{path.suffix}.new") for path in (text, tokens)]
        with source.open("rb") as lines, new[0].open("wb") as raw, new[1].open("w", encoding="utf-8") as tokenized:
            left = words
            while left > 0 and (line := lines.readline()):
                raw.write(line)
                found = re.findall(r"\w+", line.decode().lower())
                left -= len(found)
                if found:
                    tokenized.write(" ".join(found) + "\n")
        for path, final in zip(new, (text, tokens), strict=True):
            path.rename(final)
    return text, tokens


if __name__ == "__main__":
    main()
