"""The examples in the docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import posvec

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NOT_IMPORTED = {"posvec.__main__", "posvec._kernel"}


def examples() -> Iterator[doctest.DocTest]:
    """The docstrings of posvec that have examples."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for found in pkgutil.walk_packages(posvec.__path__, "posvec."):
        if found.name not in NOT_IMPORTED and (module := imported(found.name)):
            yield from (each for each in finder.find(module, found.name) if each.examples)
    yield from (each for each in finder.find(posvec, "posvec") if each.examples)


def imported(name: str) -> ModuleType | None:
    """A module of posvec, or None if it needs a library that is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("posvec"):
            raise
        return None


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
    settings = {"dim": 32, "epochs": 2, "min_count": 1, "threads": 1}
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


PUBLIC_PACKAGES = [
    "posvec",
    "posvec.corpus",
    "posvec.datasets",
    "posvec.distributed",
    "posvec.formats",
    "posvec.interop",
    "posvec.language_model",
    "posvec.plots",
    "posvec.reproduction",
    "posvec.training",
    "posvec.tuning",
]


def public_objects() -> Iterator[object]:
    """The classes and functions that users of posvec call; a name may occur several times."""
    for name in PUBLIC_PACKAGES:
        package = importlib.import_module(name)
        yield from (getattr(package, each) for each in package.__all__)
    evaluation = importlib.import_module("posvec.evaluation")
    for found in pkgutil.iter_modules(evaluation.__path__, "posvec.evaluation."):
        if found.name != "posvec.evaluation.language_model":  # other names of what posvec.language_model defines
            module = importlib.import_module(found.name)
            yield from (
                each
                for name, each in vars(module).items()
                if not name.startswith("_") and getattr(each, "__module__", None) == found.name
            )


def test_every_public_name_has_an_example() -> None:
    named = {
        f"{each.__module__}.{each.__qualname__}": each.__doc__ or ""
        for each in public_objects()
        if (inspect.isclass(each) or inspect.isfunction(each)) and each.__module__.startswith("posvec")
    }
    assert sorted(name for name, text in named.items() if ">>>" not in text) == []
