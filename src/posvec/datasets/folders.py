"""The cache folder of a dataset, which holds either complete data or none.

``dataset.json`` records the path and the size of the data; the dataset is complete if the size is right. Downloads and
data in preparation are kept in ``downloads`` until then, so that an interrupted fetch continues where it stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from posvec import __version__
from posvec.corpus.cache import cache_folder, writing_to
from posvec.datasets.definitions import Dataset
from posvec.system.atomic import move_folder, replacing
from posvec.system.utf8 import decode_json, encode_json

_RECORD = "dataset.json"


class DatasetFolder:
    """The folder of one dataset below ``data`` in the cache folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def of(name: str) -> DatasetFolder:
        """Return the folder of a dataset by its name."""
        return DatasetFolder(_all_datasets() / name.replace(":", "-"))

    @staticmethod
    def of_dumps(name: str) -> list[DatasetFolder]:
        """Return the folders of the dated dumps of a Wikipedia, newest first."""
        pattern = f"{DatasetFolder.of(name).path.name}-{'[0-9]' * 8}"
        return [DatasetFolder(path) for path in sorted(_all_datasets().glob(pattern), reverse=True)]

    @staticmethod
    def all() -> list[DatasetFolder]:
        """Return the folders of all datasets that were fetched, completely or not."""
        return [DatasetFolder(path) for path in sorted(_all_datasets().glob("*"))]

    @property
    def downloads(self) -> Path:
        """The folder for downloads and data in preparation."""
        return self.path / "downloads"

    @property
    def recorded_name(self) -> str:
        """The name of the dataset according to its record."""
        return str(self._record().get("name"))

    def data(self) -> Path | None:
        """Return the complete data, or None. While data are being replaced, the old ones are complete."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            record = self._record()
            for described in (record, record.get("before")):
                if described and _size(path := self.path / str(described["path"])) == described["size"]:
                    return path
        return None

    def publish(self, prepared: Path, dataset: Dataset) -> Path:
        """Record prepared data and move them to their final path, which is returned; remove the downloads."""
        final = self.path / prepared.name
        old = self.data()
        record = {
            "name": dataset.name,
            "path": final.name,
            "size": _size(prepared),
            "before": {"path": old.name, "size": _size(old)} if old else None,
            "downloads": [each.url for each in dataset.downloads],
            "licence": dataset.licence,
            "citation": dataset.citation,
            "fetched": time.strftime("%Y-%m-%d %H:%M:%S"),
            "posvec": __version__,
        }
        with replacing(self.path / _RECORD) as stream:
            stream.write(encode_json(record, indent=2))
        # If the process is killed here, the old data are still in place, and "before" describes them.
        with writing_to(self.path):
            move_folder(prepared, final) if prepared.is_dir() else prepared.replace(final)
        shutil.rmtree(self.downloads, ignore_errors=True)
        return final

    @contextlib.contextmanager
    def locked(self, note: Callable[[str], None]) -> Iterator[None]:
        """Let only one process at a time work in the folder; the system frees the lock however the process ends."""
        with writing_to(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                note(f"Another process is fetching to {self.path}; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def remove_downloads(self) -> None:
        """Remove the downloads of a fetch that was killed at its very end, unless a fetch is running now."""
        with contextlib.suppress(OSError):
            lock = os.open(self.path / ".lock", os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(self.downloads, ignore_errors=True)
            finally:
                os.close(lock)

    def _record(self) -> dict[str, Any]:
        return dict(decode_json((self.path / _RECORD).read_text("utf-8")))


def _all_datasets() -> Path:
    return cache_folder() / "data"


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
