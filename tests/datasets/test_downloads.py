"""Downloads from a local server that makes all the mistakes that servers make."""

from __future__ import annotations

import contextlib
import email.message
import io
import random
import socket
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_server import (
    Handler,
    LocalServer,
    announcing,
    complete,
    local_server,
    redirect,
    stalled,
    status,
    unannounced,
)
from posvec.datasets import Download, downloads, transfer
from posvec.datasets.downloads import download
from posvec.errors import DownloadError

CONTENT = random.Random(1).randbytes(700_000)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "WAITS", (0.01, 0.01))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_complete_and_nothing_else(server: LocalServer, tmp_path: Path) -> None:
    received: list[int] = []
    download(server.serve("/f", CONTENT), tmp_path / "new" / "f", received.append)
    assert (tmp_path / "new" / "f").read_bytes() == CONTENT
    assert names(tmp_path / "new") == ["f"]
    assert received == sorted(received)
    assert received[-1] == len(CONTENT)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_broken_connection_is_resumed_at_the_same_byte(server: LocalServer, tmp_path: Path, checksum: bool) -> None:
    item = server.serve("/f", CONTENT, checksum=checksum)
    # More often than the number of attempts: those that receive something do not count.
    broken = [complete(CONTENT, tag='"1"', cut=100_000) for _ in range(5)]
    server.respond("/f", *broken, complete(CONTENT, tag='"1"'))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges == [None, *(f"bytes={count}00000-" for count in range(1, 6))]


def test_a_later_call_resumes_a_failed_download(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    server.respond("/f", complete(CONTENT, cut=300_000), status(500))
    with pytest.raises(
        DownloadError, match=r"answers 500 .*; check the network: posvec data fetch wiki continues where it stopped"
    ):
        download(item, tmp_path / "f", name="wiki")
    assert names(tmp_path) == ["f.part"]
    server.respond("/f", complete(CONTENT))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges[-1] == "bytes=300000-"


def test_without_range_support_the_whole_file_is_requested_again(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    server.respond("/f", complete(CONTENT, ranges=False, cut=300_000), complete(CONTENT, ranges=False))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_halves_of_two_files_are_not_joined(server: LocalServer, tmp_path: Path) -> None:
    changed = CONTENT[::-1]
    item = server.serve("/f", CONTENT, checksum=False)
    server.respond("/f", complete(CONTENT, tag='"1"', cut=300_000), complete(changed, tag='"2"'))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == changed
    # If the server sends no tag, the partial file is not used.
    server.respond("/f", complete(CONTENT, cut=300_000), complete(changed))
    download(item, tmp_path / "g")
    assert (tmp_path / "g").read_bytes() == changed


def test_without_a_tag_or_a_checksum_a_later_call_starts_over(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT, checksum=False)
    server.respond("/f", complete(CONTENT, cut=300_000), status(500))
    with pytest.raises(DownloadError):
        download(item, tmp_path / "f")
    changed = CONTENT[::-1]
    server.respond("/f", complete(changed))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == changed


def test_another_range_than_requested_is_not_used(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    server.respond(
        "/f",
        complete(CONTENT, cut=300_000),
        status(206, Content_Range=f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"),
        complete(CONTENT),
    )
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("size_is_known", [True, False])
def test_complete_but_unchecked_files_are_not_fetched_again(
    server: LocalServer, tmp_path: Path, size_is_known: bool
) -> None:
    item = server.serve("/f", CONTENT)
    (tmp_path / "f.part").write_bytes(CONTENT)
    download(item if size_is_known else Download(item.url, None, item.checksum), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges == ([] if size_is_known else [f"bytes={len(CONTENT)}-"])


def test_a_partial_file_larger_than_the_file_is_discarded(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    (tmp_path / "f.part").write_bytes(CONTENT + b"more")
    download(Download(item.url, None, item.checksum), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize("answer", [complete(CONTENT, cut=-1), unannounced(CONTENT[:-1])])
def test_a_file_that_always_ends_too_early_never_appears(server: LocalServer, tmp_path: Path, answer: object) -> None:
    item = server.serve("/f", CONTENT)
    server.answers["/f"] = [answer, status(503)]  # type: ignore[list-item]
    with pytest.raises(DownloadError, match="/f: "):
        download(item, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_a_wrong_checksum_is_named_and_nothing_is_kept(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    server.respond("/f", complete(b"x" * len(CONTENT)))
    with pytest.raises(DownloadError, match=r"the sha256 checksum [0-9a-f]{64}, not [0-9a-f]{64}, and was removed"):
        download(item, tmp_path / "f")
    assert names(tmp_path) == []


def test_a_wrong_size_of_a_file_with_a_checksum_is_refused_at_once(server: LocalServer, tmp_path: Path) -> None:
    item = server.serve("/f", CONTENT)
    server.respond("/f", complete(CONTENT[:-1]))
    with pytest.raises(DownloadError, match="has 699,999 bytes instead of 700,000"):
        download(item, tmp_path / "f")
    assert names(tmp_path) == []


@pytest.mark.parametrize("answer", [complete(CONTENT), unannounced(CONTENT)])
def test_a_file_larger_than_expected_is_refused(server: LocalServer, tmp_path: Path, answer: object) -> None:
    url = server.serve("/f", CONTENT).url
    server.answers["/f"] = [answer]  # type: ignore[list-item]
    with pytest.raises(DownloadError, match="larger than the expected 600,000 bytes"):
        download(Download(url, 300_000), tmp_path / "f")
    assert names(tmp_path) == []


def test_a_file_too_large_for_the_disk_is_refused(server: LocalServer, tmp_path: Path) -> None:
    url = server.respond("/f", announcing(10**17))
    with pytest.raises(DownloadError, match=r"are free in .*; free some space there, or set .* POSVEC_CACHE"):
        download(Download(url, at_most=10**18), tmp_path / "f")


@pytest.mark.parametrize("code", [301, 302, 303, 307])
def test_redirects_are_followed_and_ranges_with_them(server: LocalServer, tmp_path: Path, code: int) -> None:
    there = server.serve("/there", CONTENT)
    server.respond("/there", complete(CONTENT, cut=300_000), complete(CONTENT))
    url = server.respond("/here", redirect("/there", code))
    download(Download(url, there.size, there.checksum), tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges[-1] == "bytes=300000-"


@pytest.mark.parametrize("target", ["http://example.org/f", "ftp://127.0.0.1/f", "file:///etc/passwd", "https:///f"])
def test_redirects_elsewhere_are_followed_to_https_alone(server: LocalServer, tmp_path: Path, target: str) -> None:
    url = server.respond("/here", redirect(target))
    with pytest.raises(DownloadError, match=r"redirects to .*, which is not https, and was not followed"):
        download(Download(url), tmp_path / "f")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("origin", "target", "followed"),
    [
        ("https://example.org/f", "https://other.example/f", True),
        ("https://example.org/f", "//other.example/f", True),
        ("https://example.org/f", "/g", True),
        ("https://example.org/f", "http://example.org/f", False),
        ("https://example.org/f", "http://127.0.0.1/f", False),
        ("https://localhost/f", "http://localhost/f", False),
        ("https://example.org/f", "HTTP://example.org/f", False),
        ("https://example.org/f", "file:///etc/passwd", False),
        ("https://example.org/f", "ftp://example.org/f", False),
        ("https://example.org/f", "data:text/plain,x", False),
        ("https://example.org/f", "javascript:0", False),
        ("https://example.org/f", "gopher://127.0.0.1:25/", False),
        ("http://127.0.0.1/f", "http://127.0.0.1.example.org/f", False),
        ("http://127.0.0.1/f", "http://127.0.0.1@example.org/f", False),
        ("http://127.0.0.1/f", "http://169.254.169.254/f", False),
    ],
)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_leads_from_https_to_anything_else(origin: str, target: str, followed: bool, code: int) -> None:
    if followed and code == 308 and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 does not follow redirects with status 308")

    class Opened(Exception):
        pass

    class Opener:
        def open(self, request: urllib.request.Request, **_: object) -> None:
            assert urllib.parse.urlsplit(request.full_url).scheme == "https"
            raise Opened

    redirects = transfer.SafeRedirects()
    redirects.parent = Opener()  # type: ignore[assignment]
    headers = email.message.Message()
    headers["location"] = target
    request = urllib.request.Request(origin)
    request.timeout = 1.0
    with pytest.raises(Opened if followed else DownloadError):
        getattr(redirects, f"http_error_{code}")(request, io.BytesIO(), code, "", headers)


def test_endless_headers_are_refused(server: LocalServer, tmp_path: Path) -> None:
    def endless(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n")
        with contextlib.suppress(OSError):
            for _ in range(1000):
                handler.wfile.write(b"X: x\r\n" * 1000)

    with pytest.raises(DownloadError, match="the connection failed"):
        download(Download(server.respond("/f", endless)), tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_circular_redirects_are_refused(server: LocalServer, tmp_path: Path) -> None:
    server.respond("/b", redirect("/a"))
    with pytest.raises(DownloadError, match="has a redirect that does not end"):
        download(Download(server.respond("/a", redirect("/b"))), tmp_path / "f")


@pytest.mark.parametrize("url", ["http://example.org/f", "ftp://example.org/f", "file:///etc/passwd", "f", "https:///"])
def test_nothing_but_https_is_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="was not fetched, because without https"):
        download(Download(url), tmp_path / "f")


def test_a_missing_file_is_requested_once(server: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"answers 404 Not Found; the file may have moved"):
        download(Download(server.respond("/f", status(404))), tmp_path / "f")
    assert len(server.requests) == 1


def test_a_busy_server_is_asked_again_when_it_requests(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    item = server.serve("/f", CONTENT)
    server.respond("/f", status(503, Retry_After=7), status(429), complete(CONTENT))
    notes: list[str] = []
    download(item, tmp_path / "f", note=notes.append)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert waited == [7.0, 0.01]
    assert notes[0] == f"{item.url}: the server answers 503 Service Unavailable; trying again in 7 s."


def test_a_stalled_connection_is_closed_and_resumed(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT", 0.2)
    item = server.serve("/f", CONTENT)
    server.respond("/f", stalled(CONTENT, 1.0), complete(CONTENT))
    download(item, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_a_missing_server_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/f"
    with pytest.raises(DownloadError, match=r"the connection failed \(.*refused\)"):
        download(Download(url), tmp_path / "f")


def test_an_unwritable_folder_is_reported_in_one_sentence(server: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match=r"cannot write to the cache folder .*POSVEC_CACHE"):
        download(server.serve("/f", CONTENT), tmp_path / "file" / "f")
