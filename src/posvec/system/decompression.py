"""Decompression of gzip, bzip2, xz and zstandard in bounded memory.

A small compressed file can expand to terabytes, so that its content is produced in blocks of bounded size. A file may
consist of several compressed streams, one after the other.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, Any

BLOCK = 4 << 20
"""The size in bytes of the blocks of content."""
_COMPRESSED_BLOCK = 64 << 10


def is_compressed(path: Path) -> bool:
    """Whether the extension of a file is that of a compressed one.

    Examples
    --------
    >>> is_compressed(Path("corpus.txt.gz")), is_compressed(Path("corpus.txt"))
    (True, False)
    """
    return path.suffix.lower() in _DECOMPRESSORS


def is_corruption(error: BaseException | None) -> bool:
    """Whether an error is one that decompressors raise for damaged data."""
    if isinstance(error, OSError):
        return error.errno is None  # as raised by bz2
    # ZstdError is recognized by its name, so that zstandard is imported only when it is used.
    return isinstance(error, (EOFError, zlib.error, lzma.LZMAError)) or type(error).__name__ == "ZstdError"


def decompress(raw: IO[bytes], extension: str) -> Iterator[bytes]:
    """Yield the content of an open compressed file, whose kind is given by an extension, for example ``.gz``."""
    gathered = bytearray()
    for piece in _expand_streams(*_DECOMPRESSORS[extension.lower()], raw):
        gathered += piece
        while len(gathered) >= BLOCK:
            yield bytes(memoryview(gathered)[:BLOCK])
            del gathered[:BLOCK]
    yield bytes(gathered)


def decompress_detected(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an open file, decompressed if its first bytes are those of a compressed file."""
    start = raw.read(8)
    raw.seek(0)
    for magic, extension in _MAGIC.items():
        if start.startswith(magic):
            yield from decompress(raw, extension)
            return
    while block := raw.read(BLOCK):
        yield block


# Expands compressed bytes of a stream in pieces of bounded size, and returns the bytes after the end of the stream.
_Expand = Callable[[Any, bytes], Generator[bytes, None, bytes]]


def expand_gzip(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    """Expand compressed bytes of a gzip stream; return the bytes after its end."""
    more = True
    while more:
        piece = stream.decompress(compressed, BLOCK)
        yield piece
        compressed = stream.unconsumed_tail
        more = not stream.eof and (bool(compressed) or len(piece) == BLOCK)
    return bytes(stream.unused_data)


def _expand(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    yield stream.decompress(compressed, BLOCK)
    while not stream.eof and not stream.needs_input:
        yield stream.decompress(b"", BLOCK)
    return bytes(stream.unused_data)


def _expand_zstandard(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    """Its output has no limit, but 4 bytes expand to 128 kB at most, so 1 kB of input expands to 32 MB at most."""
    for start in range(0, len(compressed), 1024):
        yield stream.decompress(compressed[start : start + 1024])
        if stream.eof:
            return bytes(stream.unused_data) + compressed[start + 1024 :]
    return b""


def _expand_streams(start: Callable[[], Any], expand: _Expand, raw: IO[bytes]) -> Iterator[bytes]:
    # The file objects of the standard library and of zstandard are not used: after the first of several streams in a
    # file, those of bz2 and xz take a damaged stream for the end, and that of zstandard a truncated one.
    stream = start()
    between = False
    while compressed := raw.read(_COMPRESSED_BLOCK):
        while compressed:
            if between:
                compressed = compressed.lstrip(b"\0")  # padding
                if not compressed:
                    break
                stream, between = start(), False
            compressed = yield from expand(stream, compressed)
            between = stream.eof
    if not between and raw.tell():
        raise EOFError("it ends too early")


def _zstandard() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECOMPRESSORS: dict[str, tuple[Callable[[], Any], _Expand]] = {
    ".gz": (lambda: zlib.decompressobj(wbits=31), expand_gzip),
    ".bz2": (bz2.BZ2Decompressor, _expand),
    # The file itself states how much memory its decompression needs, up to 4 GB; xz -9 needs a quarter of this limit.
    ".xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28), _expand),
    ".zst": (_zstandard, _expand_zstandard),  # the default limit is 128 MB
}
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
