"""Build the approximate index of a saved model, and save it beside the model."""

from __future__ import annotations

import os
from pathlib import Path

from posvec.corpus.sources import ProgressCallback
from posvec.model import Model
from posvec.query.approximate import NeighborIndex, check_index_output


def index_model(
    path: str | os.PathLike[str],
    connectivity: int = 16,
    effort: int = 128,
    threads: int = 0,
    overwrite: bool = False,
    progress: ProgressCallback | None = None,
) -> Path:
    """Build an index for a saved model and save it in its folder; returns where."""
    vectors = Model.load(path).vectors
    check_index_output(Path(path), overwrite)  # before the work
    return NeighborIndex.build(vectors, connectivity, effort, threads, progress).save(overwrite)
