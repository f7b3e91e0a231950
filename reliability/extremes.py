"""Extreme texts and settings through all steps: training, saving, loading, queries, evaluation and conversion.

    python reliability/extremes.py [CASE ...] [-o results/reliability/extremes.md]

Each step must work or be refused with one line. Without names, all cases run except for the vocabulary of 10 million
words, which takes minutes and 5 GB: `extremes.py vocabulary`.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import posvec
from posvec.errors import PosvecError
from posvec.evaluation import analogy, similarity
from posvec.formats import convert, load_vectors
from posvec.presets import MODELS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from reporting import made_by, table, write

RESULTS = Path(__file__).parents[1] / "results" / "reliability"
COMMON: dict[str, Any] = {"dim": 8, "min_count": 1, "sample": 0.0, "threads": 1}
HEADS: dict[str, Any] = {"dim": 24}  # of the model with two heads: W = 16, the smallest word head


class Case(NamedTuple):
    title: str
    text: Callable[[], Iterator[str]]
    """Yields the content of the file in pieces."""
    settings: dict[str, Any] = {}  # noqa: RUF012
    kinds: tuple[str, ...] = tuple(MODELS)


class Outcome(NamedTuple):
    case: str
    kind: str
    step: str
    refusal: str
    """The message of the error; empty if the step worked."""
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("-o", "--output", type=Path, help="default: results/reliability/extremes[-CASES].md")
    arguments = parser.parse_args()
    outcomes: list[Outcome] = []
    for name in arguments.cases or [name for name in CASES if name != "vocabulary"]:
        for kind in CASES[name].kinds:
            with tempfile.TemporaryDirectory() as folder:
                outcomes += run_case(name, kind, Path(folder))
            results = [each for each in outcomes if each[:2] == (name, kind)]
            print(name, kind, [f"{each.step}: {each.refusal or 'works'}" for each in results])
    default = RESULTS / f"{'-'.join(['extremes', *arguments.cases])}.md"
    write(arguments.output or default, report(outcomes, " ".join(["", *arguments.cases])))


def run_case(name: str, kind: str, folder: Path) -> list[Outcome]:
    """Run all steps of a case. An exception that is not a PosvecError ends the program."""
    case, outcomes = CASES[name], list[Outcome]()
    settings = {**COMMON, **(HEADS if kind == "two-heads" else {}), **case.settings}
    os.environ["POSVEC_CACHE"] = str(folder / "cache")
    text = folder / "text.txt"
    with text.open("w") as file:
        file.writelines(case.text())

    @contextmanager
    def step(which: str) -> Iterator[None]:
        begin, refusal = time.monotonic(), ""
        try:
            yield
        except PosvecError as error:
            refusal = re.sub(r"\w{50,}", "…", str(error).replace(str(folder), "")).replace("|", "/")
        outcomes.append(Outcome(name, kind, which, refusal, time.monotonic() - begin))

    with step("train and save"):
        posvec.train(text, kind, output=folder / "model", **settings)
    if outcomes[-1].refusal:
        return outcomes
    with step("load"):
        model = posvec.load(folder / "model", verify=True)
        words = model.vocabulary.words
    a, b, c, d = (words[i % len(words)] for i in range(4))
    with step("most_similar"):
        assert all(np.isfinite(each.similarity) for each in model.vectors.most_similar(a, topn=3))
    with step("analogy"):
        model.vectors.most_similar([b, c], [a], topn=3)
    (folder / "questions.txt").write_text(f"{a} {b} {c} {d}\n{b} {a} {d} {c}\n")
    with step("evaluate analogy"):
        analogy.evaluate(model, folder / "questions.txt")
    (folder / "pairs.txt").write_text(f"{a}\t{b}\t1\n{a}\t{c}\t2\n{b}\t{c}\t3\n")
    with step("evaluate similarity"):
        similarity.evaluate(model, folder / "pairs.txt")
    with step("predict"):
        assert all(np.isfinite(each.score) for each in model.predict_masked(f"{a} [MASK] {b}", topn=3))
    for extension in (".txt", ".bin", ".npz"):
        with step(f"convert to {extension}"):
            convert(folder / "model", folder / f"vectors{extension}")
            vectors = load_vectors(folder / f"vectors{extension}")
            np.testing.assert_allclose(vectors[d], model.vectors[d], atol=1e-4)
    return outcomes


# ---- texts ------------------------------------------------------------------------------------------------------


def lines(words: list[str], count: int, length: int, end: str = "\n") -> Callable[[], Iterator[str]]:
    def text() -> Iterator[str]:
        draw = random.Random(1)
        for _ in range(count):
            yield " ".join(draw.choices(words, k=length)) + end

    return text


def ten_million_words() -> Iterator[str]:
    """Each word twice, in two orders."""
    for step in (1, 7_777_777):
        for begin in range(0, 10_000_000, 20):
            yield " ".join(f"{(begin + i) * step % 10_000_000:x}" for i in range(20)) + "\n"


def long_words() -> list[str]:
    draw = random.Random(2)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=10_000)) for _ in range(20)]


WORDS = [one + two for one in ("ka", "lo", "mi", "ne", "su") for two in ("ran", "tek", "mol", "bis")]
CASES = {
    "long-lines": Case("lines of 100,000 tokens", lines(WORDS, 3, 100_000)),
    "long-words": Case("words of 10,000 characters", lines(long_words(), 20, 8)),
    "repetition": Case(
        "words of 10,000 characters with repeated syllables", lines([each * 2000 for each in WORDS], 20, 8)
    ),
    "one-line": Case("a file of one line without a final line feed", lines(WORDS, 1, 5000, end="")),
    "identical": Case("identical words, so that the vocabulary has one word", lines(["same"], 100, 50)),
    "one-word": Case("a vocabulary limited to one word", lines(WORDS, 100, 50), {"max_words": 1}),
    "dim-1": Case("D = 1", lines(WORDS, 100, 50), {"dim": 1}),
    "dim-4096": Case("D = 4096", lines(WORDS, 20, 20), {"dim": 4096}),
    "window": Case("c = 65,536, larger than any line", lines(WORDS, 100, 20), {"window": 65_536}),
    "vocabulary": Case("10 million words", ten_million_words, {"dim": 4}, ("general",)),
}


def report(outcomes: list[Outcome], names: str) -> str:
    sections = []
    for name in dict.fromkeys(each.case for each in outcomes):
        some = [each for each in outcomes if each.case == name]
        kinds = list(dict.fromkeys(each.kind for each in some))
        steps = list(dict.fromkeys(each.step for each in some))
        refusals = sorted({each.refusal for each in some if each.refusal})

        def cell(kind: str, step: str, some: list[Outcome] = some, refusals: list[str] = refusals) -> str:
            found = [each for each in some if (each.kind, each.step) == (kind, step)]
            if not found:
                return "–"
            if found[0].refusal:
                return f"refused ({refusals.index(found[0].refusal) + 1})"
            return f"works, {found[0].seconds:.1f} s"

        notes = "".join(f"\n{number}. {each}" for number, each in enumerate(refusals, 1))
        rows = [[step, *(cell(kind, step) for kind in kinds)] for step in steps]
        sections.append(f"## {CASES[name].title}\n\n{table(['step', *kinds], rows)}\n{notes}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"""# Extremes

Each case runs through all steps. A step works, or is refused with one of the messages below its table; any other
exception would have ended the program. Peak memory {peak:,.0f} MB.

{"".join(f"{each}{chr(10)}" for each in sections)}
{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(f"python reliability/extremes.py{names}", "numpy")}"""


if __name__ == "__main__":
    main()
