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

from posvec.corpus import Progress
from posvec.errors import PosvecError
from posvec.evaluation import analogy, similarity
from posvec.evaluation.questions import is_pair_file
from posvec.explorer.security import MOST_BYTES, too_large
from posvec.files import is_compressed
from posvec.model import Model

_one_at_a_time = threading.Lock()


class _Abandoned(Exception):
    """Nobody waits for the result any more."""


async def read_body(request: Request) -> bytes:
    """The body of a request, as far as it is not too large."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise HTTPException(413, too_large(MOST_BYTES))
    if not content.strip():
        raise HTTPException(400, "the file is empty; drop one with analogies or with pairs of words and a score")
    return bytes(content)


def begin(model: Model, content: bytes, name: str, kind: str) -> AsyncGenerator[str, None]:
    """Lines of JSON: progress, then the result or what is wrong with the file.

    A second evaluation beside the one that runs is refused: each takes all cores.
    """
    if not _one_at_a_time.acquire(blocking=False):
        raise HTTPException(429, "another evaluation is under way; wait for its end")
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    abandoned = threading.Event()

    def tell(line: dict[str, Any] | None) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(lines.put_nowait, None if line is None else f"{json.dumps(line)}\n")

    def progress(share: float) -> None:
        if abandoned.is_set():
            raise _Abandoned
        tell({"progress": share})

    def work() -> None:
        try:
            tell(_evaluate_content(model, content, _file_name(name), kind, progress))
        except _Abandoned:
            pass
        finally:
            _one_at_a_time.release()
            tell(None)

    async def told() -> AsyncGenerator[str, None]:
        try:
            while (line := await lines.get()) is not None:
                yield line
        finally:
            abandoned.set()

    threading.Thread(target=work, name="posvec-explorer-evaluation").start()
    return told()


def _file_name(name: str) -> str:
    """The name that a file had, without anything that could lead out of a folder or mean several files."""
    return re.sub(r"[^\w.-]+", "_", name)[-60:].lstrip(".") or "file"


def _evaluate_content(model: Model, content: bytes, name: str, kind: str, progress: Progress) -> dict[str, Any]:
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


def _evaluate(model: Model, path: Path, kind: str, progress: Progress) -> dict[str, Any]:
    progress(0.0)
    if is_compressed(path):
        raise PosvecError(f"{path} is compressed; unpack it first")
    if kind == "similarity" or (kind == "auto" and is_pair_file(path)):
        return {"kind": "similarity", "result": similarity.evaluate(model, path).to_dict()}
    return {"kind": "analogy", "result": analogy.evaluate(model, path, progress=progress).to_dict()}
