"""A local HTTP server with given responses: complete, partial, wrong, late, or none."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from posvec.datasets import Download

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    server: LocalServer

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        answers = self.server.answers.get(self.path, [status(404)])
        # The last answer is repeated for all further requests.
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *_: Any) -> None:
        pass

    def head(self, code: int, **headers: object) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()


class LocalServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []

    def handle_error(self, *_: Any) -> None:
        pass  # the tests close connections on purpose

    def respond(self, path: str, *answers: Answer) -> str:
        """Give these answers to the requests for a path, in their order; return its address."""
        self.answers[path] = list(answers)
        return f"http://127.0.0.1:{self.server_port}{path}"

    def serve(self, path: str, content: bytes, *, checksum: bool = True) -> Download:
        """Serve the content at the path; return how to download it."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}" if checksum else None
        return Download(self.respond(path, complete(content)), len(content), digest)

    @property
    def ranges(self) -> list[str | None]:
        """The ranges of bytes that were requested; None for the whole file."""
        return [headers.get("Range") for _, headers in self.requests]


@contextmanager
def local_server() -> Iterator[LocalServer]:
    server = LocalServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def complete(content: bytes, *, tag: str = "", ranges: bool = True, cut: int | None = None) -> Answer:
    """The content; the requested range of it, if ``ranges``; only its first ``cut`` bytes, if that is given."""

    def answer(handler: Handler) -> None:
        requested = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "")) if ranges else None
        begin = int(requested[1]) if requested else 0
        headers: dict[str, object] = {"ETag": tag} if tag else {}
        if requested and handler.headers.get("If-Range", tag) != tag:
            requested, begin = None, 0
        if requested and begin >= len(content):
            handler.head(416, Content_Range=f"bytes */{len(content)}")
            return
        rest = content[begin:]
        if requested:
            headers["Content_Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        handler.head(206 if requested else 200, Content_Length=len(rest), **headers)
        handler.wfile.write(rest[:cut])

    return answer


def unannounced(content: bytes) -> Answer:
    """The content without its length."""

    def answer(handler: Handler) -> None:
        handler.head(200)
        handler.wfile.write(content)

    return answer


def announcing(size: int) -> Answer:
    """A length without content."""
    return lambda handler: handler.head(200, Content_Length=size)


def status(code: int, **headers: object) -> Answer:
    return lambda handler: handler.head(code, Content_Length=0, **headers)


def redirect(target: str, code: int = 302) -> Answer:
    return status(code, Location=target)


def stalled(content: bytes, seconds: float) -> Answer:
    """Half of the content, and then nothing for some seconds."""

    def answer(handler: Handler) -> None:
        handler.head(200, Content_Length=len(content))
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        time.sleep(seconds)

    return answer
