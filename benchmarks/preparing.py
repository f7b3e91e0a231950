"""Words per second before training, from raw text: posvec counts and encodes, gensim counts; alternating.

    python benchmarks/preparing.py TEXT [--rounds 5] [--every 10] [-o results/benchmarks/preparing.md]

TEXT is UTF-8, not tokenized, compressed or not; every tenth line of it is used. gensim has no such tokenizer: it reads
the tokens of re.findall, and in another run a file that is tokenized already, which is less work than posvec's. The
counts must be equal.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gensim.models import Word2Vec

from machine import OWN_CORES, probed
from posvec import Vocabulary
from posvec.config import TextConfig
from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from reporting import RESULTS, made_by, spread, table, write

GOAL = 10


class Run(NamedTuple):
    speed: float  # words per second
    cores: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "preparing.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw, tokenized = folder / "raw.txt", folder / "tokenized.txt"
        counts = write_sample(arguments.text, arguments.every, raw, tokenized)
        words = sum(counts.values())
        check(counts, raw, folder / "check")
        print(f"{words:,} words, {len(counts):,} of them distinct; the counts are those of re.findall", flush=True)
        contestants = {
            "posvec, counting and encoding raw text": partial(prepare_posvec, raw),
            "gensim, build_vocab on the tokens of re.findall": partial(prepare_gensim, raw),
            "gensim, build_vocab(corpus_file) on tokenized text": partial(prepare_gensim_file, tokenized),
        }
        rounds: list[dict[str, Run]] = []
        for number in range(arguments.rounds):
            rounds.append({})
            for contestant, prepare in contestants.items():
                seconds, cores = probed(prepare)
                rounds[-1][contestant] = Run(words / seconds, cores)
                print(number, contestant, rounds[-1][contestant], flush=True)
            write(arguments.output, report(rounds, words, raw.stat().st_size, arguments))


def write_sample(text: Path, every: int, raw: Path, tokenized: Path) -> Counter[str]:
    """Write every n-th line of a text as it is and as tokens; return the counts of the tokens."""
    counts: Counter[str] = Counter()
    with raw.open("wb") as plain, tokenized.open("w", encoding="utf-8") as spaced:
        for number, line in enumerate(lines_of(text)):
            if number % every == 0:
                plain.write(line + b"\n")
                tokens = tokenize(line.decode())
                counts.update(tokens)
                spaced.write(" ".join(tokens) + "\n")
    return counts


def lines_of(text: Path) -> Iterator[bytes]:
    for block in open_corpus(text, TextConfig()).blocks():
        yield from block.splitlines()  # splits bytes at line feeds and carriage returns only


def tokenize(line: str) -> list[str]:
    return re.findall(r"\w+", line.lower())


def check(counts: Counter[str], raw: Path, cache: Path) -> None:
    ours, theirs = Vocabulary.count(open_corpus(raw, TextConfig()), cache=cache), Vocabulary.from_counts(counts)
    assert ours.words == theirs.words, "posvec and re.findall find different words"
    assert ours.counts.tolist() == theirs.counts.tolist(), "posvec and re.findall count differently"


def prepare_posvec(raw: Path) -> float:
    with tempfile.TemporaryDirectory() as name:  # an empty cache
        started = time.monotonic()
        corpus = open_corpus(raw, TextConfig())
        encode(corpus, Vocabulary.count(corpus, cache=Path(name)), cache=Path(name))
        return time.monotonic() - started


def prepare_gensim(raw: Path) -> float:
    with raw.open(encoding="utf-8") as lines:
        return build_vocab(corpus_iterable=(tokenize(line) for line in lines))


def prepare_gensim_file(tokenized: Path) -> float:
    return build_vocab(corpus_file=os.fspath(tokenized))


def build_vocab(**source: object) -> float:
    """Count with one feature per word, so that allocating the tables takes no time."""
    model = Word2Vec(vector_size=1, min_count=5, negative=10, sample=1e-5)
    started = time.monotonic()
    model.build_vocab(**source)
    return time.monotonic() - started


def report(rounds: list[dict[str, Run]], words: int, size: int, arguments: argparse.Namespace) -> str:
    ours, *peers = rounds[0]
    speeds = [[name, spread([each[name].speed / 1e6 for each in rounds])] for name in rounds[0]]
    ratios = []
    for peer in peers:
        own = [each for each in rounds if min(each[ours].cores, each[peer].cores) >= OWN_CORES]
        found = [spread([each[ours].speed / each[peer].speed for each in some], ".1f") for some in (own, rounds)]
        ratios.append([peer, found[0], f"{len(own)} of {len(rounds)}", found[1]])
    command = f"python benchmarks/preparing.py TEXT --rounds {arguments.rounds} --every {arguments.every}"
    return f"""# Counting and encoding before training

{words:,} words ({size / 1e6:,.0f} MB of UTF-8), {len(rounds)} rounds, alternating in one process, files in the system's
cache; posvec uses all cores, gensim counts on one. posvec's counts equal those of `re.findall(r"\\w+",
line.lower())`.

{table(["", "million words/s: median (lowest–highest)"], speeds)}

posvec's words/s over gensim's, within a round; the goal is {GOAL} over the first. “Two cores”: rounds in which two
threads had a core each before and after both runs.

{table(["over", "two cores", "rounds", "all"], ratios)}

{made_by(command, "gensim")}"""


if __name__ == "__main__":
    main()
