"""Bytes from the network → a file that appears under its name when it is whole and checked, and not before.

What has arrived of an interrupted download is kept beside it and asked for no more. Nothing but https is followed,
except on this machine itself; nothing larger than announced is taken.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posvec import __version__
from posvec.corpus.cache import writing_to
from posvec.datasets.catalogue import Download
from posvec.errors import DownloadError
from posvec.system.console import format_size

TIMEOUT = 60.0
"""Seconds without a byte after which a connection is given up."""
WAITS = (1.0, 3.0, 10.0)
"""Seconds before each further attempt, where one has brought nothing; one that brought something starts over."""
_LONGEST_WAIT = 120.0  # a server may ask for more time, up to this
_BLOCK = 1 << 18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # what servers answer today and not tomorrow


def is_offline() -> bool:
    """Whether POSVEC_OFFLINE says that nothing may be fetched."""
    return os.environ.get("POSVEC_OFFLINE", "").lower() not in ("", "0", "no", "false")


def download(
    item: Download,
    path: Path,
    progress: Callable[[int], None] = lambda got: None,
    note: Callable[[str], None] = lambda text: None,
    name: str = "",
) -> None:
    """Fetch a file to ``path``.

    ``progress`` hears how many bytes of it are there, ``note`` why and how long it waits. ``name`` is what the user
    asked for, to be told how to go on.
    """
    part = _Part(item, path, f"; check the network: posvec data fetch {name} goes on where it stopped" if name else "")
    failures = 0
    while True:
        before = part.size
        try:
            _receive(part, progress)
            break
        except _Passing as error:
            failures = 1 if part.size > before else failures + 1
            if failures > len(WAITS):
                raise DownloadError(f"{item.url}: {error}{part.remedy}") from error
            wait = min(max(WAITS[failures - 1], error.wait), _LONGEST_WAIT)
            note(f"{item.url}: {error}; trying again in {wait:g} s.")
            time.sleep(wait)
    part.finish()


def download_text(url: str, folder: Path, note: Callable[[str], None], name: str) -> str:
    """A small text file from the network, which leaves nothing in the folder."""
    item = Download(url)
    path = folder / item.filename
    download(item, path, note=note, name=name)
    try:
        return path.read_text("utf-8", "replace")
    finally:
        path.unlink()


class _Passing(Exception):
    """A failure that may be gone at the next attempt."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class _Part:
    """What is there of a file so far, and what tells whether the rest of it still belongs to it."""

    def __init__(self, item: Download, path: Path, remedy: str) -> None:
        self.item = item
        self.path = path
        self.remedy = remedy
        self.file = path.with_name(path.name + ".part")
        self._tag_file = path.with_name(path.name + ".tag")
        with writing_to(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    @property
    def tag(self) -> str:
        return self._tag_file.read_text("ascii") if self._tag_file.exists() else ""

    def restart(self, tag: str = "") -> None:
        with writing_to(self.path.parent):
            self.file.unlink(missing_ok=True)
            self._tag_file.unlink(missing_ok=True)
            if tag.isascii() and tag:
                self._tag_file.write_text(tag, "ascii")

    def finish(self) -> None:
        """Check all of it and give it its name."""
        if self.item.checksum:
            algorithm, _, wanted = self.item.checksum.partition(":")
            found = _file_checksum(self.file, algorithm)
            if found != wanted:
                self.restart()
                raise DownloadError(
                    f"what {self.item.url} gave has the {algorithm} {found}, not {wanted}, and was removed; fetch it "
                    f"again, and if that ends alike, the file has changed at its source"
                )
        with writing_to(self.path.parent):
            self.file.replace(self.path)
            self._tag_file.unlink(missing_ok=True)


def _file_checksum(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def _receive(part: _Part, progress: Callable[[int], None]) -> None:
    """One attempt: ask for what is missing and append it. Returns when nothing is missing any more."""
    item = part.item
    if item.checksum and item.size is not None and part.size == item.size:
        return  # all of it arrived before, and the check did not
    if not (part.tag or item.checksum):
        part.restart()  # nothing would notice that two halves are of different files
    response = _open(part)
    if response is None:
        return
    with response:
        begin = _begin(part, response)
        total = _announced(response, begin)
        _check_announced(part, total)
        # Written without a buffer: what has arrived is in the file whatever happens next.
        with writing_to(part.path.parent):
            file = part.file.open("ab", buffering=0)
        with file:
            got = begin
            while block := _read(response):
                if got + len(block) > item.limit:
                    part.restart()
                    raise _too_large(item)
                with writing_to(part.path.parent):
                    _write_all(file, block)
                got += len(block)
                progress(got)
    if total is not None and got < total:
        raise _Passing(f"the connection ended after {got:,} of {total:,} bytes")
    if item.checksum and item.size is not None and got < item.size:
        raise _Passing(f"it ended after {got:,} bytes, and should have {item.size:,}")


def _open(part: _Part) -> http.client.HTTPResponse | None:
    """The server's answer, or None if it says that nothing is missing."""
    url = part.item.url
    if not _is_allowed(url):
        raise DownloadError(f"{url} is not fetched: it is not https, which keeps others from changing what arrives")
    request = urllib.request.Request(
        url, headers={"User-Agent": f"posvec/{__version__}", "Accept-Encoding": "identity"}
    )
    if part.size:
        request.add_header("Range", f"bytes={part.size}-")
        if part.tag:
            request.add_header("If-Range", part.tag)
    try:
        response: http.client.HTTPResponse = urllib.request.build_opener(_Redirects()).open(request, timeout=TIMEOUT)
        return response
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and part.size and error.headers.get("Content-Range") == f"bytes */{part.size}":
            return None
        raise _refused(part, error) from error
    except urllib.error.URLError as error:
        raise _Passing(_reason(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise _Passing(_reason(error)) from error


def _refused(part: _Part, error: urllib.error.HTTPError) -> Exception:
    url = part.item.url
    if error.code == 416 and part.size:  # there are not so many bytes: what is here is of another file
        part.restart()
        return _Passing("the server has less than had arrived before")
    if error.code in _PASSING:
        asked = error.headers.get("Retry-After", "")
        return _Passing(f"the server answers {error.code} {error.reason}", float(asked) if asked.isdecimal() else 0.0)
    if 300 <= error.code < 400:
        return DownloadError(f"{url} leads in circles or nowhere (answer {error.code}); fetch it by hand, or try later")
    return DownloadError(
        f"{url}: the server answers {error.code} {error.reason}; the file may have moved: look for it by hand, and "
        f"give posvec the file itself"
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    def http_error_302(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        target = urllib.parse.urljoin(req.full_url, headers.get("location") or headers.get("uri") or "")
        if not _is_allowed(target, req.full_url):
            raise DownloadError(f"{req.full_url} leads to {target}, which is not https; it was not followed")
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _is_allowed(url: str, origin: str | None = None) -> bool:
    """https anywhere; http only on this machine, and only from there."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    return _is_local(url) and (origin is None or _is_local(origin))


def _is_local(url: str) -> bool:
    """Whether it is http on this machine."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")


def _begin(part: _Part, response: http.client.HTTPResponse) -> int:
    """From which byte on the server sends; what is there from before is dropped unless it goes on right there."""
    had = part.size
    if response.status == 206:
        if response.headers.get("Content-Range", "").startswith(f"bytes {had}-"):
            return had
        part.restart()
        raise _Passing("the server sent another part than was asked for")
    etag = response.headers.get("ETag", "")
    weak = etag.startswith("W/")  # says nothing about the bytes
    part.restart(response.headers.get("Last-Modified", "") if weak or not etag else etag)
    return 0


def _announced(response: http.client.HTTPResponse, begin: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return begin + int(length) if length.isdecimal() else None


def _check_announced(part: _Part, total: int | None) -> None:
    item = part.item
    if total is not None and total > item.limit:
        part.restart()
        raise _too_large(item)
    if item.checksum and item.size is not None and total is not None and total != item.size:
        part.restart()
        raise DownloadError(
            f"{item.url} has {total:,} bytes, and should have {item.size:,}; the file has changed at its source: look "
            f"for it by hand, and give posvec the file itself"
        )
    free = shutil.disk_usage(part.path.parent).free
    if total is not None and total - part.size > free:
        raise DownloadError(
            f"{item.url} has {format_size(total)}, and only {format_size(free)} are free in {part.path.parent}; free "
            f"some space there, or set the environment variable POSVEC_CACHE to another folder"
        )


def _too_large(item: Download) -> DownloadError:
    return DownloadError(
        f"{item.url} is larger than the {item.limit:,} bytes that were expected at most, and was not fetched; the file "
        f"has changed at its source: look for it by hand, and give posvec the file itself"
    )


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(_BLOCK)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _Passing(_reason(error)) from error


def _write_all(file: Any, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[file.write(view) :]


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer for {TIMEOUT:g} seconds"
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"cannot connect or stay connected ({said})"
