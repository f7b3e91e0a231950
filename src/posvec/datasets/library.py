"""Data by its name: embedded in posvec, or fetched once and kept in the cache folder, ready for use.

Every dataset has a folder below ``data`` in the cache. ``dataset.json`` says how large the data are: if they are, the
dataset is whole. Downloads, and what is made of them, wait in ``downloads`` until then, so that an interrupted fetch
goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import json
import os
import shutil
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from posvec import __version__
from posvec.corpus.cache import cache_folder, writing_to
from posvec.datasets.archives import unpack
from posvec.datasets.catalogue import CATALOGUE, Entry
from posvec.datasets.downloads import download, is_offline
from posvec.datasets.dumps import NAME, find_dump
from posvec.datasets.embedded import python_docs
from posvec.errors import CorpusError, DownloadError
from posvec.system.atomic import move_folder, replacing
from posvec.system.console import format_size
from posvec.system.extras import require_extra

DATASETS: dict[str, Callable[[], Iterator[str]]] = {"python-docs": python_docs}
"""Corpora that need no download."""

_RECORD = "dataset.json"
_DOWNLOADS = "downloads"


class Display(Protocol):
    """Shows how fetching goes."""

    def stage(self, name: str) -> contextlib.AbstractContextManager[Callable[[float], None]]: ...

    def note(self, text: str) -> None: ...


class Quiet:
    """A display that shows nothing."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float], None]]:
        yield lambda share: None

    def note(self, text: str) -> None: ...


def dataset(name: str) -> Iterator[str]:
    """The lines of an embedded corpus, one sentence each."""
    if name not in DATASETS:
        raise CorpusError(f"there is no dataset {name!r}; choose from {', '.join(sorted(DATASETS))}")
    return DATASETS[name]()


def is_fetchable(name: str) -> bool:
    """Whether ``dataset_path`` knows the name. A file of that name goes before."""
    return name in CATALOGUE or NAME.fullmatch(name) is not None


def dataset_path(name: str, *, offline: bool = False, display: Display | None = None) -> Path:
    """The file or folder of a dataset, fetched now if that was never done.

    ``offline``, or POSVEC_OFFLINE=1, keeps it from being fetched. ``wikipedia:cs`` is the newest dump that is already
    here, or if there is none, the newest there is.
    """
    return fetched_path(name) or fetch(name, offline=offline, display=display)


def corpus_path(name: str, *, offline: bool = False, display: Display | None = None) -> Path:
    """``dataset_path`` of what can be trained on."""
    check_corpus(name)
    return dataset_path(name, offline=offline, display=display)


def check_corpus(name: str) -> None:
    """Raises if the dataset is no text to train on."""
    kind = CATALOGUE[name].kind if name in CATALOGUE else "corpus"
    if kind != "corpus":
        raise CorpusError(
            f"{name} is not a corpus but data for {kind}; if you mean a file of it, see: posvec data path {name}"
        )


def named_path(path: str | os.PathLike[str]) -> Path:
    """The file or folder of a dataset, if the path is the name of one and no file has it; else the path itself."""
    path = Path(path)
    return dataset_path(str(path)) if is_fetchable(str(path)) and not path.exists() else path


def fetched_path(name: str) -> Path | None:
    """The file or folder of a dataset that was fetched, or None."""
    _check_name(name)
    folders = [_folder(name)]
    if _is_undated(name):
        folders = sorted(_folder(name).parent.glob(f"{_folder(name).name}-{'[0-9]' * 8}"), reverse=True)
    return next((path for folder in folders if (path := _whole(folder)) is not None), None)


def fetched_names() -> list[str]:
    """The names of all datasets that are here."""
    folders = sorted(_folder("").glob("*"))
    names = [str(_record(folder).get("name")) for folder in folders if _whole(folder) is not None]
    return [name for name in names if is_fetchable(name)]


def fetch(name: str, *, overwrite: bool = False, offline: bool = False, display: Display | None = None) -> Path:
    """Fetch a dataset and return its file or folder; one that is here is fetched again only with ``overwrite``."""
    _check_name(name)
    display = display or Quiet()
    offline = offline or is_offline()
    here = None if overwrite else fetched_path(name)
    if here is not None and (offline or not _is_undated(name)):
        _remove_downloads(here.parent)
        return here
    if offline:
        raise DownloadError(
            f"{name} would have to be fetched, and offline mode forbids it; leave out --offline (or unset "
            f"POSVEC_OFFLINE), and run: posvec data fetch {name}"
        )
    return fetch_entry(CATALOGUE.get(name) or _find_dump(name, display), overwrite=overwrite, display=display)


def fetch_entry(entry: Entry, *, overwrite: bool = False, display: Display | None = None) -> Path:
    """Fetch what an entry describes, of the catalogue or not."""
    display = display or Quiet()
    folder = _folder(entry.name)
    if entry.layout == "dump":
        require_extra("wikitextparser", "wiki")  # said before hours of fetching, not after
    with _locked(folder, display):
        if not overwrite and (path := _whole(folder)) is not None:
            return path  # another process was waited for
        made = _make(entry, folder, _download(entry, folder, display), display)
        place = folder / made.name
        record = {
            "name": entry.name,
            "path": place.name,
            "size": _size(made),
            "before": _before(folder),
            "downloads": [each.url for each in entry.downloads],
            "licence": entry.licence,
            "citation": entry.citation,
            "fetched": time.strftime("%Y-%m-%d %H:%M:%S"),
            "posvec": __version__,
        }
        with replacing(folder / _RECORD) as stream:
            stream.write(json.dumps(record, indent=2).encode())
        with writing_to(folder):  # killed just before, it is still what it was before, and that is recorded too
            move_folder(made, place) if made.is_dir() else made.replace(place)
        shutil.rmtree(folder / _DOWNLOADS, ignore_errors=True)
        return place


def _check_name(name: str) -> None:
    if is_fetchable(name):
        return
    if name in DATASETS:
        raise CorpusError(f"{name} is part of posvec and has no file; train on it by its name: posvec train {name} ...")
    near = difflib.get_close_matches(name, [*CATALOGUE, *DATASETS, "wikipedia:en"], 3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise CorpusError(f"there is no dataset {name!r}; {hint}posvec data list shows all (and wikipedia:LANGUAGE)")


def _is_undated(name: str) -> bool:
    dump = NAME.fullmatch(name)
    return dump is not None and not dump["date"]


def _find_dump(name: str, display: Display) -> Entry:
    dump = NAME.fullmatch(name)
    assert dump
    with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
        return find_dump(dump["language"], dump["date"], Path(folder), display.note)


def _folder(name: str) -> Path:
    return cache_folder() / "data" / name.replace(":", "-")


def _whole(folder: Path) -> Path | None:
    """The data that are recorded, or those that were there before and are about to be replaced."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        record = _record(folder)
        for described in (record, record.get("before")):
            if described and _size(path := folder / str(described["path"])) == described["size"]:
                return path
    return None


def _before(folder: Path) -> dict[str, Any] | None:
    path = _whole(folder)
    return {"path": path.name, "size": _size(path)} if path else None


def _record(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / _RECORD).read_text("utf-8")))


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


@contextlib.contextmanager
def _locked(folder: Path, display: Display) -> Iterator[None]:
    """Only one process at a time works in the folder; the system frees the lock however that process ends."""
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            display.note(f"Another process is fetching to {folder}; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _remove_downloads(folder: Path) -> None:
    """Of a fetch that was killed at its very end; those of one that is under way are left alone."""
    with contextlib.suppress(OSError):
        lock = os.open(folder / ".lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder / _DOWNLOADS, ignore_errors=True)
        finally:
            os.close(lock)


def _download(entry: Entry, folder: Path, display: Display) -> list[Path]:
    places = sorted({urllib.parse.urlsplit(each.url).hostname or "" for each in entry.downloads})
    large = f"{format_size(entry.size)} " if entry.size is not None else ""
    display.note(f"Fetching {entry.name}: {large}from {', '.join(places)}, to be kept in {folder}")
    paths: list[Path] = []
    done = 0
    with display.stage(f"fetching {entry.name}") as progress:
        for item in entry.downloads:
            path = folder / _DOWNLOADS / item.filename

            def report(got: int, before: int = done) -> None:
                if entry.size:
                    progress(min(1.0, (before + got) / entry.size))

            if not path.exists():  # else it was checked when it got its name
                download(item, path, report, display.note, entry.name)
            done += path.stat().st_size
            paths.append(path)
    return paths


def _make(entry: Entry, folder: Path, downloads: list[Path], display: Display) -> Path:
    """What is used, made of what was downloaded."""
    stem = entry.name.replace(":", "-")
    waiting = folder / _DOWNLOADS
    if entry.layout in ("archive", "member"):
        made = waiting / "unpacked" / stem
        shutil.rmtree(made, ignore_errors=True)
        members = [unpack(path, made, _wanted(entry)) for path in downloads]
        if entry.layout == "archive":
            return made
        if not members[0]:
            raise DownloadError(f"{entry.downloads[0].url} has no {entry.member} in it; it has changed at its source")
        return members[0][0]
    if entry.layout == "file":
        return downloads[0]
    from posvec.datasets.wikipedia import dump_paragraphs, section_paragraphs

    with display.stage(f"unpacking {entry.name}") as progress:
        if entry.layout == "sections":
            return _write_text(section_paragraphs(downloads, progress), waiting / f"{stem}.txt.zst")
        return _write_text(dump_paragraphs(downloads, progress, display.note), waiting / f"{stem}.txt.zst")


def _wanted(entry: Entry) -> Callable[[str], bool]:
    return lambda name: entry.layout == "archive" or name == entry.member


def _write_text(paragraphs: Iterable[str], path: Path) -> Path:
    import zstandard

    empty = True
    with replacing(path) as stream, zstandard.ZstdCompressor(3).stream_writer(stream, closefd=False) as text:
        for paragraph in paragraphs:
            empty = False
            text.write(paragraph.encode("utf-8", "replace") + b"\n")
        if empty:
            raise CorpusError(f"there is no article in what was fetched for {path.name}; fetch another dump")
    return path
