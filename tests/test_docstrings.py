"""The examples in the docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import posvec

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_IMPORTED = {"posvec.__main__", "posvec._kernel"}


def examples() -> Iterator[doctest.DocTest]:
    """The docstrings of posvec that have examples."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for found in pkgutil.walk_packages(posvec.__path__, "posvec."):
        if found.name not in NOT_IMPORTED:
            module = importlib.import_module(found.name)
            yield from (each for each in finder.find(module, found.name) if each.examples)
    yield from (each for each in finder.find(posvec, "posvec") if each.examples)


@pytest.fixture(scope="session")
def folder_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples may use: corpus.txt, model, pairs.tsv and questions.txt."""
    folder = tmp_path_factory.mktemp("examples")
    draw = random.Random(1)
    animals, verbs, places = ["cat", "dog", "horse", "cow"], ["sees", "hears", "finds"], ["house", "field", "river"]
    lines = [
        f"the {draw.choice(animals)} {draw.choice(verbs)} the {draw.choice(animals)} near the {draw.choice(places)}"
        for _ in range(2000)
    ]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    (folder / "pairs.tsv").write_text("cat\tdog\t9.0\ncat\triver\t1.5\nhouse\tfield\t5.0\nhorse\tcow\t8.5\n")
    (folder / "questions.txt").write_text(": animals\ncat dog horse cow\ndog cat cow horse\n")
    settings = {"preset": "small", "dim": 16, "epochs": 2, "min_count": 1, "threads": 1}
    posvec.train(folder / "corpus.txt", output=folder / "model", **settings)
    return folder


@pytest.mark.parametrize("example", list(examples()), ids=lambda each: each.name)
def test_an_example_prints_what_it_says(
    example: doctest.DocTest, folder_of_examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_of_examples)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=said.append)
    assert result.failed == 0, "".join(said)
