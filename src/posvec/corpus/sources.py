"""Text from anywhere → blocks of whole lines, in bounded memory.

A line is a sentence or a paragraph: windows never cross one. Lines end in ``\\n`` alone, as in ``grep`` and ``wc``.
A line of more than 4 MB, such as a file without any line end, is read as several, cut between two words; a word of
more than 4 MB is cut, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Union, cast

from posvec._kernel import find_invalid_utf8
from posvec.config import TextConfig
from posvec.corpus.cache import digest_of
from posvec.corpus.spooling import spool_sentences, spool_stream, spool_tokenized
from posvec.corpus.tokenizers import TOKEN_SEPARATOR
from posvec.errors import CorpusError
from posvec.system.files import (
    file_fingerprint,
    file_identity,
    find_files,
    is_compressed,
    path_exists,
    read_blocks,
    read_lines,
    reading,
)

Source = Union[str, Path, Iterable[str | Path], Iterable[Sequence[str]], "Corpus"]
ProgressCallback = Callable[[float], None]

_BOM = b"\xef\xbb\xbf"
_LONGEST_LINE = 4 << 20
# So many items of a list of strings decide whether it is one of paths or of sentences.
_DECIDING = 1000


def open_corpus(
    source: Source, config: TextConfig | None = None, tokenizer: Callable[[str], Iterable[str]] | None = None
) -> Corpus:
    """The text of a source, to be read as often as needed.

    A ``str`` or ``Path`` is a file, a folder (all files below it in sorted order, hidden ones skipped), a pattern such
    as ``"texts/*.gz"``, or ``"-"`` for standard input; files ending in .gz, .bz2, .xz and .zst are decompressed.
    Any other iterable gives sentences, as strings or as lists of tokens. A list or tuple of strings can be either: if
    every one of them names a file, folder or pattern that exists, they are paths; if none does, they are sentences; if
    only some do, that is an error. (Of a list of more than 1,000 strings none of which is a path so far, the rest are
    not asked.) A ``tokenizer`` of your own takes a line and returns its tokens; it replaces ``config.tokenizer``.

    What cannot be read twice (standard input, iterables, text under your own tokenizer) is copied to a temporary file.
    """
    if isinstance(source, Corpus):
        return source
    config = config or TextConfig()
    if tokenizer is not None and not callable(tokenizer):
        raise CorpusError(
            f"tokenizer is a function from a line to its tokens, not {tokenizer!r}; name one in TextConfig"
        )
    paths = _as_paths(source)
    if paths is None:
        spool, tokenized = spool_sentences(cast("Iterable[Any]", source), config.errors)
        if tokenized and tokenizer is not None:
            raise CorpusError("the sentences are lists of tokens already; give them as strings, or give no tokenizer")
        corpus = Corpus(spool.name, "tokens" if tokenized else config.tokenizer, config, [spool])
    else:
        name = _names(paths)
        corpus = Corpus(name, config.tokenizer, config, [part for path in paths for part in _parts(path)])
    if tokenizer is not None:
        with corpus:
            spool = spool_tokenized(corpus.name, corpus.blocks(), tokenizer, config.errors)
        return Corpus(corpus.name, "tokens", config, [spool])
    return corpus


class Corpus:
    """Lines of text that can be read again and again. Made by :func:`open_corpus`."""

    def __init__(self, name: str, tokenizer: str, config: TextConfig, parts: Sequence[_Part]) -> None:
        self.name = name
        self.digest = digest_of(*(part.digest for part in parts))
        """Identifies the input: for files their places, sizes, times and samples, for others all of their content."""
        self.tokenizer = tokenizer
        """``word``, ``whitespace``, or ``tokens`` where the text came in tokens."""
        self.errors = config.errors
        self.size_hint = sum(part.size for part in parts)
        """Bytes to read, compressed as they are."""
        self.paths: list[str] = []
        """Where to find the same text again: the absolute paths of its files, or none if it is not all in files."""
        if all(isinstance(part, _File) for part in parts):
            self.paths = [str(part.path.absolute()) for part in parts if isinstance(part, _File)]
        self._parts = parts
        if not self.size_hint:
            raise CorpusError(f"there is no text in {name}: it is empty; give a source that has some")

    def blocks(self, progress: ProgressCallback | None = None) -> Iterator[bytes]:
        """UTF-8 bytes of whole lines, some megabytes at a time; lines that are longer than that come in pieces.

        ``progress`` is told the share of the input that was read.
        """
        done, empty = 0, True
        for part in self._parts:
            for block in text_blocks(part, self.errors, _sharer(progress, done, self.size_hint)):
                empty = False
                yield block
            done += part.size
        if empty:
            raise CorpusError(f"there is no text in {self.name}: it is empty; give a source that has some")
        if progress:
            progress(1.0)

    def lines(self) -> Iterator[str]:
        """The text of each line, without its end."""
        for block in self.blocks():
            yield from block.decode().removesuffix("\n").split("\n")

    def pieces(self, size: int) -> Iterator[Piece]:
        """The same text in pieces of about ``size`` bytes, one after the other, to be read by other processes."""
        for part in self._parts:
            yield from part.pieces(size)

    def check_unchanged(self) -> None:
        """Raises if a file is no longer what it was when the corpus was opened."""
        for part in self._parts:
            part.check_unchanged()

    def close(self) -> None:
        """Remove the temporary copy, if there is one. Also happens when the corpus is no longer used."""
        for part in self._parts:
            part.close()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Corpus {self.name}>"


class Piece(Protocol):
    """Whole lines of one file of a corpus."""

    @property
    def name(self) -> str: ...
    @property
    def may_have_bom(self) -> bool: ...
    def blocks(self, report: Callable[[int], None]) -> Iterator[bytes]: ...
    def lines_before(self) -> int: ...


class _Part(Piece, Protocol):
    """One file of a corpus."""

    size: int

    @property
    def digest(self) -> str: ...
    def pieces(self, size: int) -> Iterator[Piece]: ...
    def check_unchanged(self) -> None: ...
    def close(self) -> None: ...


def text_blocks(piece: Piece, errors: str, report: Callable[[int], None] = lambda read: None) -> Iterator[bytes]:
    """UTF-8 bytes of whole lines of a piece, or of parts of very long ones, without what may mark its beginning."""
    offset = 0
    for block in whole_lines(piece.blocks(report), _LONGEST_LINE):
        text = block.removeprefix(_BOM) if offset == 0 and piece.may_have_bom else block
        yield _checked(text, errors, piece, offset + len(block) - len(text))
        offset += len(block)


def _checked(text: bytes, errors: str, piece: Piece, offset: int) -> bytes:
    bad = find_invalid_utf8(text)
    if bad < 0:
        return text
    if errors == "replace":
        # No character is cut: the same as decoding all of the file at once.
        return text.decode("utf-8", "replace").encode()
    line = piece.lines_before() + _line_number(piece, offset + bad)
    raise CorpusError(
        f"{piece.name} is not UTF-8 in line {line:,}; convert it, or use errors='replace' (--errors replace) to go on"
    )


class _File:
    may_have_bom = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._identity = file_identity(path)
        self.size = self._identity[0]
        self.digest = file_fingerprint(path)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "path": self.path.absolute()}  # other processes are in other folders

    def blocks(self, report: Callable[[int], None]) -> Iterator[bytes]:
        return read_blocks(self.path, report)

    def pieces(self, size: int) -> Iterator[Piece]:
        if is_compressed(self.path):  # which can only be read from its beginning
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

    def __init__(self, file: _File, begin: int, end: int) -> None:
        self.file, self.begin, self.end = file, begin, end
        self.name, self.may_have_bom = file.name, begin == 0

    def blocks(self, report: Callable[[int], None]) -> Iterator[bytes]:
        return read_lines(self.file.path, self.begin, self.end)

    def lines_before(self) -> int:
        return sum(block.count(b"\n") for block in read_lines(self.file.path, 0, self.begin)) if self.begin else 0


def _as_paths(source: Source) -> list[str | Path] | None:
    if isinstance(source, (str, Path)):
        return [source]
    if isinstance(source, (bytes, bytearray)) or not isinstance(source, Iterable):
        raise CorpusError(f"a corpus is a path or an iterable of sentences, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)) or not source or not all(isinstance(item, (str, Path)) for item in source):
        return None
    items = cast("list[str | Path]", list(source))
    if not any(isinstance(item, Path) or item == "-" or path_exists(item) for item in items[:_DECIDING]):
        return None
    missing = [str(item) for item in items if item != "-" and not path_exists(item)]
    if missing:
        shown = ", ".join(repr(item[:80]) for item in missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise CorpusError(
            f"of {len(items):,} paths, {len(missing):,} do not exist: {shown}; mend or remove them (or, if these are "
            f"sentences, pass iter(...) of them)"
        )
    return items


def _names(paths: Sequence[str | Path]) -> str:
    first = "standard input" if str(paths[0]) == "-" else str(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"


def _parts(path: str | Path) -> Iterator[_Part]:
    if str(path) == "-":
        yield spool_stream("standard input", sys.stdin.buffer)
        return
    for file in find_files(path):
        if file.exists() and not file.is_file():  # a named pipe, as from <(...) in the shell
            with reading(file), file.open("rb") as pipe:
                yield spool_stream(str(file), pipe)
        else:
            yield _File(file)


def whole_lines(blocks: Iterable[bytes], longest: int | None = None) -> Iterator[bytes]:
    """The same bytes, cut behind line ends only, and in lines of more than ``longest`` bytes between words.

    Where a line is cut depends on its bytes alone, not on the blocks that they come in, none of which is longer.
    """
    begun = bytearray()  # the last line so far, less what was cut off it
    for block in blocks:
        line_end = block.find(b"\n") + 1
        begun += memoryview(block)[: line_end or len(block)]
        while longest and len(begun) > longest:
            cut = _cut_between_words(begun, longest)
            yield bytes(memoryview(begun)[:cut])
            del begun[:cut]
        if line_end:
            cut = block.rfind(b"\n") + 1
            yield b"".join([begun, memoryview(block)[line_end:cut]])
            begun = bytearray(memoryview(block)[cut:])
    if begun:
        yield bytes(begun)


def _cut_between_words(text: bytearray, most: int) -> int:
    """Where to cut so that no tokenizer sees it: behind a separator of tokens, a blank, or else before a character."""
    for separator in (TOKEN_SEPARATOR.encode(), b" "):
        if cut := text.rfind(separator, 0, most) + 1:
            return cut
    # 0b10xxxxxx continues a character, of four bytes at most.
    return next((cut for cut in range(most, max(most - 4, 0), -1) if text[cut] & 0xC0 != 0x80), most)


def _sharer(progress: ProgressCallback | None, done: int, size: int) -> Callable[[int], None]:
    if progress is None or not size:
        return lambda read: None
    return lambda read: progress(min(1.0, (done + read) / size))


def _line_number(piece: Piece, offset: int) -> int:
    """Which line of the piece the byte is in: counted only now, when something is wrong with it."""
    line = 1
    for block in piece.blocks(lambda read: None):
        line += block[:offset].count(b"\n")
        offset -= len(block)
        if offset <= 0:
            break
    return line
