"""Downloads that are retried, resumed and checked; a file gets its name only when it is complete.

The received part of an interrupted download is kept beside the file and not downloaded again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from posvec.datasets.definitions import Download
from posvec.datasets.partial_files import PartialFile
from posvec.datasets.transfer import TransientError, receive
from posvec.errors import DownloadError

WAITS = (1.0, 3.0, 10.0)
"""Seconds before each further attempt. An attempt that received something starts the count again."""
_LONGEST_WAIT = 120.0  # even if the server asks for more


def is_offline() -> bool:
    """Return whether the environment variable POSVEC_OFFLINE forbids downloads."""
    return os.environ.get("POSVEC_OFFLINE", "").lower() not in ("", "0", "no", "false")


def download(
    item: Download,
    path: Path,
    progress: Callable[[int], None] = lambda received: None,
    note: Callable[[str], None] = lambda text: None,
    name: str = "",
) -> None:
    """Download a file.

    Parameters
    ----------
    item
        The file, with its size and checksum if known.
    path
        Where to save it.
    progress
        Called with the number of bytes received so far.
    note
        Called with a message before each repeated attempt.
    name
        The dataset that the file belongs to, so that an error message can tell how to continue.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded, is larger than expected, or has a wrong checksum.
    """
    remedy = f"; check the network: posvec data fetch {name} continues where it stopped" if name else ""
    part = PartialFile(item, path, remedy)
    failures = 0
    while True:
        size_before = part.size
        try:
            receive(part, progress)
            break
        except TransientError as error:
            failures = 1 if part.size > size_before else failures + 1
            if failures > len(WAITS):
                raise DownloadError(f"{item.url}: {error}{part.remedy}") from error
            wait = min(max(WAITS[failures - 1], error.wait), _LONGEST_WAIT)
            note(f"{item.url}: {error}; trying again in {wait:g} s.")
            time.sleep(wait)
    part.finish()


def download_text(url: str, folder: Path, note: Callable[[str], None], name: str) -> str:
    """Return the text of a small file, for which ``folder`` is used temporarily; the rest is as in :func:`download`."""
    item = Download(url)
    path = folder / item.filename
    download(item, path, note=note, name=name)
    try:
        return path.read_text("utf-8", "replace")
    finally:
        path.unlink()
