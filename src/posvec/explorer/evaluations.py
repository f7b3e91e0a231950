"""Evaluation of a file that was dropped on the page: a stream of progress, then the result."""

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
from posvec.explorer.security import MAX_BODY_BYTES, MAX_UPLOADED_BYTES, body_too_large_message
from posvec.model import Model
from posvec.system.decompression import is_compressed

running_lock = threading.Lock()
"""Held by the evaluation that is being computed."""

_latest: EvaluationResponse | None = None

_uploaded_bytes = 0
"""The size of the bodies that are being received, all of them in the event loop's thread."""


class _Cancelled(Exception):
    """No client waits for the result."""


async def read_body(request: Request) -> bytes:
    """Read the body of a request, up to its maximum size.

    Parameters
    ----------
    request
        The request.

    Returns
    -------
    bytes
        The body.

    Raises
    ------
    HTTPException
        With status 413 if the body is too large, 400 if the client disconnects before its end, and 429 if too many
        bytes of other bodies are being received.
    """
    global _uploaded_bytes
    content = bytearray()
    try:
        async for part in request.stream():
            if len(content) + len(part) > MAX_BODY_BYTES:
                raise HTTPException(413, body_too_large_message(MAX_BODY_BYTES))
            if _uploaded_bytes + len(part) > MAX_UPLOADED_BYTES:
                raise HTTPException(429, "too many other files are being sent; wait until they have arrived")
            content += part
            _uploaded_bytes += len(part)
    except ClientDisconnect:
        raise HTTPException(400, "the file was not received completely; send it again") from None
    finally:
        _uploaded_bytes -= len(content)
    return bytes(content)


class EvaluationResponse(StreamingResponse):
    """Evaluate a file in a thread and stream lines of JSON: progress, then the result or an error.

    An evaluation uses all cores, so a second one is refused while a client waits for the first. An evaluation whose
    client has disconnected does not count: it ends at its next step, which may take seconds on a busy machine, and the
    new evaluation starts then.

    Parameters
    ----------
    model
        The model to evaluate.
    content
        The bytes of the file.
    name
        The name of the file, which error messages contain.
    kind
        ``analogy``, ``similarity``, or ``auto`` to detect the kind from the lines.

    Raises
    ------
    HTTPException
        With status 429 if a client waits for another evaluation.
    """

    def __init__(self, model: Model, content: bytes, name: str, kind: str) -> None:
        global _latest
        self._finished = threading.Event()
        if _latest is not None and not _latest.is_finished:
            raise HTTPException(429, "another evaluation is running; wait until it has finished")
        _latest = self
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        super().__init__(self._stream_lines(), media_type="application/x-ndjson")
        self.thread = threading.Thread(
            target=self._run, args=(model, content, _safe_file_name(name), kind), name="posvec-explorer-evaluation"
        )
        self.thread.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines until the result is sent or the client disconnects."""
        try:
            await super().__call__(scope, receive, send)
        finally:  # not in _stream_lines, which is never entered if the client has already disconnected
            self._finished.set()

    @property
    def is_finished(self) -> bool:
        """Whether no client waits for the result any more."""
        return self._finished.is_set()

    def cancel(self) -> None:
        """Stop the evaluation at its next step and send an error to the client."""
        self._finished.set()
        self._send_line({"error": "the explorer was stopped; start it and drop the file again"})
        self._send_line(None)

    async def _stream_lines(self) -> AsyncGenerator[str, None]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _send_line(self, line: dict[str, Any] | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed: the server has stopped
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None if line is None else f"{json.dumps(line)}\n")

    def _send_progress(self, fraction: float) -> None:
        if self.is_finished:
            raise _Cancelled
        self._send_line({"progress": fraction})

    def _run(self, model: Model, content: bytes, name: str, kind: str) -> None:
        try:
            with running_lock:
                self._send_line(_evaluate_content(model, content, name, kind, self._send_progress))
        except _Cancelled:
            pass
        finally:
            self._finished.set()
            self._send_line(None)


def cancel_latest() -> None:
    """Cancel the evaluation that is running, if any, because the server stops."""
    if _latest is not None:
        _latest.cancel()


def join_latest() -> None:
    """Wait for the thread of the latest evaluation: it uses thread pools, which Python shuts down at its exit."""
    if _latest is not None:
        _latest.thread.join()


def _safe_file_name(name: str) -> str:
    """A file name without path separators and wildcards."""
    return re.sub(r"[^\w.-]+", "_", name)[-60:].lstrip(".") or "file"


def _evaluate_content(model: Model, content: bytes, name: str, kind: str, progress: ProgressCallback) -> dict[str, Any]:
    if not content.strip():
        return {"error": "the file is empty; drop one with analogies or with pairs of words and a score"}
    try:
        with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                answer = _evaluate_file(model, path, kind, progress)
            except PosvecError as error:
                answer = {"error": str(error)}
            # The temporary folder means nothing to the user.
            shortened: dict[str, Any] = json.loads(json.dumps(answer).replace(f"{folder}/", ""))
            return shortened
    except OSError as error:
        return {"error": f"cannot write the file to a temporary folder: {error.strerror}; free some disk space"}


def _evaluate_file(model: Model, path: Path, kind: str, progress: ProgressCallback) -> dict[str, Any]:
    progress(0.0)
    if is_compressed(path):
        raise PosvecError(f"{path} is compressed; unpack it first")
    if kind == "similarity" or (kind == "auto" and is_pair_file(path)):
        return {"kind": "similarity", "result": similarity.evaluate(model, path).to_dict()}
    return {"kind": "analogy", "result": analogy.evaluate(model, path, progress=progress).to_dict()}
