"""The same training on a Ray cluster (extra ``distributed``): corpora and vocabularies that one machine cannot serve.

Counting and encoding give what they give on one machine. Training is local stochastic gradient descent: every worker
trains a replica on its share of the text, and the workers exchange what they have learnt (``crew.py``, ``plan.py``).
docs/scale.md says what to expect of many workers.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import canonical_names
from posvec.distributed.options import SETTINGS, Options, make_options
from posvec.presets import rate_of_workers

if TYPE_CHECKING:
    from posvec.corpus.sources import Source
    from posvec.model import Model
    from posvec.tuning.results import SearchResult

__all__ = ["SETTINGS", "Options", "resume", "search", "train"]


def train(corpus: Source, model: str = "constrained", *, cluster: str = "auto", **arguments: Any) -> Model:
    """:func:`posvec.train` on a cluster, with the same arguments and those of :class:`Options`.

    ``cluster``: ``auto``, which starts one on this machine if it is not a node of any, or the address of one. Files of
    the corpus must be where every node can read them; ``threads`` are those of each worker. By default, the learning
    rate of more than two workers ends at 0.15 of its start, or lower.
    """
    from posvec.distributed.cluster import Cluster, connected
    from posvec.training import pipeline

    options, others = _parted(arguments)
    others = {**_rate(options, model, others), **canonical_names(others)}
    with connected(cluster, options, others.get("threads")):
        return pipeline.train(corpus, model, backend=Cluster(options), **others)


def resume(
    path: str | os.PathLike[str], corpus: Source | None = None, *, cluster: str = "auto", **arguments: Any
) -> Model:
    """:func:`posvec.resume` on a cluster: of any training that was interrupted, on a cluster or not."""
    from posvec.distributed.cluster import Cluster, connected
    from posvec.training import pipeline

    options, others = _parted(arguments)
    with connected(cluster, options, others.get("threads")):
        return pipeline.resume(path, corpus, backend=Cluster(options), **others)


def search(
    corpus: Source,
    model: str = "constrained",
    *,
    output: str | os.PathLike[str],
    cluster: str = "auto",
    workers: int = 2,
    **arguments: Any,
) -> SearchResult:
    """:func:`posvec.tuning.search` by several workers of a cluster at once, each of which trains whole models.

    The corpus, the folder of the study (or the database of its ``storage``) and test files must be where every node can
    read them.
    """
    from posvec.distributed.cluster import Cluster, connected
    from posvec.distributed.searching import run_together
    from posvec.tuning import search as run

    options = make_options(workers=workers)
    with connected(cluster, options, arguments.get("threads")):
        threads = Cluster(options).threads(arguments.get("threads") or 0)
        runner = partial(run_together, workers=options.workers, threads=threads)
        return run(corpus, model, output=Path(output).absolute(), runner=runner, **arguments)


def _rate(options: Options, model: str, arguments: dict[str, Any]) -> dict[str, float]:
    """The learning rate of this many workers, unless a preset, a configuration or a model decides it."""
    is_default = arguments.get("preset", "posvec") == "posvec" and not arguments.get("config")
    return rate_of_workers(model, options.workers) if is_default and not arguments.get("start") else {}


def _parted(arguments: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    options = make_options(**{name: value for name, value in arguments.items() if name in SETTINGS})
    return options, {name: value for name, value in arguments.items() if name not in SETTINGS}
