"""Extremes of text and shape, through all that is done with a model: each step works, or one sentence says why not.

    python reliability/extremes.py [CASE ...] [-o results/reliability/extremes.md]

Without names, all cases but the vocabulary of 10 million words, which takes minutes and 5 GB: `extremes.py vocabulary`.
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


class Case(NamedTuple):
    about: str
    text: Callable[[], Iterator[str]]
    """Pieces of a file."""
    settings: dict[str, Any] = {}  # noqa: RUF012
    kinds: tuple[str, ...] = tuple(MODELS)


class Outcome(NamedTuple):
    case: str
    kind: str
    step: str
    said: str
    """Empty where it worked."""
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("-o", "--output", type=Path, help="by default named after the cases, in results/reliability")
    arguments = parser.parse_args()
    outcomes: list[Outcome] = []
    for name in arguments.cases or [name for name in CASES if name != "vocabulary"]:
        for kind in CASES[name].kinds:
            with tempfile.TemporaryDirectory() as folder:
                outcomes += passed_through(name, kind, Path(folder))
            print(name, kind, [f"{each.step}: {each.said or 'works'}" for each in outcomes if each[:2] == (name, kind)])
    default = RESULTS / f"{'-'.join(['extremes', *arguments.cases])}.md"
    write(arguments.output or default, report(outcomes, " ".join(["", *arguments.cases])))


def passed_through(name: str, kind: str, folder: Path) -> list[Outcome]:
    """A case through all steps; whatever a step raises that is no sentence of posvec's ends it all."""
    case, outcomes = CASES[name], list[Outcome]()
    os.environ["POSVEC_CACHE"] = str(folder / "cache")
    text = folder / "text.txt"
    with text.open("w") as file:
        file.writelines(case.text())

    @contextmanager
    def step(which: str) -> Iterator[None]:
        begin, said = time.monotonic(), ""
        try:
            yield
        except PosvecError as error:
            said = re.sub(r"\w{50,}", "…", str(error).replace(str(folder), "")).replace("|", "/")
        outcomes.append(Outcome(name, kind, which, said, time.monotonic() - begin))

    with step("train and save"):
        posvec.train(text, kind, output=folder / "model", **{**COMMON, **case.settings})
    if outcomes[-1].said:
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
    for ending in (".txt", ".bin", ".npz"):
        with step(f"convert to {ending}"):
            convert(folder / "model", folder / f"vectors{ending}")
            vectors = load_vectors(folder / f"vectors{ending}")
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
    """Each of them twice, in two orders."""
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
        "words of 10,000 characters that repeat themselves", lines([each * 2000 for each in WORDS], 20, 8)
    ),
    "one-line": Case("a file of one line without an end", lines(WORDS, 1, 5000, end="")),
    "identical": Case("all words identical, so a vocabulary of one word", lines(["same"], 100, 50)),
    "one-word": Case("a vocabulary of one word, others passed over", lines(WORDS, 100, 50), {"max_words": 1}),
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
        said = sorted({each.said for each in some if each.said})

        def cell(kind: str, step: str, some: list[Outcome] = some, said: list[str] = said) -> str:
            found = [each for each in some if (each.kind, each.step) == (kind, step)]
            if not found:
                return "–"
            return f"says {said.index(found[0].said) + 1}" if found[0].said else f"works, {found[0].seconds:.1f} s"

        notes = "".join(f"\n{number}. {each}" for number, each in enumerate(said, 1))
        rows = [[step, *(cell(kind, step) for kind in kinds)] for step in steps]
        sections.append(f"## {CASES[name].about}\n\n{table(['step', *kinds], rows)}\n{notes}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"""# Extremes

Each case through all that is done with a model. A step works, or says why not in one sentence, numbered below its
table; anything else would have ended the program. Peak memory {peak:,.0f} MB.

{"".join(f"{each}{chr(10)}" for each in sections)}
{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(f"python reliability/extremes.py{names}", "numpy")}"""


if __name__ == "__main__":
    main()
