"""Files on remote filesystems: any that fsspec knows (extra ``distributed``), named by a URL.

The URL is for example ``s3://bucket/texts/*.gz``, ``gs://...``, ``hdfs://...`` or ``file:///...``; most kinds need a
driver of their own, for example s3fs. Corpora are read through :class:`RemotePath`, which has the methods of a path
that reading needs. Models are saved to a local folder and then uploaded, and downloaded to the cache before they are
read.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from posvec.errors import PosvecError
from posvec.system.extras import require_extra

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(name: object) -> bool:
    """Whether a name is a :class:`RemotePath` or a string that begins like a URL.

    Examples
    --------
    >>> is_remote("s3://bucket/corpus.txt"), is_remote("corpus.txt")
    (True, False)
    """
    return isinstance(name, (str, RemotePath)) and _URL.match(str(name)) is not None


def server_of(url: str) -> str:
    """Return the protocol and the host or bucket of a URL, or an empty string if it is on this machine.

    Several URLs in one, which fsspec joins by ``::``, are never taken for local ones.

    Examples
    --------
    >>> server_of("s3://bucket/corpus.txt"), server_of("file:///corpus.txt")
    ('s3://bucket', '')
    """
    protocol, _, rest = url.partition("://")
    if "::" in url:
        return url
    return "" if protocol.lower() in ("file", "local", "memory") else f"{protocol}://{rest.partition('/')[0]}"


class RemoteStat(NamedTuple):
    """The size of a remote file and a number that changes with its content, in place of a modification time."""

    st_size: int
    st_mtime_ns: int


class RemotePath:
    """A file or folder on a remote filesystem.

    Parameters
    ----------
    url
        Where it is.

    Raises
    ------
    PosvecError
        If fsspec or the driver for this kind of URL is not installed. All methods raise it if the filesystem cannot be
        reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.filesystem, self.path = _open_filesystem(url)

    def __str__(self) -> str:
        return self.url

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.url,)

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.url.rstrip('/')}/{name}")

    def absolute(self) -> RemotePath:
        return self

    def open(self, mode: str = "rb") -> IO[bytes]:
        with _reachable(self.url):
            opened: IO[bytes] = self.filesystem.open(self.path, mode)
            return opened

    def stat(self) -> RemoteStat:
        with _reachable(self.url):
            self.filesystem.invalidate_cache(self.path)
            size = self.filesystem.info(self.path)["size"] or 0
            return RemoteStat(size, int(self.filesystem.ukey(self.path)[:15], 16))

    def exists(self) -> bool:
        with _reachable(self.url):
            self.filesystem.invalidate_cache(self.path)
            return bool(self.filesystem.exists(self.path))

    def is_file(self) -> bool:
        with _reachable(self.url):
            return bool(self.filesystem.isfile(self.path))

    def files(self) -> list[RemotePath]:
        """List this file, or the files of a folder and its subfolders or of a pattern, sorted, without hidden ones."""
        with _reachable(self.url):
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
        with _reachable(self.url):
            content: bytes = self.filesystem.cat_file(self.path)
            return content

    def download(self, target: Path) -> None:
        """Copy this file to a local one."""
        with _reachable(self.url):
            self.filesystem.get_file(self.path, str(target))

    def upload(self, source: Path) -> None:
        """Copy a local file to this one."""
        with _reachable(self.url):
            self.filesystem.makedirs(self.filesystem._parent(self.path), exist_ok=True)
            self.filesystem.put_file(str(source), self.path)

    def names(self) -> list[str]:
        """List the names in this folder; none if it does not exist."""
        with _reachable(self.url):
            self.filesystem.invalidate_cache(self.path)
            listed = self.filesystem.ls(self.path, detail=False) if self.filesystem.isdir(self.path) else []
            return [PurePosixPath(each).name for each in listed]

    def remove(self) -> None:
        with _reachable(self.url):
            self.filesystem.rm_file(self.path)


def _open_filesystem(url: str) -> tuple[Any, str]:
    fsspec = require_extra("fsspec", "distributed")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise PosvecError(f"cannot reach {url} ({error}); install the driver that fsspec needs for it") from error
    return filesystem, str(path)


@contextlib.contextmanager
def _reachable(url: str) -> Iterator[None]:
    """Turn the errors of drivers, which can be of any type, into PosvecError.

    Errors of missing files and permissions pass, because the reader knows what to say about them.
    """
    try:
        yield
    except (PosvecError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PosvecError(f"cannot reach {url} ({reason}); check the URL and your access rights") from error
