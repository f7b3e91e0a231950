"""What a search looks for: a number per trained model, and whether more of it is better.

A measure that also says something of a half-trained model lets a search give up on a bad trial early.
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

# What the validation loss is a mean over, or of: the words that are predicted and the negatives that they are told
# from. A model with one negative has a lower loss than the same model with ten. All other settings leave it comparable.
LOSS_DEPENDS_ON = frozenset(
    ("tokenizer", "errors", "min_count", "max_words", "sample", "subsampling", "negative_exponent", "negatives",
     "negative_reuse", "positions", "seed", "validation")
)  # fmt: skip
# What decides which words there are, and with them which questions can be asked.
VOCABULARY_DEPENDS_ON = frozenset(("tokenizer", "errors", "min_count", "max_words"))

_ALIASES = {"analogies": "accuracy", "analogy": "accuracy", "loss": "validation_loss", "time": "seconds"}


@dataclass(frozen=True)
class Objective:
    """A measure of a trained model. ``early`` is the same of a model in training, None if there is no such thing."""

    name: str
    maximize: bool
    measure: Callable[[Model], float]
    early: Callable[[Model, TrainingProgress], float] | None = None


@dataclass(frozen=True)
class TestFiles:
    """What models are measured on, and how."""

    questions: Sequence[Path] = ()
    pairs: Sequence[Path] = ()
    restrict_vocab: int | None = 200_000

    __test__ = False  # pytest takes it for a test


def make_objectives(
    wanted: Iterable[str | Callable[[Model], float]], tests: TestFiles, searched: Iterable[str] = ()
) -> tuple[Objective, ...]:
    """The objectives of a search over the settings ``searched``.

    accuracy (of analogies), similarity (mean Spearman correlation), validation_loss, seconds (of training), or
    ``module:function``, which takes a model and returns a number: more is better, or less with a - in front.
    """
    searched = frozenset(searched)
    found: list[Objective] = []
    for each in wanted:
        objective = _function(each, each.__name__, True) if callable(each) else _named(each, tests, searched)
        if objective.name in [other.name for other in found]:
            raise ConfigError(f"the objective {objective.name} is named twice; name it once")
        found.append(objective)
    return tuple(found)


def _named(text: str, tests: TestFiles, searched: frozenset[str]) -> Objective:
    name = text.removeprefix("-")
    name = _ALIASES.get(name, name)
    if ":" in name:
        return _function(_imported(name), name, maximize=not text.startswith("-"))
    if name not in _BUILDERS:
        raise ConfigError(
            f"there is no objective {name!r}; choose from {', '.join(_BUILDERS)}, or give a function as module:function"
        )
    objective = _BUILDERS[name](tests, searched)
    if text.startswith("-") and objective.maximize:
        raise ConfigError(f"the more {name} the better; leave out the - of {text}")
    return objective


def _accuracy(tests: TestFiles, searched: frozenset[str]) -> Objective:
    from posvec.evaluation import analogy
    from posvec.evaluation.questions import read_questions

    if not tests.questions:
        raise ConfigError("the objective accuracy asks analogies; name a file of them with --questions")
    read_questions(tests.questions)  # a mistake in them is told before anything is trained
    skipped_count = bool(searched & VOCABULARY_DEPENDS_ON)

    def measure(model: Model) -> float:
        result = analogy.evaluate(model, tests.questions, restrict_vocab=tests.restrict_vocab)
        # Models with different words are asked different questions, the fewer words, the easier ones.
        return result.correct / (result.total + result.skipped) if skipped_count else result.accuracy

    return Objective("accuracy", True, measure, lambda model, progress: measure(model))


def _similarity(tests: TestFiles, searched: frozenset[str]) -> Objective:
    from posvec.evaluation import similarity
    from posvec.evaluation.questions import read_pairs
    from posvec.system.files import find_files

    if not tests.pairs:
        raise ConfigError("the objective similarity compares pairs of words; name a file of them with --pairs")
    for file in (file for path in tests.pairs for file in find_files(path)):
        read_pairs(file)
    absent_count = bool(searched & (VOCABULARY_DEPENDS_ON | {"subwords"}))

    def measure(model: Model) -> float:
        files = similarity.evaluate(model, tests.pairs).files
        if absent_count:  # as pairs that have nothing in common: all models are measured by all pairs
            return float(np.mean([similarity.spearman(file.scores, np.nan_to_num(file.cosines)) for file in files]))
        return float(np.mean([file.spearman for file in files]))

    return Objective("similarity", True, measure, lambda model, progress: measure(model))


def _validation_loss(tests: TestFiles, searched: frozenset[str]) -> Objective:
    if changing := sorted(searched & LOSS_DEPENDS_ON):
        raise ConfigError(
            f"validation losses cannot be compared between values of {changing[0]}, which changes what the loss is "
            f"measured on; leave {changing[0]} out of the search, or use the objective accuracy or similarity"
        )

    def measure(model: Model) -> float:
        assert model.report is not None
        assert model.report.validation_loss is not None
        return model.report.validation_loss

    # Text is seen for the first time when the loss of training on it is counted, which is as good on the way.
    return Objective("validation_loss", False, measure, lambda model, progress: progress.loss)


def _seconds(tests: TestFiles, searched: frozenset[str]) -> Objective:
    def measure(model: Model) -> float:
        assert model.report is not None
        return model.report.seconds

    return Objective("seconds", False, measure)


_BUILDERS: dict[str, Callable[[TestFiles, frozenset[str]], Objective]] = {
    "accuracy": _accuracy,
    "similarity": _similarity,
    "validation_loss": _validation_loss,
    "seconds": _seconds,
}


def _function(function: Callable[[Model], float], name: str, maximize: bool) -> Objective:
    def measure(model: Model) -> float:
        try:
            value = float(function(model))
        except PosvecError:
            raise
        except Exception as error:
            raise PosvecError(
                f"the objective {name} failed: {type(error).__name__}: {error}; it takes a model and returns a number"
            ) from error
        if not math.isfinite(value):
            raise PosvecError(f"the objective {name} returned {value}; let it return a finite number")
        return value

    return Objective(name, maximize, measure, lambda model, progress: measure(model))


def _imported(name: str) -> Callable[[Model], float]:
    module, _, attribute = name.partition(":")
    # A file beside the corpus is as good as an installed module; python -m does the same.
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"the objective {name} cannot be imported: {error}; write module:function, of an installed module or a "
            "file in this folder"
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not callable(function):
        raise ConfigError(f"the objective {name} is no function, but {type(function).__name__}; name a function")
    found: Callable[[Model], float] = function
    return found
