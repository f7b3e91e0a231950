"""Fetching of a dataset: download its files, unpack or extract the data, and keep them in the cache."""

from __future__ import annotations

import contextlib
import shutil
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from posvec.datasets.archives import unpack
from posvec.datasets.definitions import Dataset
from posvec.datasets.downloads import download
from posvec.datasets.folders import DatasetFolder
from posvec.errors import CorpusError, DownloadError
from posvec.system.atomic import replacing
from posvec.system.console import format_size
from posvec.system.extras import require_extra


class FetchDisplay(Protocol):
    """Shows the progress of fetching: ``stage`` yields a function that takes the fraction done."""

    def stage(self, name: str) -> contextlib.AbstractContextManager[Callable[[float], None]]: ...

    def note(self, text: str) -> None: ...


class SilentFetchDisplay:
    """A display that shows nothing."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float], None]]:
        yield lambda fraction: None

    def note(self, text: str) -> None: ...


def fetch_dataset(dataset: Dataset, *, overwrite: bool = False, display: FetchDisplay | None = None) -> Path:
    """Fetch a dataset by its description; it need not be in the catalogue.

    Parameters
    ----------
    dataset
        What to download, and how to unpack it.
    overwrite
        Whether to fetch the dataset even if it is in the cache.
    display
        Shows the progress; by default nothing is shown.

    Returns
    -------
    pathlib.Path
        The file or folder of the dataset.

    Examples
    --------
    >>> from posvec.datasets import Dataset, Download, fetch_dataset
    >>> downloads = (Download("https://example.org/pairs.txt"),)
    >>> dataset = Dataset("my-pairs", "similarity", "Pairs of animals.", downloads, "CC0", "None.")
    >>> fetch_dataset(dataset).name  # doctest: +SKIP
    'pairs.txt'
    """
    display = display or SilentFetchDisplay()
    folder = DatasetFolder.of(dataset.name)
    if dataset.layout == "dump":
        require_extra("wikitextparser", "wiki")  # fail before hours of downloading, not after
    with folder.locked(display.note):
        if not overwrite and (path := folder.data()) is not None:
            return path  # another process fetched it in the meantime
        prepared = _prepare(dataset, folder.downloads, _download_files(dataset, folder, display), display)
        return folder.publish(prepared, dataset)


def _download_files(dataset: Dataset, folder: DatasetFolder, display: FetchDisplay) -> list[Path]:
    hosts = sorted({urllib.parse.urlsplit(each.url).hostname or "" for each in dataset.downloads})
    size = f"{format_size(dataset.size)} " if dataset.size is not None else ""
    display.note(f"Fetching {dataset.name}: {size}from {', '.join(hosts)}, to be kept in {folder.path}")
    paths: list[Path] = []
    done = 0
    with display.stage(f"fetching {dataset.name}") as progress:
        for item in dataset.downloads:
            path = folder.downloads / item.filename

            def report(received: int, before: int = done) -> None:
                if dataset.size:
                    progress(min(1.0, (before + received) / dataset.size))

            if not path.exists():  # a file has its name only after it was checked
                download(item, path, report, display.note, dataset.name)
            done += path.stat().st_size
            paths.append(path)
    return paths


def _prepare(dataset: Dataset, folder: Path, downloads: list[Path], display: FetchDisplay) -> Path:
    """Make the data from the downloads, in the folder of the downloads."""
    stem = dataset.name.replace(":", "-")
    if dataset.layout in ("archive", "member"):
        unpacked = folder / "unpacked" / stem
        shutil.rmtree(unpacked, ignore_errors=True)
        members = [unpack(path, unpacked, _wanted(dataset)) for path in downloads]
        if dataset.layout == "archive":
            return unpacked
        if not members[0]:
            raise DownloadError(
                f"{dataset.downloads[0].url} does not contain {dataset.member}; it has changed at its source"
            )
        return members[0][0]
    if dataset.layout == "file":
        return downloads[0]
    from posvec.datasets.wikipedia import dump_paragraphs, section_paragraphs

    with display.stage(f"unpacking {dataset.name}") as progress:
        if dataset.layout == "sections":
            return _write_text(section_paragraphs(downloads, progress), folder / f"{stem}.txt.zst")
        return _write_text(dump_paragraphs(downloads, progress, display.note), folder / f"{stem}.txt.zst")


def _wanted(dataset: Dataset) -> Callable[[str], bool]:
    return lambda name: dataset.layout == "archive" or name == dataset.member


def _write_text(paragraphs: Iterable[str], path: Path) -> Path:
    import zstandard

    empty = True
    with replacing(path) as stream, zstandard.ZstdCompressor(3).stream_writer(stream, closefd=False) as text:
        for paragraph in paragraphs:
            empty = False
            text.write(paragraph.encode("utf-8", "replace") + b"\n")
        if empty:
            raise CorpusError(f"the files downloaded for {path.name} contain no article; fetch another dump")
    return path
