"""Training on a Ray cluster (extra ``distributed``), for corpora and vocabularies that are too large for one machine.

Counting and encoding give the same results as on one machine. Training is local stochastic gradient descent: every
worker trains a replica on its part of the text, and the workers exchange their changes (``worker_pool.py``,
``plan.py``). docs/scale.md describes what to expect of many workers.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import canonical_names
from posvec.distributed.options import SETTINGS, Options, make_options
from posvec.errors import ConfigError

if TYPE_CHECKING:
    from posvec.corpus.sources import Source
    from posvec.model import Model
    from posvec.tuning.results import SearchResult

__all__ = ["SETTINGS", "Options", "resume", "search", "train"]


def train(corpus: Source, model: str | None = None, *, cluster: str = "auto", **arguments: Any) -> Model:
    """Train a model on a cluster, like :func:`posvec.train`.

    Parameters
    ----------
    corpus, model
        As in :func:`posvec.train`. Every node must be able to read the files of the corpus.
    cluster
        The address of a cluster, or ``auto``: the cluster of this machine, or a new one if there is none.
    **arguments
        The other arguments of :func:`posvec.train`, except ``time``, and the settings of :class:`Options`; ``threads``
        is the number of threads of each worker.

    Returns
    -------
    Model
        The trained model; ``report.cluster`` describes the exchanges.

    Examples
    --------
    >>> from posvec import distributed
    >>> model = distributed.train("corpus.txt", workers=4, threads=8)  # doctest: +SKIP
    """
    from posvec.distributed.cluster import ClusterBackend, connected
    from posvec.training import pipeline

    options, others = _split(arguments)
    others = canonical_names(others)
    if others.get("time") is not None:
        raise ConfigError("time is measured on one machine alone; on a cluster, give epochs")
    with connected(cluster, options, others.get("threads")):
        return pipeline.train(corpus, model, backend=ClusterBackend(options), **others)


def resume(
    path: str | os.PathLike[str], corpus: Source | None = None, *, cluster: str = "auto", **arguments: Any
) -> Model:
    """Resume interrupted training on a cluster, like :func:`posvec.resume`; it may have begun elsewhere.

    Parameters
    ----------
    path, corpus
        As in :func:`posvec.resume`.
    cluster
        The address of a cluster, as in :func:`train`.
    **arguments
        The other arguments of :func:`posvec.resume`, and the settings of :class:`Options`.

    Returns
    -------
    Model
        The trained model.

    Examples
    --------
    >>> from posvec import distributed
    >>> model = distributed.resume("model", workers=4, threads=8)  # doctest: +SKIP
    """
    from posvec.distributed.cluster import ClusterBackend, connected
    from posvec.training import pipeline

    options, others = _split(arguments)
    with connected(cluster, options, others.get("threads")):
        return pipeline.resume(path, corpus, backend=ClusterBackend(options), **others)


def search(
    corpus: Source,
    model: str | None = None,
    *,
    output: str | os.PathLike[str],
    cluster: str = "auto",
    workers: int = 2,
    **arguments: Any,
) -> SearchResult:
    """:func:`posvec.tuning.search` with several workers of a cluster, each of which trains whole models.

    Every node must be able to read the corpus, the test files, and the folder of the study or the database of its
    ``storage``.

    Parameters
    ----------
    corpus, model, output
        As in :func:`posvec.tuning.search`.
    cluster
        The address of a cluster, as in :func:`train`.
    workers
        The number of trials that run at the same time.
    **arguments
        The other arguments of :func:`posvec.tuning.search`; ``threads`` is the number of threads of each worker.

    Returns
    -------
    SearchResult
        All trials of the search.

    Examples
    --------
    >>> from posvec import distributed
    >>> result = distributed.search("corpus.txt", output="study", workers=4, trials=20)  # doctest: +SKIP
    """
    from posvec.distributed.cluster import ClusterBackend, connected
    from posvec.distributed.searching import run_together
    from posvec.tuning import search as run

    options = make_options(workers=workers)
    with connected(cluster, options, arguments.get("threads")):
        threads = ClusterBackend(options).threads(arguments.get("threads") or 0)
        runner = partial(run_together, workers=options.workers, threads=threads)
        return run(corpus, model, output=Path(output).absolute(), runner=runner, **arguments)


def _split(arguments: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    options = make_options(**{name: value for name, value in arguments.items() if name in SETTINGS})
    return options, {name: value for name, value in arguments.items() if name not in SETTINGS}
