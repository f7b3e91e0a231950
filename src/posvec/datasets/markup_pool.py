"""A pool of processes that strip wiki markup, one for each thread that uses it.

Stripping is Python code, which threads of one process cannot run in parallel. multiprocessing is not used, because it
runs the user's script again on some systems and copies locks in their locked state on others.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from posvec.errors import CorpusError
from posvec.system.extras import require_extra


class MarkupStripperPool:
    """Processes that each serve one thread; a process is started when its thread first needs it."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[subprocess.Popen[str]] = []
        self.unreadable = 0
        """The number of pages that were left out because the parser failed."""

    def paragraphs(self, pages: Sequence[str], namespaces: Sequence[str]) -> list[str]:
        """Return the paragraphs of several pages; links into the namespaces are left out."""
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([pages, namespaces]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            raise CorpusError("a process that strips wiki markup has ended; there may be too little memory")
        paragraphs, unreadable = json.loads(answer)
        self.unreadable += unreadable
        return [str(paragraph) for paragraph in paragraphs]

    def close(self) -> None:
        """Kill all processes."""
        for process in self._all:
            process.kill()
            process.communicate()

    def _process(self) -> subprocess.Popen[str]:
        if not hasattr(self._own, "process"):
            self._own.process = subprocess.Popen(
                [sys.executable, "-m", "posvec.datasets.wikitext"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="ascii",
                start_new_session=True,  # Ctrl-C goes to the process of the user only, which then ends this one
            )
            self._all.append(self._own.process)
        process: subprocess.Popen[str] = self._own.process
        return process


@contextmanager
def markup_stripper_pool() -> Iterator[MarkupStripperPool]:
    """Yield a pool and close it at the end."""
    require_extra("wikitextparser", "wiki")  # raise the error here once instead of in every process
    pool = MarkupStripperPool()
    try:
        yield pool
    finally:
        pool.close()
