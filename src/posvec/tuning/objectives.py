"""Objectives of a search: a number for each trained model, and whether higher or lower is better.

A measure that can also be taken of a partly trained model lets a search stop a bad trial early.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posvec.errors import ConfigError, PosvecError
from posvec.model import Model
from posvec.storage.records import TrainingProgress

# Settings that change which predictions the validation loss is a mean of, or how many negatives each prediction has: a
# model with one negative has a lower loss than the same model with ten. Losses stay comparable across other settings.
LOSS_DEPENDS_ON = frozenset(
    ("tokenizer", "errors", "min_count", "max_words", "sample", "subsampling", "negative_exponent", "negatives",
     "negative_reuse", "positions", "seed", "validation")
)  # fmt: skip
# Settings that change the vocabulary, and with it the questions that a model can answer.
VOCABULARY_DEPENDS_ON = frozenset(("tokenizer", "errors", "min_count", "max_words"))

Paths = str | Path | Iterable[str | Path]

_ALIASES = {"analogies": "accuracy", "analogy": "accuracy", "loss": "validation_loss", "time": "seconds"}


@dataclass(frozen=True)
class Objective:
    """A measure of a trained model."""

    name: str
    maximize: bool
    measure: Callable[[Model], float]
    early: Callable[[Model, TrainingProgress], float] | None = None
    """The same measure during training; None if it is only defined afterwards."""


@dataclass(frozen=True)
class TestFiles:
    """The test sets that objectives use."""

    questions: Sequence[Path] = ()
    pairs: Sequence[Path] = ()
    restrict_vocab: int | None = 200_000

    __test__ = False  # the name makes pytest think that this is a test


def choose_objectives(
    objectives: Iterable[str | Callable[[Model], float]], tests: TestFiles, searched: Iterable[str]
) -> tuple[Objective, ...]:
    """Return the given objectives; by default, accuracy if there are questions, or else similarity."""
    chosen = list(objectives) or (["accuracy"] if tests.questions else ["similarity"] if tests.pairs else [])
    if not chosen:
        raise ConfigError(
            "a search needs an objective: give --questions FILE for the accuracy of analogies, --pairs FILE for "
            "similarity, or --objective validation_loss"
        )
    return make_objectives(chosen, tests, searched)


def make_objectives(
    objectives: Iterable[str | Callable[[Model], float]], tests: TestFiles, searched: Iterable[str] = ()
) -> tuple[Objective, ...]:
    """Return the objectives of a search over the settings ``searched``.

    An objective is accuracy (of analogies), similarity (mean Spearman correlation), validation_loss, seconds (of
    training), or a function that takes a model and returns a number, also by its name ``module:function``. A function
    is maximized, or minimized if its name is preceded by ``-``.
    """
    searched = frozenset(searched)
    made: list[Objective] = []
    for each in objectives:
        objective = _from_function(each, each.__name__, True) if callable(each) else _from_name(each, tests, searched)
        if objective.name in [other.name for other in made]:
            raise ConfigError(f"the objective {objective.name} is given twice; give it once")
        made.append(objective)
    return tuple(made)


def _from_name(text: str, tests: TestFiles, searched: frozenset[str]) -> Objective:
    name = text.removeprefix("-")
    name = _ALIASES.get(name, name)
    if ":" in name:
        return _from_function(_import_function(name), name, maximize=not text.startswith("-"))
    if name not in _BUILDERS:
        raise ConfigError(
            f"there is no objective {name!r}; choose from {', '.join(_BUILDERS)}, or give a function as module:function"
        )
    objective = _BUILDERS[name](tests, searched)
    if text.startswith("-") and objective.maximize:
        raise ConfigError(f"a higher {name} is better; remove the - from {text}")
    return objective


def _accuracy_objective(tests: TestFiles, searched: frozenset[str]) -> Objective:
    from posvec.evaluation import analogy
    from posvec.evaluation.questions import read_questions

    if not tests.questions:
        raise ConfigError("the objective accuracy needs word analogies; give a file of them with --questions")
    read_questions(tests.questions)  # reports mistakes in the files before training starts
    vocabulary_varies = bool(searched & VOCABULARY_DEPENDS_ON)

    def measure(model: Model) -> float:
        result = analogy.evaluate(model, tests.questions, restrict_vocab=tests.restrict_vocab)
        # A smaller vocabulary can answer fewer and easier questions, so skipped questions count as wrong answers.
        return result.correct / (result.total + result.skipped) if vocabulary_varies else result.accuracy

    return Objective("accuracy", True, measure, lambda model, progress: measure(model))


def _similarity_objective(tests: TestFiles, searched: frozenset[str]) -> Objective:
    from posvec.evaluation import similarity
    from posvec.evaluation.questions import read_pairs
    from posvec.system.files import find_files

    if not tests.pairs:
        raise ConfigError("the objective similarity needs pairs of words; give a file of them with --pairs")
    for file in (file for path in tests.pairs for file in find_files(path)):
        read_pairs(file)
    coverage_varies = bool(searched & (VOCABULARY_DEPENDS_ON | {"subwords"}))

    def measure(model: Model) -> float:
        files = similarity.evaluate(model, tests.pairs).files
        if coverage_varies:  # missing pairs get a similarity of 0, so that all models are measured on all pairs
            return float(np.mean([similarity.spearman(file.scores, np.nan_to_num(file.cosines)) for file in files]))
        return float(np.mean([file.spearman for file in files]))

    return Objective("similarity", True, measure, lambda model, progress: measure(model))


def _validation_loss_objective(tests: TestFiles, searched: frozenset[str]) -> Objective:
    if changing := sorted(searched & LOSS_DEPENDS_ON):
        raise ConfigError(
            f"validation losses cannot be compared between values of {changing[0]}, which changes what the loss is "
            f"measured on; leave {changing[0]} out of the search, or use the objective accuracy or similarity"
        )

    def measure(model: Model) -> float:
        assert model.report is not None
        assert model.report.validation_loss is not None
        return model.report.validation_loss

    # During training the training loss stands in: in the first epoch, it too is measured on text not yet trained on.
    return Objective("validation_loss", False, measure, lambda model, progress: progress.loss)


def _seconds_objective(tests: TestFiles, searched: frozenset[str]) -> Objective:
    def measure(model: Model) -> float:
        assert model.report is not None
        return model.report.seconds

    return Objective("seconds", False, measure)


_BUILDERS: dict[str, Callable[[TestFiles, frozenset[str]], Objective]] = {
    "accuracy": _accuracy_objective,
    "similarity": _similarity_objective,
    "validation_loss": _validation_loss_objective,
    "seconds": _seconds_objective,
}


def _from_function(function: Callable[[Model], float], name: str, maximize: bool) -> Objective:
    def measure(model: Model) -> float:
        try:
            value = float(function(model))
        except PosvecError:
            raise
        except Exception as error:
            raise PosvecError(
                f"the objective {name} failed: {type(error).__name__}: {error}; it must take a model and return a "
                "number"
            ) from error
        if not math.isfinite(value):
            raise PosvecError(f"the objective {name} returned {value}; it must return a finite number")
        return value

    return Objective(name, maximize, measure, lambda model, progress: measure(model))


def _import_function(name: str) -> Callable[[Model], float]:
    module, _, attribute = name.partition(":")
    # Files of the current folder can be imported too, as with python -m.
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"the objective {name} cannot be imported: {error}; give module:function, where the module is installed or "
            "a file in this folder"
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(function):
        raise ConfigError(f"the objective {name} is not a function, but {type(function).__name__}; name a function")
    found: Callable[[Model], float] = function
    return found
