"""Datasets by name: found in the cache folder, or fetched once and kept there, ready for use."""

from __future__ import annotations

import difflib
import os
import tempfile
from pathlib import Path

from posvec.datasets.catalogue import CATALOGUE
from posvec.datasets.definitions import Dataset
from posvec.datasets.downloads import is_offline
from posvec.datasets.dumps import DUMP_NAME, find_dump
from posvec.datasets.embedded import EMBEDDED_CORPORA
from posvec.datasets.fetching import FetchDisplay, SilentFetchDisplay, fetch_dataset
from posvec.datasets.folders import DatasetFolder
from posvec.errors import CorpusError, DownloadError


def dataset_path(name: str, *, offline: bool = False, display: FetchDisplay | None = None) -> Path:
    """Return the file or folder of a dataset, fetched first if it is not in the cache.

    Parameters
    ----------
    name
        A name that ``posvec data list`` shows, or ``wikipedia:LANGUAGE`` or ``wikipedia:LANGUAGE:YYYYMMDD``. Without a
        date, it is the newest dump in the cache, or if there is none, the newest that can be fetched.
    offline
        Whether to raise an error instead of fetching, as the environment variable ``POSVEC_OFFLINE=1`` does.
    display
        Shows the progress; by default nothing is shown.

    Returns
    -------
    pathlib.Path
        The file or folder.

    Raises
    ------
    CorpusError
        If there is no dataset of that name.
    DownloadError
        If it cannot be fetched.

    Examples
    --------
    >>> import posvec
    >>> posvec.dataset_path("analogies:en").name  # doctest: +SKIP
    'questions-words.txt'
    """
    return fetched_path(name) or fetch(name, offline=offline, display=display)


def corpus_path(name: str, *, offline: bool = False, display: FetchDisplay | None = None) -> Path:
    """Return the file or folder of a corpus; the parameters are those of :func:`dataset_path`.

    Raises
    ------
    CorpusError
        If the dataset is not a corpus.

    Examples
    --------
    >>> from posvec.datasets import corpus_path
    >>> corpus_path("simlex-999")
    Traceback (most recent call last):
        ...
    posvec.errors.CorpusError: simlex-999 is not a corpus ...
    """
    check_corpus(name)
    return dataset_path(name, offline=offline, display=display)


def check_corpus(name: str) -> None:
    """Raise CorpusError if a dataset is not a corpus to train on."""
    kind = CATALOGUE[name].kind if name in CATALOGUE else "corpus"
    if kind != "corpus":
        raise CorpusError(
            f"{name} is not a corpus but data for {kind}; if you mean a file of it, see: posvec data path {name}"
        )


def named_path(path: str | os.PathLike[str]) -> Path:
    """Return the file or folder of a dataset if ``path`` is its name and not an existing file; else the path itself."""
    path = Path(path)
    return dataset_path(str(path)) if is_fetchable(str(path)) and not path.exists() else path


def is_fetchable(name: str) -> bool:
    """Return whether a name is that of a dataset that can be fetched.

    Examples
    --------
    >>> from posvec.datasets import is_fetchable
    >>> is_fetchable("simlex-999"), is_fetchable("wikipedia:cs"), is_fetchable("corpus.txt")
    (True, True, False)
    """
    return name in CATALOGUE or DUMP_NAME.fullmatch(name) is not None


def fetched_path(name: str) -> Path | None:
    """Return the file or folder of a dataset in the cache, or None if it was not fetched.

    Parameters
    ----------
    name
        The name of the dataset; for a Wikipedia without a date, the newest dump in the cache is found.

    Raises
    ------
    CorpusError
        If there is no dataset of that name.

    Examples
    --------
    >>> from posvec.datasets import fetched_path
    >>> fetched_path("wikipedia:cs:20200101") is None
    True
    """
    _check_name(name)
    folders = DatasetFolder.of_dumps(name) if _is_undated_dump(name) else [DatasetFolder.of(name)]
    return next((path for folder in folders if (path := folder.data()) is not None), None)


def fetched_names() -> list[str]:
    """Return the names of all datasets in the cache.

    Examples
    --------
    >>> from posvec.datasets import fetched_names, fetched_path
    >>> all(fetched_path(name) for name in fetched_names())
    True
    """
    names = [folder.recorded_name for folder in DatasetFolder.all() if folder.data() is not None]
    return [name for name in names if is_fetchable(name)]


def fetch(name: str, *, overwrite: bool = False, offline: bool = False, display: FetchDisplay | None = None) -> Path:
    """Fetch a dataset into the cache.

    Unlike :func:`dataset_path`, it looks for a newer Wikipedia dump if ``name`` has no date.

    Parameters
    ----------
    name
        The name of the dataset.
    overwrite
        Whether to fetch the dataset even if it is in the cache.
    offline, display
        As in :func:`dataset_path`.

    Returns
    -------
    pathlib.Path
        The file or folder of the dataset.

    Examples
    --------
    >>> from posvec.datasets import fetch
    >>> fetch("wikipedia:cs")  # doctest: +SKIP
    """
    _check_name(name)
    display = display or SilentFetchDisplay()
    offline = offline or is_offline()
    cached = None if overwrite else fetched_path(name)
    if cached is not None and (offline or not _is_undated_dump(name)):
        DatasetFolder(cached.parent).remove_downloads()
        return cached
    if offline:
        raise DownloadError(
            f"{name} is not in the cache and cannot be fetched in offline mode; leave out --offline (or unset "
            f"POSVEC_OFFLINE), and run: posvec data fetch {name}"
        )
    return fetch_dataset(CATALOGUE.get(name) or _find_dump(name, display), overwrite=overwrite, display=display)


def _check_name(name: str) -> None:
    if is_fetchable(name):
        return
    if name in EMBEDDED_CORPORA:
        raise CorpusError(f"{name} is part of posvec and has no file; train on it by its name: posvec train {name} ...")
    similar = difflib.get_close_matches(name, [*CATALOGUE, *EMBEDDED_CORPORA, "wikipedia:en"], 3)
    hint = f"did you mean {' or '.join(similar)}? " if similar else ""
    raise CorpusError(f"there is no dataset {name!r}; {hint}posvec data list shows all (and wikipedia:LANGUAGE)")


def _is_undated_dump(name: str) -> bool:
    dump = DUMP_NAME.fullmatch(name)
    return dump is not None and not dump["date"]


def _find_dump(name: str, display: FetchDisplay) -> Dataset:
    dump = DUMP_NAME.fullmatch(name)
    assert dump
    with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
        return find_dump(dump["language"], dump["date"], Path(folder), display.note)
