"""Datasets by name: corpora and test sets that are fetched once and kept in the cache, and corpora inside posvec."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False

# Imported when first used: the processes that strip wiki markup import this package and need none of it.
_PUBLIC = {
    "CATALOGUE": "catalogue",
    "EMBEDDED_CORPORA": "embedded",
    "Dataset": "definitions",
    "Download": "definitions",
    "corpus_path": "library",
    "dataset_path": "library",
    "embedded_corpus": "embedded",
    "fetch": "library",
    "fetch_dataset": "fetching",
    "fetched_names": "library",
    "fetched_path": "library",
    "is_fetchable": "library",
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
    from typing import Any

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


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'posvec.datasets' has no attribute {name!r}")
    return getattr(import_module(f"posvec.datasets.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
