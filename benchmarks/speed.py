"""Words per second of training, posvec and gensim alternating in one process on the same lines and the same vocabulary.

    python benchmarks/speed.py TOKENIZED_TEXT [--rounds 5] [--every 10] [-o benchmarks/results/speed.md]

The vocabulary is that of the whole text; each round trains every contestant on every tenth line of it, so that a round
is short and what else the machine does falls on all contestants alike. Ratios are taken within a round.
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

import posvec
from accuracy import commit, cpu
from contestant import THREADS

KINDS = {"subword": 5, "constrained": 15, "positional": 15}


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
        words = sum(len(line.split()) for line in part.open("rb"))
        contestants = {"gensim subword c=5": gensim_trainer(arguments.corpus, part, words)}
        vocabulary = posvec.Vocabulary.count(posvec_corpus(arguments.corpus))
        for kind, window in KINDS.items():
            contestants[f"posvec {kind} c={window}"] = posvec_trainer(kind, part, vocabulary)
        rounds = []
        for number in range(arguments.rounds):
            rounds.append({name: words / train() for name, train in contestants.items()})
            print(number, {name: round(speed) for name, speed in rounds[-1].items()}, flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(report(rounds, words, len(vocabulary), arguments))


def gensim_trainer(corpus: Path, part: Path, words: int) -> Callable[[], float]:
    from gensim.models import FastText

    model = FastText(
        vector_size=300, window=5, min_count=5, sample=1e-5, negative=10, sg=0, alpha=0.05, workers=THREADS,
        bucket=2_000_000, min_n=3, max_n=6, epochs=1,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(corpus))
    lines = part.read_bytes().splitlines(keepends=True)
    tiny = part.with_name("tiny.txt")
    tiny.write_bytes(b"".join(lines[:50]))

    def seconds(path: Path, lines: int, words: int) -> float:
        started = time.monotonic()
        model.train(corpus_file=str(path), total_words=words, total_examples=lines, epochs=1)
        return time.monotonic() - started

    # Each call of train first copies the vocabulary, for some seconds whatever the text: that is not counted.
    return lambda: seconds(part, len(lines), words) - seconds(tiny, 50, 2000)


def posvec_trainer(kind: str, part: Path, vocabulary: posvec.Vocabulary) -> Callable[[], float]:
    def train() -> float:
        model = posvec.train(part, kind, tokenizer="whitespace", vocabulary=vocabulary, threads=THREADS)
        assert model.report is not None
        return model.report.seconds

    return train


def posvec_corpus(path: Path) -> object:
    from posvec.config import TextConfig
    from posvec.corpus import open_corpus

    return open_corpus(path, TextConfig(tokenizer="whitespace"))


def report(rounds: list[dict[str, float]], words: int, vocabulary: int, arguments: argparse.Namespace) -> str:
    base = next(iter(rounds[0]))
    rows = [["trainer", "words/s, median", f"times {base}, median (lowest–highest)"], ["---"] * 3]
    for name in rounds[0]:
        ratios = [each[name] / each[base] for each in rounds]
        speed = statistics.median(each[name] for each in rounds)
        rows.append(
            [name, f"{speed / 1000:,.0f}k", f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"]
        )
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"""# Speed of training

{arguments.rounds} rounds, contestants alternating in one process, {words:,} words per run under a vocabulary of
{vocabulary:,}. D = 300, 3–6-grams, 2M buckets, 10 negatives, r = 1e-5, {THREADS} threads; training alone (of
gensim also without the seconds that each call of `train` takes before it starts).

{table}

Made by `python benchmarks/speed.py TOKENIZED_TEXT --rounds {arguments.rounds} --every {arguments.every}` with posvec
{version("posvec")} ({commit()}), gensim {version("gensim")}, Python {platform.python_version()}, on {cpu()}.
"""


if __name__ == "__main__":
    main()
