"""The models that the explorer shows, each with what its pages ask for again and again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from posvec.evaluation import clusters, examples
from posvec.evaluation.clusters import Clusters
from posvec.evaluation.examples import Examples
from posvec.model import Model


class OpenedModel:
    """A model under its name; what takes long to find out is found out once."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self._finding = threading.RLock()

    @property
    def clusters(self) -> Clusters:
        with self._finding:  # not by several requests at once
            return self._clusters

    @property
    def examples(self) -> Examples:
        with self._finding:
            return self._examples

    def warm(self) -> None:
        """Find out all that takes long, and bring the tables into memory."""
        with self._finding:
            _ = self.model.vectors.norms
            self.model.output_vectors.sum()
            if self.model.config.model.positional_dim:
                _ = self._examples

    @cached_property
    def _clusters(self) -> Clusters:
        return clusters.find(self.model)

    @cached_property
    def _examples(self) -> Examples:
        return examples.find(self.model, self._clusters)


def open_models(paths: Mapping[str, Path]) -> dict[str, OpenedModel]:
    """Saved models, each under its name."""
    return {name: OpenedModel(name, Model.load(path)) for name, path in paths.items()}


def warm_in_background(models: Mapping[str, OpenedModel]) -> threading.Thread:
    """Warm one model after the other while the first page is being looked at."""

    def warm() -> None:
        for each in models.values():
            each.warm()

    thread = threading.Thread(target=warm, name="posvec-explorer-warm", daemon=True)
    thread.start()
    return thread
