"""The inputs of a corpus: text files, and pieces of them that several processes read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from posvec.corpus.lines import TextPiece
from posvec.errors import CorpusError
from posvec.system.decompression import is_compressed
from posvec.system.files import file_fingerprint, file_identity, read_blocks, read_lines


class TextInput(TextPiece, Protocol):
    """One input of a corpus: a file, or a temporary copy of text that can be read only once."""

    size: int
    """Its bytes, before decompression."""

    @property
    def digest(self) -> str: ...
    def pieces(self, size: int) -> Iterator[TextPiece]:
        """Cut the text into pieces of about ``size`` bytes that other processes can read."""
        ...

    def check_unchanged(self) -> None:
        """Raise CorpusError if it changed since it was opened."""
        ...

    def close(self) -> None: ...


class TextFile:
    """A text file, which may be compressed."""

    may_have_bom = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._identity = file_identity(path)
        self.size = self._identity[0]
        self.digest = file_fingerprint(path)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "path": self.path.absolute()}  # other processes have other current folders

    def read(self, report: Callable[[int], None]) -> Iterator[bytes]:
        return read_blocks(self.path, report)

    def pieces(self, size: int) -> Iterator[TextPiece]:
        if is_compressed(self.path):  # it can be read only from its beginning
            yield self
            return
        for begin in range(0, self.size, size):
            yield FilePiece(self, begin, min(begin + size, self.size))

    def lines_before(self) -> int:
        return 0

    def check_unchanged(self) -> None:
        if file_identity(self.path) != self._identity:
            raise CorpusError(f"{self.path} was changed while it was read; start again once it is complete")

    def close(self) -> None:
        pass


class FilePiece:
    """The lines of a plain file that begin in a range of its bytes."""

    def __init__(self, file: TextFile, begin: int, end: int) -> None:
        self.file, self.begin, self.end = file, begin, end
        self.name, self.may_have_bom = file.name, begin == 0

    def read(self, report: Callable[[int], None]) -> Iterator[bytes]:
        return read_lines(self.file.path, self.begin, self.end)

    def lines_before(self) -> int:
        return sum(block.count(b"\n") for block in read_lines(self.file.path, 0, self.begin)) if self.begin else 0
