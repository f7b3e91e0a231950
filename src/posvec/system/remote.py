"""Files that are elsewhere: on any filesystem that fsspec knows (extra ``distributed``), named by an address.

``s3://bucket/texts/*.gz``, ``gs://...``, ``hdfs://...``, ``file:///...``: each kind needs its driver, such as s3fs. An
:class:`RemotePath` does what the readers of corpora ask of a path; models are saved to and loaded from folders there by
way of a copy on this machine.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from posvec.errors import PosvecError
from posvec.system.extras import require_extra

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(name: object) -> bool:
    return isinstance(name, (str, RemotePath)) and _ADDRESS.match(str(name)) is not None


class Stat(NamedTuple):
    """As far as a file elsewhere has one: what changes with it, in place of a time."""

    st_size: int
    st_mtime_ns: int


class RemotePath:
    """A file or folder elsewhere."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.filesystem, self.path = _open_filesystem(address)

    def __str__(self) -> str:
        return self.address

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.address,)

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.address.rstrip('/')}/{name}")

    def absolute(self) -> RemotePath:
        return self

    def open(self, mode: str = "rb") -> IO[bytes]:
        with _reachable(self.address):
            opened: IO[bytes] = self.filesystem.open(self.path, mode)
            return opened

    def stat(self) -> Stat:
        with _reachable(self.address):
            self.filesystem.invalidate_cache(self.path)
            return Stat(self.filesystem.info(self.path)["size"] or 0, int(self.filesystem.ukey(self.path)[:15], 16))

    def exists(self) -> bool:
        with _reachable(self.address):
            self.filesystem.invalidate_cache(self.path)
            return bool(self.filesystem.exists(self.path))

    def is_file(self) -> bool:
        with _reachable(self.address):
            return bool(self.filesystem.isfile(self.path))

    def files(self) -> list[RemotePath]:
        """Itself; or the files of a folder and those below it, sorted, without hidden ones; or of a pattern."""
        with _reachable(self.address):
            if self.filesystem.isfile(self.path):
                return [self]
            if self.filesystem.isdir(self.path):
                found = self.filesystem.find(self.path)
            else:
                found = [each for match in self.filesystem.glob(self.path) for each in self.filesystem.find(match)]
        base = len(PurePosixPath(self.path).parts)
        shown = [each for each in sorted(found) if not any(p.startswith(".") for p in PurePosixPath(each).parts[base:])]
        return [RemotePath(self.filesystem.unstrip_protocol(each)) for each in shown]

    def read_bytes(self) -> bytes:
        with _reachable(self.address):
            content: bytes = self.filesystem.cat_file(self.path)
            return content

    def fetch(self, target: Path) -> None:
        """Copy the file to this machine."""
        with _reachable(self.address):
            self.filesystem.get_file(self.path, str(target))

    def put(self, source: Path) -> None:
        """Make a copy of a file of this machine here."""
        with _reachable(self.address):
            self.filesystem.makedirs(self.filesystem._parent(self.path), exist_ok=True)
            self.filesystem.put_file(str(source), self.path)

    def names(self) -> list[str]:
        """What is in the folder."""
        with _reachable(self.address):
            self.filesystem.invalidate_cache(self.path)
            listed = self.filesystem.ls(self.path, detail=False) if self.filesystem.isdir(self.path) else []
            return [PurePosixPath(each).name for each in listed]

    def remove(self) -> None:
        with _reachable(self.address):
            self.filesystem.rm_file(self.path)


def _open_filesystem(address: str) -> tuple[Any, str]:
    fsspec = require_extra("fsspec", "distributed")
    try:
        filesystem, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise PosvecError(f"{address} cannot be reached ({error}); install what fsspec needs for it") from error
    return filesystem, str(path)


@contextlib.contextmanager
def _reachable(address: str) -> Iterator[None]:
    """Drivers raise all kinds of errors; those of a missing file, or of a right, are left to the reader."""
    try:
        yield
    except (PosvecError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PosvecError(f"{address} cannot be reached ({said}); check the address and your rights to it") from error
