"""Language models: recurrent networks that use word vectors as their lookup table, and their perplexity.

from posvec import language_model, plots

trained = language_model.train("model", "wikitext-2", "run", epochs=10)
trained.report.test_perplexity
trained.generate("the king")
plots.save(plots.perplexities(language_model.compare(["run", "other-run"])), "curves.svg")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Public names and the modules that define them. They are imported on first use, as in posvec itself, because the
# command line needs only the settings to show its help.
_PUBLIC = {
    "LanguageModelConfig": "config",
    "LanguageModelReport": "report",
    "PerplexityComparison": "comparison",
    "compare": "comparison",
    "load": "running",
    "resume": "running",
    "train": "running",
}
_ALIASES = {"Comparison": "PerplexityComparison"}  # Compat: the names of 0.1.0
__all__ = [
    "Comparison",
    "LanguageModelConfig",
    "LanguageModelReport",
    "PerplexityComparison",
    "compare",
    "load",
    "resume",
    "train",
]

if TYPE_CHECKING:
    from posvec.language_model.comparison import PerplexityComparison, compare
    from posvec.language_model.comparison import PerplexityComparison as Comparison
    from posvec.language_model.config import LanguageModelConfig
    from posvec.language_model.report import LanguageModelReport
    from posvec.language_model.running import load, resume, train


def __getattr__(name: str) -> Any:
    defined = _ALIASES.get(name, name)
    if defined not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[defined]}"), defined)
