"""The models that the explorer shows, each with what its pages ask for again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from posvec.errors import PosvecError
from posvec.evaluation import clusters, examples
from posvec.evaluation.clusters import Clusters
from posvec.evaluation.examples import Examples
from posvec.model import Model


class OpenedModel:
    """A model under its name; what takes long to find out is found out once."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self._finding_clusters, self._finding_examples = threading.Lock(), threading.Lock()

    @property
    def clusters(self) -> Clusters:
        with self._finding_clusters:  # not by several requests at once
            return self._clusters

    @property
    def examples(self) -> Examples:
        with self._finding_examples:
            return self._examples

    def warm(self) -> Iterator[Callable[[], object]]:
        """Steps that find out all that takes long, and bring the tables into memory."""
        shape = self.model.config.model
        yield lambda: self.model.vectors.norms
        if self.model.has_outputs:
            yield lambda: self.model.output_vectors @ np.zeros(shape.dim, np.float32)
        if shape.positional_dim:
            yield lambda: self.clusters
        if shape.positional_dim and self.model.has_outputs:
            yield lambda: self.examples

    @cached_property
    def _clusters(self) -> Clusters:
        return clusters.find(self.model)

    @cached_property
    def _examples(self) -> Examples:
        return examples.find(self.model, self.clusters)


def open_models(paths: Mapping[str, Path]) -> dict[str, OpenedModel]:
    """Saved models, each under its name."""
    return {name: OpenedModel(name, Model.load(path)) for name, path in paths.items()}


@contextmanager
def warming(models: Mapping[str, OpenedModel]) -> Iterator[None]:
    """Warms the models in the background, while the first page is being looked at: of each what takes least first."""
    ended = threading.Event()

    def warm() -> None:
        for step in filter(None, chain(*zip_longest(*(each.warm() for each in models.values())))):
            if ended.is_set():
                return
            try:
                step()
            except PosvecError:
                pass  # the page that asks for it will say so
            except RuntimeError:  # a second Ctrl-C has ended Python itself, and with it its pools of threads
                if not ended.is_set():
                    raise

    thread = threading.Thread(target=warm, name="posvec-explorer-warm")
    try:
        thread.start()  # Ctrl-C may come while it starts
        yield
    finally:  # a thread that runs on while Python ends would take it down
        ended.set()
        if thread.is_alive():
            thread.join()
