"""Hyperparameter search with Optuna: :func:`search`, :func:`autotune` and the results that they return."""

from posvec.tuning.autotuning import autotune
from posvec.tuning.results import SearchResult, Trial
from posvec.tuning.searching import search
from posvec.tuning.study import load_study

__all__ = ["SearchResult", "Trial", "autotune", "load_study", "search"]
