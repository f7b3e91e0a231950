"""Importance of positions: the lengths of the positional vectors, scaled to 0..1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posvec.evaluation.results import Result, Table
from posvec.model import Model


@dataclass(frozen=True)
class PositionImportance(Result):
    """The l2 norm of d_p for each position p, min-max scaled to 0..1 within each model.

    Attributes
    ----------
    models
        For each model, by name, the importance of each position.

    Examples
    --------
    >>> from posvec.evaluation.positions import PositionImportance
    >>> result = PositionImportance({"model": {-1: 1.0, 1: 0.0}})
    >>> result.positions
    [-1, 1]
    """

    models: Mapping[str, Mapping[int, float]]

    @property
    def positions(self) -> list[int]:
        """The positions of all models, from left to right."""
        return sorted({position for each in self.models.values() for position in each})

    def tables(self) -> list[Table]:
        """Return one table with a row for each position and a column for each model."""
        rows = [
            (f"{position:+d}", *(each.get(position) for each in self.models.values())) for position in self.positions
        ]
        return [Table("Importance of positions", ("position", *self.models), rows)]


def importance(models: Model | Mapping[str, Model]) -> PositionImportance:
    """Measure how important each position in the context window is to a model.

    Parameters
    ----------
    models
        A positional or constrained model, or several by name.

    Returns
    -------
    PositionImportance
        The importance of each position, between 0 (the least important) and 1 (the most important).

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation.positions import importance
    >>> result = importance(posvec.load("model"))
    >>> by_position = result.models["two-heads"]
    >>> min(by_position.values()), max(by_position.values())
    (0.0, 1.0)
    """
    named = {models.config.kind: models} if isinstance(models, Model) else models
    return PositionImportance({name: model.position_importance() for name, model in named.items()})
