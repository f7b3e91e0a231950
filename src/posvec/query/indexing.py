"""Building of the approximate neighbour index of a saved model."""

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
    """Build the neighbour index of a saved model and save it in the model's folder.

    Parameters
    ----------
    path
        The folder of the model.
    connectivity, effort, threads, progress
        As in :meth:`WordVectors.build_index`.
    overwrite
        Whether to replace an index that is already there.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Examples
    --------
    >>> from posvec.query.indexing import index_model
    >>> index_model("model", overwrite=True).name
    'neighbors.safetensors'
    """
    vectors = Model.load(path).vectors
    check_index_output(Path(path), overwrite)  # before the index is built, which may take long
    return NeighborIndex.build(vectors, connectivity, effort, threads, progress).save(overwrite)
