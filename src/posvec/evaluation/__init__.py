"""Evaluation: every module measures one aspect of a model and returns an immutable result that renders as a table.

Quality on test sets: :mod:`.analogy`, :mod:`.similarity`, :mod:`.classification`, :mod:`.masked_words`; several models
side by side: :mod:`.compare`; before and after compression: :mod:`.compression`.

Interpretation of a model: :mod:`.masked` (predictions and explanations), :mod:`.positions`, :mod:`.clusters`,
:mod:`.context_words`, :mod:`.examples`, :mod:`.neighborhood`; what the order of words decides: :mod:`.pairs`; the
likelihood of sentences: :mod:`.sentence_scores`.

Formats and shared parts: :mod:`.questions` and :mod:`.lines` (test sets), :mod:`.lookup` (words of test sets),
:mod:`.documents` (texts), :mod:`.bootstrap` (confidence intervals), :mod:`.results` (results and tables).
"""

from __future__ import annotations

__all__ = [
    "analogy",
    "classification",
    "clusters",
    "compare",
    "compression",
    "context_words",
    "examples",
    "language_model",
    "masked",
    "masked_words",
    "neighborhood",
    "pairs",
    "positions",
    "questions",
    "results",
    "sentence_scores",
    "similarity",
]
