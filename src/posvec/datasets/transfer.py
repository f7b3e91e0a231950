"""One attempt to download the rest of a file over HTTPS, with range requests.

Plain http is accepted only from this machine. A file that is larger than expected is refused.
"""

from __future__ import annotations

import http.client
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from posvec import __version__
from posvec.corpus.cache import writing_to
from posvec.datasets.definitions import Download
from posvec.datasets.partial_files import PartialFile
from posvec.errors import DownloadError
from posvec.system.console import format_size

TIMEOUT = 60.0
"""Seconds without a byte after which a connection is given up."""
_BLOCK = 1 << 18
_TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504}


class TransientError(Exception):
    """A failure that may not occur again at the next attempt."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds to wait as requested by the server."""


def receive(part: PartialFile, progress: Callable[[int], None]) -> None:
    """Request the missing bytes of a file and append them; return when the file is complete."""
    item = part.item
    if item.checksum and item.size is not None and part.size == item.size:
        return  # an earlier attempt received everything, but ended before the checksum was checked
    if not (part.tag or item.checksum):
        part.restart()  # without a tag and a checksum, a mixture of two different files would go unnoticed
    response = _open(part)
    if response is None:
        return
    with response:
        begin = _first_byte(part, response)
        total = _announced_size(response, begin)
        _check_size(part, total)
        # Unbuffered, so that received bytes are in the file even if the process is killed.
        with writing_to(part.path.parent):
            file = part.file.open("ab", buffering=0)
        with file:
            received = begin
            while block := _read(response):
                if received + len(block) > item.limit:
                    part.restart()
                    raise _too_large(item)
                with writing_to(part.path.parent):
                    _write_all(file, block)
                received += len(block)
                progress(received)
    if total is not None and received < total:
        raise TransientError(f"the connection ended after {received:,} of {total:,} bytes")
    if item.checksum and item.size is not None and received < item.size:
        raise TransientError(f"the file ended after {received:,} bytes instead of {item.size:,}")


class SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https only, and on this machine from http to http."""

    def http_error_302(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        target = urllib.parse.urljoin(req.full_url, headers.get("location") or headers.get("uri") or "")
        if not _is_allowed(target, req.full_url):
            raise DownloadError(f"{req.full_url} redirects to {target}, which is not https, and was not followed")
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _open(part: PartialFile) -> http.client.HTTPResponse | None:
    """The server's response, or None if it reports that no byte is missing."""
    url = part.item.url
    if not _is_allowed(url):
        raise DownloadError(f"{url} was not fetched, because without https others could change the file on its way")
    request = urllib.request.Request(
        url, headers={"User-Agent": f"posvec/{__version__}", "Accept-Encoding": "identity"}
    )
    if part.size:
        request.add_header("Range", f"bytes={part.size}-")
        if part.tag:
            request.add_header("If-Range", part.tag)
    try:
        response: http.client.HTTPResponse = urllib.request.build_opener(SafeRedirects()).open(request, timeout=TIMEOUT)
        return response
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and part.size and error.headers.get("Content-Range") == f"bytes */{part.size}":
            return None
        raise _status_error(part, error) from error
    except urllib.error.URLError as error:
        raise TransientError(_reason(error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise TransientError(_reason(error)) from error


def _status_error(part: PartialFile, error: urllib.error.HTTPError) -> Exception:
    url = part.item.url
    if error.code == 416 and part.size:  # the file is shorter than the received part, so it is another file
        part.restart()
        return TransientError("the file on the server is smaller than the part received before")
    if error.code in _TRANSIENT_STATUSES:
        wait = error.headers.get("Retry-After", "")
        return TransientError(
            f"the server answers {error.code} {error.reason}", float(wait) if wait.isdecimal() else 0.0
        )
    if 300 <= error.code < 400:
        return DownloadError(
            f"{url} has a redirect that does not end (status {error.code}); fetch the file manually, or try later"
        )
    return DownloadError(
        f"{url}: the server answers {error.code} {error.reason}; the file may have moved: find it manually and give "
        f"posvec the file itself"
    )


def _is_allowed(url: str, origin: str | None = None) -> bool:
    """Whether a URL is https, or http on this machine that was not redirected to from elsewhere."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    return _is_local(url) and (origin is None or _is_local(origin))


def _is_local(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")


def _first_byte(part: PartialFile, response: http.client.HTTPResponse) -> int:
    """The offset at which the server's bytes begin; the received part is discarded unless they continue it."""
    size = part.size
    if response.status == 206:
        if response.headers.get("Content-Range", "").startswith(f"bytes {size}-"):
            return size
        part.restart()
        raise TransientError("the server sent another range than requested")
    etag = response.headers.get("ETag", "")
    weak = etag.startswith("W/")  # a weak tag does not identify the bytes
    part.restart(response.headers.get("Last-Modified", "") if weak or not etag else etag)
    return 0


def _announced_size(response: http.client.HTTPResponse, begin: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return begin + int(length) if length.isdecimal() else None


def _check_size(part: PartialFile, total: int | None) -> None:
    item = part.item
    if total is not None and total > item.limit:
        part.restart()
        raise _too_large(item)
    if item.checksum and item.size is not None and total is not None and total != item.size:
        part.restart()
        raise DownloadError(
            f"{item.url} has {total:,} bytes instead of {item.size:,}; the file has changed at its source: find it "
            f"manually and give posvec the file itself"
        )
    free = shutil.disk_usage(part.path.parent).free
    if total is not None and total - part.size > free:
        raise DownloadError(
            f"{item.url} has {format_size(total)}, but only {format_size(free)} are free in {part.path.parent}; free "
            f"some space there, or set the environment variable POSVEC_CACHE to another folder"
        )


def _too_large(item: Download) -> DownloadError:
    return DownloadError(
        f"{item.url} is larger than the expected {item.limit:,} bytes and was not fetched; the file has changed at its "
        f"source: find it manually and give posvec the file itself"
    )


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(_BLOCK)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TransientError(_reason(error)) from error


def _write_all(file: Any, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[file.write(view) :]


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer for {TIMEOUT:g} seconds"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"the connection failed ({reason})"
