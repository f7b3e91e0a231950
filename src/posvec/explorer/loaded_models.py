"""The models that the explorer shows, each with the results that its pages request repeatedly."""

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
from posvec.system.utf8 import printable_text


class LoadedModel:
    """A model and its name, with slow results computed once.

    Parameters
    ----------
    name
        The name of the model on the page and in the API.
    model
        The model.

    Examples
    --------
    >>> import posvec
    >>> from posvec.explorer.loaded_models import LoadedModel
    >>> loaded = LoadedModel("animals", posvec.load("model"))
    >>> sum(len(cluster.features) for cluster in loaded.clusters.clusters) == loaded.model.config.model.positional_dim
    True
    """

    def __init__(self, name: str, model: Model) -> None:
        self.name = printable_text(name)  # what clients send to select the model
        self.model = model
        self._clusters_lock, self._examples_lock = threading.Lock(), threading.Lock()

    @property
    def clusters(self) -> Clusters:
        """The clusters of positional features, computed by the first caller while others wait."""
        with self._clusters_lock:
            return self._clusters

    @property
    def examples(self) -> Examples:
        """The example sentences of the clusters, computed by the first caller while others wait."""
        with self._examples_lock:
            return self._examples

    def warm_up_steps(self) -> Iterator[Callable[[], object]]:
        """Return the steps that compute all slow results and read the tables into memory.

        Returns
        -------
        iterator of callables
            The steps, the fastest first; calling one does its work.
        """
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


def load_models(paths: Mapping[str, Path]) -> dict[str, LoadedModel]:
    """Open saved models under names.

    Parameters
    ----------
    paths
        The folder of each model by its name.

    Returns
    -------
    dict
        The models by their names, in the same order.

    Examples
    --------
    >>> from pathlib import Path
    >>> from posvec.explorer.loaded_models import load_models
    >>> list(load_models({"animals": Path("model")}))
    ['animals']
    """
    opened = [LoadedModel(name, Model.load(path)) for name, path in paths.items()]
    return {loaded.name: loaded for loaded in opened}


@contextmanager
def warming_up(models: Mapping[str, LoadedModel]) -> Iterator[None]:
    """Warm up models in a background thread, so that the user's first requests find their results computed.

    The thread ends with the context: after the step that it is computing.

    Parameters
    ----------
    models
        The models by their names. The thread takes the fastest step of every model first.

    Examples
    --------
    >>> from pathlib import Path
    >>> from posvec.explorer.loaded_models import load_models, warming_up
    >>> models = load_models({"animals": Path("model")})
    >>> with warming_up(models):
    ...     print("serving", *models)
    serving animals
    """
    stopped = threading.Event()

    def warm_up() -> None:
        for step in filter(None, chain(*zip_longest(*(loaded.warm_up_steps() for loaded in models.values())))):
            if stopped.is_set():
                return
            try:
                step()
            except PosvecError:
                pass  # the view that needs the result shows the error
            except RuntimeError:  # a second Ctrl-C has ended Python, and with it its thread pools
                if not stopped.is_set():
                    raise

    thread = threading.Thread(target=warm_up, name="posvec-explorer-warm-up")
    try:
        thread.start()  # inside try: Ctrl-C may come while it starts
        yield
    finally:  # a thread that still runs while Python ends would crash the process
        stopped.set()
        if thread.is_alive():
            thread.join()
