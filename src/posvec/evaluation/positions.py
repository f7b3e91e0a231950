"""Importance of positions: how long the positional vector of each position is, beside those of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posvec.evaluation.results import Result, Table
from posvec.model import Model


@dataclass(frozen=True)
class PositionImportance(Result):
    """The l2 norm of d_p for each position p, min-max scaled to 0..1 within each model."""

    models: Mapping[str, Mapping[int, float]]
    """Name of the model → position → importance."""

    @property
    def positions(self) -> list[int]:
        """Those of all models, from left to right."""
        return sorted({position for each in self.models.values() for position in each})

    def tables(self) -> list[Table]:
        rows = [
            (f"{position:+d}", *(each.get(position) for each in self.models.values())) for position in self.positions
        ]
        return [Table("Importance of positions", ("position", *self.models), rows)]


def importance(models: Model | Mapping[str, Model]) -> PositionImportance:
    """How much each position matters to a model, or to several, each under its name."""
    named = {models.config.kind: models} if isinstance(models, Model) else models
    return PositionImportance({name: model.position_importance() for name, model in named.items()})
