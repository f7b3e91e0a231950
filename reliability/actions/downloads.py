"""The action that downloads a dataset from a server on this machine."""

from __future__ import annotations

import hashlib
import io
import os
import random
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actions.action import Action, Fault, contents, posvec
from posvec.datasets import CATALOGUE, Dataset, Download, fetch_dataset, fetched_path
from posvec.datasets.definitions import DownloadLayout


class Fetch(Action):
    """posvec data fetch from a server on this machine, in several layouts, for the first time or again."""

    address: str
    offered: dict[str, bytes]

    def prepare(self, draw: random.Random) -> str:
        layout: DownloadLayout = draw.choice(["file", "archive", "member"])
        self.again = draw.random() < 0.5
        if self.again:
            fetch_dataset(self._entry(layout, "old"))
        entry = self._entry(layout, "new")
        CATALOGUE[entry.name] = entry
        return f"{layout} {self.again}"

    def command(self) -> object:
        return posvec("data", "fetch", "crash", "-q", *(["--overwrite"] if self.again else []))

    def state(self) -> str:
        path = fetched_path("crash")
        if path is None:
            if self.again:
                raise Fault("the old dataset is gone")
            return "absent"
        text = b"".join(contents(path).values()) if path.is_dir() else path.read_bytes()
        for version in ("old", "new"):
            if text in (text_of(version), text_of(version) * 2):
                return version
        raise Fault(f"{path} is neither the old nor the new version")

    def result(self) -> object:
        folder = self.folder / "cache" / "data" / "crash"
        found = sorted(path.name for path in folder.iterdir() if path.is_file() or any(path.iterdir()))
        if len(found) != 3:  # the data, dataset.json and .lock
            raise Fault(f"{folder} has {found}")
        return self.state()

    def _entry(self, layout: DownloadLayout, version: str) -> Dataset:
        name = f"{version}/data.txt" if layout == "file" else f"{version}/data.zip"
        content = self.offered[name]
        item = Download(f"{self.address}/{name}", len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        return Dataset(
            "crash", "corpus", "a small dataset", (item,), "CC0", "", layout, "one.txt" * (layout == "member")
        )


@contextmanager
def serving() -> Iterator[None]:
    """Serve what Fetch downloads, from another process: this one must have no threads, because it is forked."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from local_server import LocalServer, complete

    Fetch.offered = {f"{version}/data.txt": text_of(version) for version in ("old", "new")}
    Fetch.offered |= {f"{version}/data.zip": _zipped(text_of(version)) for version in ("old", "new")}
    server = LocalServer()
    for name, content in Fetch.offered.items():
        Fetch.address = server.respond(f"/{name}", complete(content, tag=f'"{name}"')).removesuffix(f"/{name}")
    pid = os.fork()
    if not pid:
        server.serve_forever()
    try:
        yield
    finally:
        os.kill(pid, 15)
        os.waitpid(pid, 0)
        server.server_close()


def text_of(version: str) -> bytes:
    """The text of the old or the new version of the dataset."""
    lines = {"old": 15_000, "new": 20_000}[version]
    return b"".join(f"{version} line {number}\n".encode() for number in range(lines))


def _zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in ("one.txt", "two.txt"):
            archive.writestr(name, content)
    return stream.getvalue()
