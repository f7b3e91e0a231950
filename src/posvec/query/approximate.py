"""An approximate index of neighbours (usearch's HNSW), saved beside a model and mapped from its file when opened.

The file is one of safetensors: the index as usearch writes it, and, as metadata, the digests of the model's files that
it was made from. A model that is trained further or replaced has other digests, and the old index is refused.
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
from posvec.query.neighbors import Found, best
from posvec.storage.folders import Folder, load_folder, read_tensors, write_tensors
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra

if TYPE_CHECKING:
    from posvec.query.queries import Queries
    from posvec.vectors import WordVectors

INDEX_FILE = "neighbors.safetensors"
_FORMAT = "posvec neighbors"
_ROWS = 4096  # added at a time, so that no unit copy of the table is made


class NeighborIndex:
    """Finds most of the nearest words without looking at all of them; make one with ``vectors.build_index()``."""

    def __init__(self, vectors: WordVectors, index: Any, effort: int) -> None:
        self._vectors = vectors
        self._index = index
        self._effort = effort

    @staticmethod
    def build(
        vectors: WordVectors, connectivity: int, effort: int, threads: int, progress: ProgressCallback | None
    ) -> NeighborIndex:
        """Index every word; :meth:`WordVectors.build_index` says what the parameters are."""
        for name, value, least in (("connectivity", connectivity, 2), ("effort", effort, 1), ("threads", threads, 0)):
            if value < least:
                raise PosvecError(f"{name} of an index is at least {least}, and {value} is not; give a higher number")
        # Half precision halves the file and loses nothing: what is found is ranked by the vectors themselves.
        index = require_extra("usearch.index", "ann").Index(
            ndim=vectors.vector_size, metric="ip", dtype="f16", connectivity=connectivity, expansion_add=effort
        )
        for begin in range(0, len(vectors), _ROWS):
            ids = np.arange(begin, min(begin + _ROWS, len(vectors)))
            index.add(ids, vectors.table[ids] / vectors.norms[ids, None], threads=threads)
            if progress:
                progress((begin + len(ids)) / len(vectors))
        return NeighborIndex(vectors, index, effort)

    def search(
        self, vectors: Queries, queries: FloatArray, topn: int, excluded: Sequence[Sequence[int]]
    ) -> Iterator[Found]:
        """The best words of each query, a unit vector, without its ``excluded`` ones."""
        self._check_built_from(vectors)
        if not len(queries) or topn < 1:
            yield from (Found([], []) for _ in queries)
            return
        # Twice as many as asked for, as half precision may put near ones into the wrong order.
        count = min(2 * topn + max(map(len, excluded)), len(self._index))
        self._index.expansion_search = max(self._effort, count)
        matches = self._index.search(queries, count)
        words = vectors.index_to_key
        for query, keys, size, out in zip(
            queries, np.atleast_2d(matches.keys), np.atleast_1d(_counts(matches)), excluded, strict=True
        ):
            ids = np.sort([key for key in keys[:size].tolist() if key not in out])
            cosines = vectors.get_vectors([words[i] for i in ids], norm=True) @ query
            order = best(cosines, topn)
            yield Found(ids[order].tolist(), cosines[order].tolist())

    def save(self, overwrite: bool = False) -> Path:
        """Write the index into the folder of the model that its vectors were loaded from."""
        folder = _origin(self._vectors)
        path = check_index_output(folder.path, overwrite)
        if load_folder(folder.path).digests != folder.digests:
            raise ModelError(f"{folder.path} has changed since its vectors were loaded; load it again")
        metadata = {"format": _FORMAT, "of": json.dumps(folder.digests), "effort": str(self._effort)}
        write_tensors(path, {"index": np.frombuffer(self._index.save(), np.uint8)}, metadata)
        return path

    @staticmethod
    def open(vectors: WordVectors) -> NeighborIndex:
        """The index saved beside the model that the vectors were loaded from."""
        folder = _origin(vectors)
        path, again = folder.path / INDEX_FILE, f"build it again with: posvec index {folder.path} --overwrite"
        if not path.exists():
            raise ModelError(f"{folder.path} has no index of neighbours; build it with: posvec index {folder.path}")
        module = require_extra("usearch.index", "ann")
        tensors, metadata = read_tensors(path)
        try:
            if metadata["format"] != _FORMAT:
                raise ValueError(metadata["format"])
            made_of, effort, content = json.loads(metadata["of"]), int(metadata["effort"]), tensors["index"]
        except (KeyError, ValueError) as error:
            raise ModelError(f"{path} is not an index of neighbours; {again}") from error
        if made_of != folder.digests:
            raise ModelError(f"{path} was built from other vectors than the model has now; {again}")
        index = None
        with suppress(RuntimeError, ValueError):
            index = module.Index.restore(content.data, view=True)
        if index is None or len(index) != len(vectors) or index.ndim != vectors.vector_size:
            raise ModelError(f"{path} is damaged; {again}")
        opened = NeighborIndex(vectors, index, effort)
        opened._content = content  # usearch reads from it and does not hold it
        return opened

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"<index of neighbours of {len(self):,} words>"

    _content: NDArray[np.uint8] | None = None

    def _check_built_from(self, vectors: Queries) -> None:
        origin, other = self._vectors.origin, getattr(vectors, "origin", None)
        if vectors is not self._vectors and (origin is None or other is None or origin.digests != other.digests):
            raise PosvecError("the index was built from other vectors than these; use vectors.build_index()")


def check_index_output(folder: Path, overwrite: bool) -> Path:
    path = folder / INDEX_FILE
    if path.exists() and not overwrite:
        raise ModelError(f"{path} exists already; pass --overwrite (overwrite=True) to replace it")
    return path


def _origin(vectors: WordVectors) -> Folder:
    if vectors.origin is None:
        raise PosvecError(
            "an index is saved beside a saved model, and these vectors were not loaded from one; save the model and "
            "open it with posvec.load"
        )
    return vectors.origin


def _counts(matches: Any) -> Any:
    return matches.counts if hasattr(matches, "counts") else len(matches)
