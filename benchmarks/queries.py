"""Nearest neighbours: a batch of posvec compared with a loop of gensim's most_similar, alternating.

    python benchmarks/queries.py [--words 150000] [--dim 300] [--rounds 7] [-o results/benchmarks/queries.md]

The vectors are random and clustered like those of a language. Needs gensim and usearch.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from posvec import WordVectors
from reporting import RESULTS, commit, cpu

BATCH = 100
INDEXED = 20_000  # words in the approximate index, which takes long to build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=150_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "queries.md")
    arguments = parser.parse_args()
    words = [f"w{i}" for i in range(arguments.words)]
    table = clustered(arguments.words, arguments.dim)
    ours = WordVectors.from_table(words, table)
    theirs = KeyedVectors(arguments.dim)
    theirs.add_vectors(words, table)
    draw = np.random.default_rng(2)

    def ask() -> list[str]:
        return draw.choice(words, BATCH, replace=False).tolist()

    first_ours, first_theirs = (  # they compute the norms of all words once
        seconds(lambda vectors=vectors: vectors.most_similar(words[0])) for vectors in (ours, theirs)
    )
    times: dict[str, list[float]] = {"gensim": [], "batch": [], "loop": []}
    for _ in range(arguments.rounds):
        asked = ask()
        times["gensim"].append(seconds(lambda: [theirs.most_similar(word) for word in asked]))  # noqa: B023
        times["batch"].append(seconds(lambda: ours.most_similar_batch(asked)))  # noqa: B023
        times["loop"].append(seconds(lambda: [ours.most_similar(word) for word in asked]))  # noqa: B023
        print({name: round(each[-1], 3) for name, each in times.items()}, flush=True)
    assert [[word for word, _ in each] for each in ours.most_similar_batch(asked)] == [
        [word for word, _ in theirs.most_similar(word)] for word in asked
    ]
    rows = [
        f"| {label} | {1000 * statistics.median(times[name]):,.0f} | {ratios(times['gensim'], times[name])} |"
        for label, name in (
            ("gensim, loop of `most_similar`", "gensim"),
            ("posvec, loop of `most_similar`", "loop"),
            ("posvec, `most_similar_batch`", "batch"),
        )
    ]
    arguments.output.write_text(
        f"""# Nearest neighbours

The 10 nearest neighbours of {BATCH} words among {arguments.words:,} words × {arguments.dim}; median of
{arguments.rounds} rounds, in each of which all three answered the same queries in turn. All find the same words.

| | ms for {BATCH} words | times as fast as gensim: median (lowest to highest of the rounds) |
|---|---|---|
{chr(10).join(rows)}

The first query, which computes the norms of all words, took gensim {first_theirs:.2f} s and posvec
{first_ours:.2f} s.

{indexed(words[:INDEXED], table[:INDEXED], ask=lambda: draw.choice(words[:INDEXED], 1000, replace=False).tolist())}

Made by `python benchmarks/queries.py --rounds {arguments.rounds}` with posvec {version("posvec")} ({commit()}),
gensim {version("gensim")}, NumPy {version("numpy")}, Python {platform.python_version()}, on {cpu()}.
"""
    )


def clustered(words: int, dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    draw = np.random.default_rng(1)
    centres = draw.standard_normal((words // 100, dim), np.float32)
    table = draw.standard_normal((words, dim), np.float32)
    table *= np.float32(0.7)
    table += centres[draw.integers(len(centres), size=words)]
    return table


def indexed(words: list[str], table: np.ndarray[Any, Any], ask: Callable[[], list[str]]) -> str:
    """Build time, recall and query time of the approximate index."""
    vectors, built = WordVectors.from_table(words, table), []
    building = seconds(lambda: built.append(vectors.build_index()))
    exact: list[Any] = []
    found: list[Any] = []
    asked = ask()
    vectors.most_similar(asked[0])  # computes the norms
    exactly = seconds(lambda: exact.extend(vectors.most_similar_batch(asked))) / len(asked)
    approximately = seconds(lambda: found.extend(vectors.most_similar_batch(asked, index=built[0]))) / len(asked)
    hits = sum(len(set(dict(one)) & set(dict(other))) for one, other in zip(exact, found, strict=True))
    return f"""The approximate index of {len(words):,} of the words took {building:.0f} s to build. It found
{hits / (10 * len(asked)):.1%} of the 10 nearest words (recall@10, {len(asked):,} queries in one batch) in
{1000 * approximately:.2f} ms each, the exact search all of them in {1000 * exactly:.2f} ms each, a time proportional
to the number of words."""


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ratios(base: list[float], times: list[float]) -> str:
    each = sorted(one / other for one, other in zip(base, times, strict=True))
    return f"{statistics.median(each):.1f} ({each[0]:.1f} to {each[-1]:.1f})"


if __name__ == "__main__":
    main()
