"""Datasets by name: corpora and test sets that are fetched once and kept in the cache, and corpora inside posvec."""

from __future__ import annotations

from posvec.system.lazy import lazy_names

TYPE_CHECKING = False

# Imported when first used: the processes that strip wiki markup import this package and need none of it.
_PUBLIC = {
    "CATALOGUE": "posvec.datasets.catalogue",
    "EMBEDDED_CORPORA": "posvec.datasets.embedded",
    "Dataset": "posvec.datasets.definitions",
    "Download": "posvec.datasets.definitions",
    "corpus_path": "posvec.datasets.library",
    "dataset_path": "posvec.datasets.library",
    "embedded_corpus": "posvec.datasets.embedded",
    "fetch": "posvec.datasets.library",
    "fetch_dataset": "posvec.datasets.fetching",
    "fetched_names": "posvec.datasets.library",
    "fetched_path": "posvec.datasets.library",
    "is_fetchable": "posvec.datasets.library",
}
__all__ = [
    "CATALOGUE",
    "EMBEDDED_CORPORA",
    "Dataset",
    "Download",
    "corpus_path",
    "dataset_path",
    "embedded_corpus",
    "fetch",
    "fetch_dataset",
    "fetched_names",
    "fetched_path",
    "is_fetchable",
]

if TYPE_CHECKING:
    from posvec.datasets.catalogue import CATALOGUE
    from posvec.datasets.definitions import Dataset, Download
    from posvec.datasets.embedded import EMBEDDED_CORPORA, embedded_corpus
    from posvec.datasets.fetching import fetch_dataset
    from posvec.datasets.library import (
        corpus_path,
        dataset_path,
        fetch,
        fetched_names,
        fetched_path,
        is_fetchable,
    )


__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
