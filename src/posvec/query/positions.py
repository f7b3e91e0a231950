"""Positional vectors of a model, and how important each position is."""

from __future__ import annotations

import numpy as np

from posvec.config import Config
from posvec.errors import ConfigError, PosvecError
from posvec.query.parsing import parse_integer
from posvec.system.arrays import FloatArray
from posvec.system.mapping import check_mapped


class PositionQueries:
    """Methods of models that read their positional vectors."""

    config: Config
    positional_vectors: FloatArray

    @property
    def positions(self) -> list[int]:
        """The positions -c..-1, 1..c, in the order of the rows of ``positional_vectors``."""
        window = self.config.model.window
        return [*range(-window, 0), *range(1, window + 1)]

    def position(self, position: int) -> FloatArray:
        """Return d_p, of shape (D',), for p in -c..-1, 1..c.

        Examples
        --------
        >>> import posvec
        >>> model = posvec.load("model")
        >>> bool((model.position(-1) == model.positional_vectors[model.positions.index(-1)]).all())
        True
        """
        window, number = self.config.model.window, parse_integer("a position", position)
        if number == 0 or abs(number) > window:
            raise ConfigError(
                f"there is no position {position}: context words of this model are at -{window} to -1 and 1 to {window}"
            )
        check_mapped(self.positional_vectors)
        vector: FloatArray = self.positional_vectors[number + window if number < 0 else number + window - 1]
        return vector

    def position_importance(self) -> dict[int, float]:
        """Return the l2 norm of d_p for every position p, scaled to 0..1."""
        self.check_positional()
        norms = np.linalg.norm(self.positional_vectors.astype(np.float64), axis=1)
        span = norms.max() - norms.min()
        scaled = (norms - norms.min()) / (span if span > 0 else 1)
        return dict(zip(self.positions, scaled.tolist(), strict=True))

    def check_positional(self) -> None:
        """Raise PosvecError if the model has no positional vectors, or if they are not finite."""
        if self.config.model.positional_dim == 0:
            raise PosvecError(
                f"a {self.config.kind} model has no positional vectors; train a positional or constrained model"
            )
        self.check_finite_positions()

    def check_finite_positions(self) -> None:
        """Raise PosvecError if a number of the positional vectors is infinite or undefined."""
        check_mapped(self.positional_vectors)
        finite = np.isfinite(self.positional_vectors).all(1)
        if not finite.all():
            raise PosvecError(
                f"the positional vector of position {self.positions[int(finite.argmin())]} is not finite; train the "
                "model again or restore it from a copy"
            )
