"""Neighbours of some words in several models, side by side.

python benchmarks/neighbors.py MODEL... [--words cat physics berlin running 87] [--topn 10]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import posvec
from reporting import table

WORDS = ("cat", "physics", "berlin", "running", "87")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument("--words", nargs="+", default=WORDS)
    parser.add_argument("--topn", type=int, default=10)
    arguments = parser.parse_args()
    models = {path.name: posvec.load(path).vectors for path in arguments.models}
    for word in arguments.words:
        near = {name: vectors.most_similar(word, topn=arguments.topn) for name, vectors in models.items()}
        print(f"\n## {word}\n")
        print(table(["rank", *near], [
            [str(rank + 1), *(f"{found[rank].word} {found[rank].similarity:.2f}" for found in near.values())]
            for rank in range(arguments.topn)
        ]))  # fmt: skip


if __name__ == "__main__":
    main()
