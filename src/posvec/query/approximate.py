"""Approximate nearest neighbours: an HNSW index (usearch), saved beside a model and memory-mapped when opened.

The index is stored as a safetensors file: the bytes that usearch writes and, as metadata, the digests of the model
files that it was built from. When a model is trained further or replaced, its digests change, and the old index is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.sources import ProgressCallback
from posvec.errors import ModelError, PosvecError
from posvec.query.exact import SCORES, RankedRows, top_indices
from posvec.storage.folders import Folder, load_folder
from posvec.storage.safetensors import read_tensors, write_tensors
from posvec.system.arrays import FloatArray, unit_rows
from posvec.system.extras import require_extra
from posvec.system.utf8 import decode_json

if TYPE_CHECKING:
    from posvec.query.lookup import VectorLookup
    from posvec.vectors import WordVectors

INDEX_FILE = "neighbors.safetensors"
_FORMAT = "posvec neighbors"
_ROWS = 4096  # normalized and added at a time, so that the table is never copied as a whole


class NeighborIndex:
    """An approximate nearest-neighbour index of word vectors.

    A query visits only a fraction of the words, so it is fast in large vocabularies, but may miss some neighbours.
    Build an index with :meth:`WordVectors.build_index`, or open a saved one with :meth:`WordVectors.open_index`.

    Examples
    --------
    >>> import posvec
    >>> vectors = posvec.load("model").vectors
    >>> index = vectors.build_index()
    >>> len(index)
    12
    >>> len(vectors.most_similar("cat", topn=3, index=index))
    3
    """

    def __init__(self, vectors: WordVectors, index: Any, effort: int, content: NDArray[np.uint8] | None = None) -> None:
        self._vectors = vectors
        self._index = index
        self._effort = effort
        self._content = content  # the mapped file, which usearch reads from without keeping it alive

    @staticmethod
    def build(
        vectors: WordVectors, connectivity: int, effort: int, threads: int, progress: ProgressCallback | None
    ) -> NeighborIndex:
        """Build an index of every word; the parameters are those of :meth:`WordVectors.build_index`."""
        for name, value, lowest, highest in (
            ("connectivity", connectivity, 2, 1024),
            ("effort", effort, 1, 2**20),
            ("threads", threads, 0, 2**10),
        ):
            if not lowest <= value <= highest:
                raise PosvecError(f"{name} of an index must be {lowest} to {highest:,}, not {value}")
        # Half precision halves the file. Similarities stay exact: candidates are ranked by the full vectors.
        index = require_extra("usearch.index", "ann").Index(
            ndim=vectors.vector_size, metric="ip", dtype="f16", connectivity=connectivity, expansion_add=effort
        )
        _ = vectors.norms  # raises an error if a vector is not finite
        for begin in range(0, len(vectors), _ROWS):
            ids = np.arange(begin, min(begin + _ROWS, len(vectors)))
            index.add(ids, unit_rows(vectors.table[ids]), threads=threads)
            if progress:
                progress((begin + len(ids)) / len(vectors))
        return NeighborIndex(vectors, index, effort)

    def search(
        self, vectors: VectorLookup, queries: FloatArray, topn: int, excluded: Sequence[Sequence[int]]
    ) -> Iterator[RankedRows]:
        """Find the nearest words of each query.

        Parameters
        ----------
        vectors
            The vectors that the index was built from.
        queries
            A unit vector in each row.
        topn
            How many words to find for each query.
        excluded
            For each query, the vocabulary indices of words to leave out.

        Returns
        -------
        iterator of RankedRows
            The vocabulary indices of the words found, and their cosine similarities.
        """
        self._check_built_from(vectors)
        if not len(queries) or topn < 1:
            yield from (RankedRows([], []) for _ in queries)
            return
        # Fetch twice as many candidates as requested, because half precision may order close ones wrongly.
        count = min(2 * topn + max(map(len, excluded)), len(self._index))
        self._index.expansion_search = max(self._effort, count)
        words = vectors.index_to_key
        together = max(1, SCORES // count)
        for first in range(0, len(queries), together):
            batch = slice(first, first + together)
            matches = self._index.search(queries[batch], count)
            for query, keys, size, out in zip(
                queries[batch],
                np.atleast_2d(matches.keys),
                np.atleast_1d(_counts(matches)),
                excluded[batch],
                strict=True,
            ):
                ids = np.sort([key for key in keys[:size].tolist() if key not in out])
                cosines = vectors.get_vectors([words[i] for i in ids], norm=True) @ query
                order = top_indices(cosines, topn)
                yield RankedRows(ids[order].tolist(), cosines[order].tolist())

    def save(self, overwrite: bool = False) -> Path:
        """Save the index into the folder of the model that its vectors were loaded from.

        Parameters
        ----------
        overwrite
            Whether to replace an index that is already there.

        Returns
        -------
        pathlib.Path
            The file that was written.

        Raises
        ------
        PosvecError
            If the vectors were not loaded from a saved model.
        ModelError
            If there is an index already, or if the model has changed since it was loaded.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.build_index().save(overwrite=True).name
        'neighbors.safetensors'
        >>> vectors.open_index()
        <index of neighbours of 12 words>
        """
        folder = _origin(self._vectors)
        path = check_index_output(folder.path, overwrite)
        if load_folder(folder.path).digests != folder.digests:
            raise ModelError(f"{folder.path} has changed since its vectors were loaded; load it again")
        metadata = {"format": _FORMAT, "of": json.dumps(folder.digests), "effort": str(self._effort)}
        write_tensors(path, {"index": np.frombuffer(self._index.save(), np.uint8)}, metadata)
        return path

    @staticmethod
    def open(vectors: WordVectors) -> NeighborIndex:
        """Open the index saved beside the model that the vectors were loaded from."""
        folder = _origin(vectors)
        path, remedy = folder.path / INDEX_FILE, f"rebuild it with: posvec index {folder.path} --overwrite"
        if not path.exists():
            raise ModelError(f"{folder.path} has no index of neighbours; build it with: posvec index {folder.path}")
        module = require_extra("usearch.index", "ann")
        tensors, metadata = read_tensors(path)
        try:
            if metadata["format"] != _FORMAT:
                raise ValueError(metadata["format"])
            digests, effort, content = decode_json(metadata["of"]), int(metadata["effort"]), tensors["index"]
        except (KeyError, ValueError) as error:
            raise ModelError(f"{path} is not an index of neighbours; {remedy}") from error
        if digests != folder.digests:
            raise ModelError(f"{path} was not built from the current vectors of the model; {remedy}")
        index = None
        with suppress(RuntimeError, ValueError):
            index = module.Index.restore(content.data, view=True)
        if index is None or len(index) != len(vectors) or index.ndim != vectors.vector_size:
            raise ModelError(f"{path} is damaged; {remedy}")
        return NeighborIndex(vectors, index, effort, content)

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"<index of neighbours of {len(self):,} words>"

    def _check_built_from(self, vectors: VectorLookup) -> None:
        origin, other = self._vectors.origin, getattr(vectors, "origin", None)
        if vectors is not self._vectors and (origin is None or other is None or origin.digests != other.digests):
            raise PosvecError("the index was built from other vectors; build one for these with vectors.build_index()")


def check_index_output(folder: Path, overwrite: bool) -> Path:
    """Return where to save the index of a model; raise ModelError if that would replace one without permission."""
    path = folder / INDEX_FILE
    if path.exists() and not overwrite:
        raise ModelError(f"{path} exists already; pass --overwrite (overwrite=True) to replace it")
    return path


def _origin(vectors: WordVectors) -> Folder:
    if vectors.origin is None:
        raise PosvecError(
            "an index can be saved only beside a saved model, and these vectors were not loaded from one; save the "
            "model and open it with posvec.load"
        )
    return vectors.origin


def _counts(matches: Any) -> Any:
    return matches.counts if hasattr(matches, "counts") else len(matches)
