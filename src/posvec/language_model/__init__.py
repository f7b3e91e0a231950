"""Language modelling with word vectors: a recurrent network whose lookup table they are, and its perplexity.

from posvec import plots
from posvec import language_model

trained = language_model.train("model", "wikitext-2", "run", epochs=10)
trained.report.test_perplexity
trained.generate("the king")
plots.save(plots.perplexities(language_model.compare(["run", "other-run"])), "curves.svg")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Imported when first used, as in posvec itself: the command line needs no more than the settings to show its help.
_PUBLIC = {
    "Comparison": "comparison",
    "LanguageModelConfig": "config",
    "LanguageModelReport": "report",
    "compare": "comparison",
    "load": "running",
    "resume": "running",
    "train": "running",
}
__all__ = ["Comparison", "LanguageModelConfig", "LanguageModelReport", "compare", "load", "resume", "train"]

if TYPE_CHECKING:
    from posvec.language_model.comparison import Comparison, compare
    from posvec.language_model.config import LanguageModelConfig
    from posvec.language_model.report import LanguageModelReport
    from posvec.language_model.running import load, resume, train


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
