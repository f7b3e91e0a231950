"""Language models: recurrent networks that use word vectors as their lookup table, and their perplexity.

from posvec import language_model, plots

trained = language_model.train("model", "wikitext-2", "run", epochs=10)
trained.report.test_perplexity
trained.generate("the king")
plots.save(plots.perplexities(language_model.compare(["run", "other-run"])), "curves.svg")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from posvec.system.lazy import lazy_names

# Public names and the modules that define them. They are imported on first use, as in posvec itself, because the
# command line needs only the settings to show its help.
_PUBLIC = {
    "Comparison": "posvec.language_model.comparison",
    "LanguageModelConfig": "posvec.language_model.config",
    "LanguageModelReport": "posvec.language_model.report",
    "PerplexityComparison": "posvec.language_model.comparison",
    "compare": "posvec.language_model.comparison",
    "load": "posvec.language_model.running",
    "resume": "posvec.language_model.running",
    "train": "posvec.language_model.running",
}
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
    from posvec.language_model.comparison import Comparison, PerplexityComparison, compare
    from posvec.language_model.config import LanguageModelConfig
    from posvec.language_model.report import LanguageModelReport
    from posvec.language_model.running import load, resume, train

__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
