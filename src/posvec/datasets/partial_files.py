"""Partial downloads: the bytes received so far, kept so that an interrupted download can continue."""

from __future__ import annotations

import hashlib
from pathlib import Path

from posvec.corpus.cache import writing_to
from posvec.datasets.definitions import Download
from posvec.errors import DownloadError


class PartialFile:
    """The received part of a file, and the tag by which the server recognizes whether the rest still belongs to it.

    The tag is the ETag or the modification date that the server sent with the first bytes.
    """

    def __init__(self, item: Download, path: Path, remedy: str) -> None:
        self.item = item
        self.path = path
        self.remedy = remedy
        """How to continue after a failure; the end of an error message."""
        self.file = path.with_name(path.name + ".part")
        self._tag_file = path.with_name(path.name + ".tag")
        with writing_to(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def size(self) -> int:
        """The number of bytes received."""
        return self.file.stat().st_size if self.file.exists() else 0

    @property
    def tag(self) -> str:
        """The tag of the file on the server; empty if it sent none."""
        return self._tag_file.read_text("ascii") if self._tag_file.exists() else ""

    def restart(self, tag: str = "") -> None:
        """Discard the received bytes and store the tag of the file that follows."""
        with writing_to(self.path.parent):
            self.file.unlink(missing_ok=True)
            self._tag_file.unlink(missing_ok=True)
            if tag.isascii() and tag:
                self._tag_file.write_text(tag, "ascii")

    def finish(self) -> None:
        """Check the checksum of the complete file and move it to its path."""
        if self.item.checksum:
            algorithm, _, expected = self.item.checksum.partition(":")
            actual = _file_checksum(self.file, algorithm)
            if actual != expected:
                self.restart()
                raise DownloadError(
                    f"the file from {self.item.url} has the {algorithm} checksum {actual}, not {expected}, and was "
                    f"removed; fetch it again, and if this repeats, the file has changed at its source"
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
