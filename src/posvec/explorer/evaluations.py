"""Evaluation of a file that was dropped on the page: progress as it comes, then the result, line by line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from posvec.corpus.sources import ProgressCallback
from posvec.errors import PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.questions import is_pair_file
from posvec.explorer.security import MOST_BYTES, too_large
from posvec.model import Model
from posvec.system.files import is_compressed

_latest: Evaluation | None = None
_one_at_a_time = threading.Lock()


class _Abandoned(Exception):
    """Nobody waits for the result any more."""


async def read_body(request: Request) -> bytes:
    """The body of a request, as far as it is not too large."""
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > MOST_BYTES:
                raise HTTPException(413, too_large(MOST_BYTES))
    except ClientDisconnect:
        raise HTTPException(400, "the file has not arrived as a whole; send it again") from None
    return bytes(content)


class Evaluation(StreamingResponse):
    """Lines of JSON: progress, then the result or what is wrong with the file.

    A second evaluation beside the one that somebody waits for is refused: each takes all cores. One whose client has
    vanished does not count: it ends at its next step, which on a busy machine may take seconds, and the one that
    comes after it begins then.
    """

    def __init__(self, model: Model, content: bytes, name: str, kind: str) -> None:
        global _latest
        self._over = threading.Event()
        if _latest is not None and not _latest._over.is_set():
            raise HTTPException(429, "another evaluation is under way; wait for its end")
        _latest = self
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        super().__init__(self._told(), media_type="application/x-ndjson")
        self.thread = threading.Thread(
            target=self._work, args=(model, content, _file_name(name), kind), name="posvec-explorer-evaluation"
        )
        self.thread.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)  # until the client vanishes, if it does
        finally:  # here, not in _told, which is never entered if the client has vanished by now
            self._over.set()

    def end(self) -> None:
        """Tells who waits that there will be no result."""
        self._over.set()
        self._tell({"error": "the explorer was ended; start it and drop the file again"})
        self._tell(None)

    async def _told(self) -> AsyncGenerator[str, None]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _tell(self, line: dict[str, Any] | None) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None if line is None else f"{json.dumps(line)}\n")

    def _progress(self, share: float) -> None:
        if self._over.is_set():
            raise _Abandoned
        self._tell({"progress": share})

    def _work(self, model: Model, content: bytes, name: str, kind: str) -> None:
        try:
            with _one_at_a_time:
                self._tell(_evaluate_content(model, content, name, kind, self._progress))
        except _Abandoned:
            pass
        finally:
            self._over.set()
            self._tell(None)


def end() -> None:
    """The server is about to end."""
    if _latest is not None:
        _latest.end()


def join() -> None:
    """Waits for the step that is under way: it uses threads, which Python takes away when it ends."""
    if _latest is not None:
        _latest.thread.join()


def _file_name(name: str) -> str:
    """The name that a file had, without anything that could lead out of a folder or mean several files."""
    return re.sub(r"[^\w.-]+", "_", name)[-60:].lstrip(".") or "file"


def _evaluate_content(model: Model, content: bytes, name: str, kind: str, progress: ProgressCallback) -> dict[str, Any]:
    if not content.strip():
        return {"error": "the file is empty; drop one with analogies or with pairs of words and a score"}
    try:
        with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                told = _evaluate(model, path, kind, progress)
            except PosvecError as error:
                told = {"error": str(error)}
            # Without the folder, which means nothing to the user.
            without: dict[str, Any] = json.loads(json.dumps(told).replace(f"{folder}/", ""))
            return without
    except OSError as error:
        return {"error": f"the file cannot be kept while it is read: {error.strerror}; make room on the disk"}


def _evaluate(model: Model, path: Path, kind: str, progress: ProgressCallback) -> dict[str, Any]:
    progress(0.0)
    if is_compressed(path):
        raise PosvecError(f"{path} is compressed; unpack it first")
    if kind == "similarity" or (kind == "auto" and is_pair_file(path)):
        return {"kind": "similarity", "result": similarity.evaluate(model, path).to_dict()}
    return {"kind": "analogy", "result": analogy.evaluate(model, path, progress=progress).to_dict()}
