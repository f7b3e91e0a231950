"""Blocks of whole lines of UTF-8 from blocks of bytes.

A line is a sentence or a paragraph: windows never cross one. Only ``\\n`` ends a line, as in ``grep`` and ``wc``. A
line of more than 4 MB, for example a file without line ends, is read as several, cut between two words; a word of more
than 4 MB is cut, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from posvec._kernel import find_invalid_utf8
from posvec.corpus.tokenizers import TOKEN_SEPARATOR
from posvec.errors import CorpusError

_BOM = b"\xef\xbb\xbf"
_MAX_LINE_BYTES = 4 << 20


class TextPiece(Protocol):
    """Whole lines of one input of a corpus."""

    @property
    def name(self) -> str: ...
    @property
    def may_have_bom(self) -> bool:
        """Whether it begins where its input begins, so that a byte order mark is not text."""
        ...

    def read(self, report: Callable[[int], None]) -> Iterator[bytes]:
        """Yield the bytes in blocks; ``report`` gets the bytes of the input that were read so far."""
        ...

    def lines_before(self) -> int:
        """Count the lines of the input before this piece."""
        ...


def text_blocks(piece: TextPiece, errors: str, report: Callable[[int], None] = lambda read: None) -> Iterator[bytes]:
    """Yield valid UTF-8 in blocks of whole lines, or of parts of very long ones, without a byte order mark.

    Invalid bytes raise CorpusError, or are replaced by U+FFFD if ``errors`` is ``"replace"``.
    """
    offset = 0
    for block in whole_lines(piece.read(report), _MAX_LINE_BYTES):
        text = block.removeprefix(_BOM) if offset == 0 and piece.may_have_bom else block
        yield _valid_utf8(text, errors, piece, offset + len(block) - len(text))
        offset += len(block)


def whole_lines(blocks: Iterable[bytes], max_bytes: int | None = None) -> Iterator[bytes]:
    """Yield the same bytes in blocks that end with a line, or between two words of a line of more than ``max_bytes``.

    The cuts in a long line depend on its bytes alone, not on the given blocks, provided that none of these is longer
    than ``max_bytes``.

    Examples
    --------
    >>> list(whole_lines([b"one\\ntwo th", b"ree\\nfour"]))
    [b'one\\n', b'two three\\n', b'four']
    """
    begun = bytearray()  # the last line so far, without the parts of it that were yielded
    for block in blocks:
        line_end = block.find(b"\n") + 1
        begun += memoryview(block)[: line_end or len(block)]
        while max_bytes and len(begun) > max_bytes:
            cut = _cut_between_words(begun, max_bytes)
            yield bytes(memoryview(begun)[:cut])
            del begun[:cut]
        if line_end:
            cut = block.rfind(b"\n") + 1
            yield b"".join([begun, memoryview(block)[line_end:cut]])
            begun = bytearray(memoryview(block)[cut:])
    if begun:
        yield bytes(begun)


def _cut_between_words(text: bytearray, limit: int) -> int:
    """Return where to cut so that no tokenizer notices: after a token separator, else a blank, else a character."""
    for separator in (TOKEN_SEPARATOR.encode(), b" "):
        if cut := text.rfind(separator, 0, limit) + 1:
            return cut
    # 0b10xxxxxx continues a character, of four bytes at most.
    return next((cut for cut in range(limit, max(limit - 4, 0), -1) if text[cut] & 0xC0 != 0x80), limit)


def _valid_utf8(text: bytes, errors: str, piece: TextPiece, offset: int) -> bytes:
    invalid = find_invalid_utf8(text)
    if invalid < 0:
        return text
    if errors == "replace":
        # Blocks never cut a character, so this gives the same as decoding the whole file.
        return text.decode("utf-8", "replace").encode()
    line = piece.lines_before() + _line_number(piece, offset + invalid)
    raise CorpusError(
        f"{piece.name} is not UTF-8 in line {line:,}; convert it, or use errors='replace' (--errors replace) to go on"
    )


def _line_number(piece: TextPiece, offset: int) -> int:
    """Count the lines of a piece up to a byte, by reading it again: it is needed for an error message only."""
    line = 1
    for block in piece.read(lambda read: None):
        line += block[:offset].count(b"\n")
        offset -= len(block)
        if offset <= 0:
            break
    return line
