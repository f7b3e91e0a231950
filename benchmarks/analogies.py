"""Seconds to evaluate word analogies, posvec and gensim alternating on the same vectors and questions; scores compared.

    python benchmarks/analogies.py QUESTIONS [--rounds 3] [--every 10] [-o results/benchmarks/analogies.md]

QUESTIONS is Google's questions-words.txt. The vectors are generated: 150,000 words with 300 features. In each section,
the words of a pair differ by about the same vector, so that some answers are correct. gensim would take minutes for all
questions; so in each round both answer every tenth, and posvec then answers all of them.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from posvec import WordVectors
from posvec.evaluation import analogy
from posvec.evaluation.questions import QuestionSection, read_questions
from reporting import RESULTS, commit, cpu

WORDS, DIM = 150_000, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "analogies.md")
    arguments = parser.parse_args()
    sections, _ = read_questions(arguments.questions)
    words, table = make_vectors(sections)
    ours, theirs = WordVectors.from_table(words, table), KeyedVectors(DIM)
    theirs.add_vectors(words, table)
    theirs.fill_norms()
    rounds: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.txt"
        asked = write_part(sections, arguments.every, part)
        for _ in range(arguments.rounds):
            gensim_seconds, (score, _) = timed(lambda: theirs.evaluate_word_analogies(str(part)))
            seconds, result = timed(lambda: analogy.evaluate(ours, part))
            assert result.accuracy == score, f"posvec {result.accuracy}, gensim {score}"
            all_seconds, everything = timed(lambda: analogy.evaluate(ours, arguments.questions))
            rounds.append((gensim_seconds, seconds, all_seconds))
            print(rounds[-1], score, flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(report(rounds, asked, score, everything, arguments))


def make_vectors(sections: list[QuestionSection]) -> tuple[list[str], np.ndarray]:
    random = np.random.default_rng(1)
    vectors: dict[str, np.ndarray] = {}
    for section in sections:
        offset = random.normal(size=DIM)
        for question in section.questions:
            for one, other in ((question.a, question.b), (question.c, question.answers[0])):
                base = vectors.setdefault(one.lower(), random.normal(size=DIM))
                vectors.setdefault(other.lower(), base + offset + 1.2 * random.normal(size=DIM))
    words = [*vectors, *(f"word{i}" for i in range(WORDS - len(vectors)))]
    table = random.normal(size=(WORDS, DIM))
    table[: len(vectors)] = list(vectors.values())
    order = random.permutation(WORDS)
    return [words[i] for i in order], table[order].astype(np.float32)


def write_part(sections: list[QuestionSection], every: int, path: Path) -> int:
    asked = 0
    with path.open("w", encoding="utf-8") as file:
        for section in sections:
            file.write(f": {section.name}\n")
            for a, b, c, answers in section.questions[::every]:
                file.write(f"{a} {b} {c} {answers[0]}\n")
                asked += 1
    return asked


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    value = call()
    return time.perf_counter() - started, value


def report(
    rounds: list[tuple[float, float, float]],
    asked: int,
    score: float,
    everything: analogy.AnalogyResult,
    arguments: argparse.Namespace,
) -> str:
    theirs, ours, ours_all = (statistics.median(column) for column in zip(*rounds, strict=True))
    same_questions = [one / other for one, other, _ in rounds]
    scale = everything.total / asked
    all_questions = [scale * one / other for one, _, other in rounds]

    def spread(ratios: list[float]) -> str:
        return f"{statistics.median(ratios):.0f} ({min(ratios):.0f}–{max(ratios):.0f})"

    return f"""# Word analogies

{len(rounds)} rounds, alternating in one process, {WORDS:,} generated vectors of {DIM} features, Google's questions, 3CosAdd over all words.
Seconds are medians; ratios are computed within a round: median (lowest–highest).

| | questions | seconds | score |
| --- | --- | --- | --- |
| gensim `evaluate_word_analogies` | {asked:,} | {theirs:.1f} | {score:.2%} |
| posvec `analogy.evaluate` | the same {asked:,} | {ours:.2f} | {score:.2%} |
| posvec `analogy.evaluate` | all {everything.total:,} | {ours_all:.2f} | {everything.accuracy:.2%} |

On the same questions posvec is {spread(same_questions)} times as fast. gensim's time grows with the number of questions, posvec's mostly
with the number of their words: for all questions, gensim's time, {scale:.1f} times the above, would be {spread(all_questions)} times posvec's.

Made by `python benchmarks/analogies.py questions-words.txt --rounds {arguments.rounds} --every {arguments.every}` with posvec {version("posvec")} ({commit()}),
gensim {version("gensim")}, numpy {version("numpy")}, Python {platform.python_version()}, on {cpu()}.
"""  # noqa: E501


if __name__ == "__main__":
    main()
