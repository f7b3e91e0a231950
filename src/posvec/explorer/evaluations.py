"""Evaluation of a file that was dropped on the page: progress as it comes, then the result, line by line."""

from __future__ import annotations

import json
import queue
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request

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


def begin() -> None:
    """Refuse a second evaluation beside the one that runs: it takes all cores."""
    if not _one_at_a_time.acquire(blocking=False):
        raise HTTPException(429, "another evaluation is under way; wait for its end")


def run(model: Model, content: bytes, name: str, kind: str) -> Iterator[str]:
    """Lines of JSON: progress, then the result or what is wrong with the file. To be called after :func:`begin`."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    abandoned = threading.Event()

    def progress(share: float) -> None:
        if abandoned.is_set():
            raise _Abandoned
        lines.put(json.dumps({"progress": share}))

    def work() -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="posvec-") as folder:
                path = Path(folder, _file_name(name))
                path.write_bytes(content)
                try:
                    told = json.dumps(_evaluate(model, path, kind, progress))
                except PosvecError as error:
                    told = json.dumps({"error": str(error)})
                lines.put(told.replace(f"{folder}/", ""))  # a place that means nothing to the user
        except OSError as error:
            lines.put(json.dumps({"error": f"the file cannot be kept while it is read: {error.strerror}"}))
        except _Abandoned:
            pass
        finally:
            _one_at_a_time.release()
            lines.put(None)

    threading.Thread(target=work, name="posvec-explorer-evaluation", daemon=True).start()
    try:
        while (line := lines.get()) is not None:
            yield line + "\n"
    finally:
        abandoned.set()


def _file_name(name: str) -> str:
    """The name that a file had, without anything that could lead out of a folder or mean several files."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "file"


def _evaluate(model: Model, path: Path, kind: str, progress: Any) -> dict[str, Any]:
    progress(0.0)
    if is_compressed(path):
        raise PosvecError(f"{path} is compressed; unpack it first")
    if kind == "similarity" or (kind == "auto" and is_pair_file(path)):
        return {"kind": "similarity", "result": similarity.evaluate(model, path).to_dict()}
    return {"kind": "analogy", "result": analogy.evaluate(model, path, progress=progress).to_dict()}
