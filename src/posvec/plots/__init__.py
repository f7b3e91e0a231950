"""Figures: each function takes a result and returns a matplotlib ``Figure``; :func:`save` writes PNG, SVG or PDF."""

from posvec.plots.calibration import calibration
from posvec.plots.epochs import perplexities, training
from posvec.plots.positional import clusters, context_words, contributions, heat_map, position_curves, positions
from posvec.plots.searches import effect, front, history, setting_importance, study
from posvec.plots.seeds import curves, densities
from posvec.plots.style import FORMATS, check_format, inline_svg, save

__all__ = [
    "FORMATS",
    "calibration",
    "check_format",
    "clusters",
    "context_words",
    "contributions",
    "curves",
    "densities",
    "effect",
    "front",
    "heat_map",
    "history",
    "inline_svg",
    "perplexities",
    "position_curves",
    "positions",
    "save",
    "setting_importance",
    "study",
    "training",
]

importance = setting_importance  # Compat: the earlier name
