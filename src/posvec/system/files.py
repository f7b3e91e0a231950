"""Files → blocks of bytes: which files a path, folder or pattern means, and how plain and compressed ones are read."""

from __future__ import annotations

import bz2
import glob
import lzma
import os
import zlib
from collections.abc import Callable, Generator, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, cast

from posvec.errors import CorpusError
from posvec.system.remote import RemotePath, is_remote

BLOCK = 4 << 20
_SAMPLE = 64 << 10
_COMPRESSED_BLOCK = 64 << 10
_MOST_GROWN, _GROWTH = 1 << 30, 1032


def path_exists(path: str | Path) -> bool:
    """Whether there is such a file or folder, readable or not, or the pattern matches one; addresses always do."""
    if is_remote(path):
        return True
    try:
        return _exists(path) or bool(_matches(str(path)))
    except PermissionError:
        return True
    except OSError:  # too long for a name
        return False


def find_files(path: str | Path) -> list[Path]:
    """The file; or the regular files of a folder and those below it, sorted, without hidden ones; or of a pattern.

    Those at an address are :class:`posvec.system.remote.RemotePath`, which does what is asked of such paths.
    """
    if is_remote(path):
        return _find_elsewhere(str(path))
    with reading(Path(path)):
        exists = _exists(path)
    if not exists:
        matches = _matches(str(path))
        if not matches:
            what = "no file matches the pattern" if glob.has_magic(str(path)) else "no such file or folder:"
            raise CorpusError(f"{what} {path}; check the spelling and the current folder ({Path.cwd()})")
        return [file for match in matches for file in find_files(match)]
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(_walk(path))
    if not files:
        raise CorpusError(f"the folder {path} has no files in it (hidden ones are skipped); name one that has")
    return files


def file_identity(path: Path) -> tuple[int, int]:
    """Size and time of the last change: what tells cheaply that a file was touched."""
    with reading(path):
        stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def file_fingerprint(path: Path) -> str:
    """Identifies a file without reading it all: its place, size, time, and its beginning, middle and end."""
    digest = blake2b(digest_size=16)
    with reading(path):
        size, changed = file_identity(path)
        digest.update(f"{path.absolute()}\0{size}\0{changed}\0".encode("utf-8", "surrogateescape"))
        if path.is_file():  # a pipe has nothing to look ahead into
            with path.open("rb") as file:
                for start in (0, size // 2, max(0, size - _SAMPLE)):
                    file.seek(start)
                    digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def is_compressed(path: Path) -> bool:
    """Whether a file's ending says that it is compressed."""
    return path.suffix.lower() in _DECOMPRESSORS


def read_blocks(path: Path, report: Callable[[int], None]) -> Iterator[bytes]:
    """The bytes of a file, decompressed by its ending; ``report`` hears how many bytes of the file itself were read."""
    with reading(path), path.open("rb") as raw:
        for block in _decompressed(path.suffix.lower(), raw):
            report(raw.tell() if raw.seekable() else 0)
            if block:
                yield block


def decompressed(raw: IO[bytes]) -> Iterator[bytes]:
    """The bytes of an open file, decompressed if it begins as a compressed one does, whatever it is called."""
    start = raw.read(8)
    raw.seek(0)
    return _decompressed(next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), ""), raw)


def read_lines(path: Path, begin: int, end: int) -> Iterator[bytes]:
    """The bytes of those lines of a plain file that begin at its bytes ``begin`` to ``end - 1``."""
    with reading(path), path.open("rb") as raw:
        if begin:
            raw.seek(begin - 1)
            for _ in _to_line_end(raw):  # of a line that began before
                pass
        block = b"\n"
        while (left := end - raw.tell()) > 0:
            block = raw.read(min(BLOCK, left))
            if not block:
                return  # the file was cut short, which its reader finds out
            yield block
        if not block.endswith(b"\n"):
            yield from _to_line_end(raw)


class reading:
    """Turns what goes wrong with a file while it is read into a sentence that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise CorpusError(f"no such file or folder: {self.path}; check the spelling") from error
        if isinstance(error, PermissionError):
            raise CorpusError(
                f"no permission to read {self.path}; change it with chmod +r, or name another file"
            ) from error
        if is_corruption(error):
            raise CorpusError(
                f"{self.path} is damaged or not what its ending says ({str(error).rstrip('.')}); "
                f"get the file again, or mend its ending"
            ) from error
        if isinstance(error, OSError):
            raise CorpusError(f"cannot read {self.path}: {error.strerror}; check the file and its disk") from error


def is_corruption(error: BaseException | None) -> bool:
    """Whether it is how a decompressor says that its bytes are no good."""
    if isinstance(error, OSError):
        return error.errno is None  # how bz2 says it
    # ZstdError by its name: zstandard is imported only by those who need it.
    return isinstance(error, (EOFError, zlib.error, lzma.LZMAError)) or type(error).__name__ == "ZstdError"


def read_file(path: Path) -> bytearray:
    """All bytes of a file, decompressed by its ending; CorpusError if a compressed one grows beyond all measure."""
    content = bytearray()
    for block in read_bounded(path):
        content += block
    return content


def read_bounded(path: Path) -> Iterator[bytes]:
    """``read_blocks`` for those who keep what they read: a small file must not fill the memory.

    A compressed one is refused where it has grown to more than a gigabyte and to more than 1,032 times its size, which
    is what gzip makes of zeros at most.
    """
    size = 0
    for block in read_blocks(path, lambda read: None):
        size += len(block)
        if size > _MOST_GROWN and is_compressed(path) and size > _GROWTH * path.stat().st_size:
            raise CorpusError(
                f"{path} is compressed beyond all measure: it has grown to {size:,} bytes, more than {_GROWTH:,} times "
                f"its size; check where it comes from, or decompress it yourself"
            )
        yield block


def _to_line_end(raw: IO[bytes]) -> Iterator[bytes]:
    """The rest of a line, in pieces of bounded size."""
    while piece := raw.readline(BLOCK):
        yield piece
        if piece.endswith(b"\n"):
            return


def _find_elsewhere(address: str) -> list[Path]:
    files = RemotePath(address).files()
    if not files:
        raise CorpusError(f"no file is at {address}; check the address")
    return cast("list[Path]", files)


def _exists(path: str | Path) -> bool:
    try:
        os.lstat(path)  # not of Path(path), which takes an empty name for the current folder
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def _matches(pattern: str) -> list[str]:
    if not glob.has_magic(pattern):
        return []
    # ** is only a pattern of its own as a whole part of a path; elsewhere it must not walk the disk.
    return sorted(glob.glob(pattern, recursive="**" in Path(pattern).parts))  # noqa: PTH207 (a pattern can be absolute)


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise CorpusError(f"no permission to list {error.filename}; change it with chmod +rx, or name another folder")

    for root, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(root, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _decompressed(ending: str, raw: IO[bytes]) -> Iterator[bytes]:
    decompressor = _DECOMPRESSORS.get(ending)
    if decompressor is None:
        while block := raw.read(BLOCK):
            yield block
        return
    gathered = bytearray()
    for piece in _streams(decompressor, raw):
        gathered += piece
        while len(gathered) >= BLOCK:
            yield bytes(memoryview(gathered)[:BLOCK])
            del gathered[:BLOCK]
    yield bytes(gathered)


def _streams(decompressor: _Decompressor, raw: IO[bytes]) -> Iterator[bytes]:
    # Not the file objects of the standard library and of zstandard: behind the first of several streams in a file,
    # those of bz2 and xz take a damaged one for the end, and that of zstd does so with one that was cut short.
    start, pieces = decompressor
    stream = start()
    between = False
    while compressed := raw.read(_COMPRESSED_BLOCK):
        while compressed:
            if between:
                compressed = compressed.lstrip(b"\0")  # padding
                if not compressed:
                    break
                stream, between = start(), False
            compressed = yield from pieces(stream, compressed)
            between = stream.eof
    if not between and raw.tell():
        raise EOFError("it ends too early")


# What a stream makes of some compressed bytes comes in pieces of bounded size, however much they grow to: a small file
# can hold terabytes. What lies behind the end of the stream is returned.
_Pieces = Callable[[Any, bytes], Generator[bytes, None, bytes]]
_Decompressor = tuple[Callable[[], Any], _Pieces]


def gzip_pieces(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    more = True
    while more:
        piece = stream.decompress(compressed, BLOCK)
        yield piece
        compressed = stream.unconsumed_tail
        more = not stream.eof and (bool(compressed) or len(piece) == BLOCK)
    return bytes(stream.unused_data)


def _pieces(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    yield stream.decompress(compressed, BLOCK)
    while not stream.eof and not stream.needs_input:
        yield stream.decompress(b"", BLOCK)
    return bytes(stream.unused_data)


def _zstandard_pieces(stream: Any, compressed: bytes) -> Generator[bytes, None, bytes]:
    """It knows no bound, but four bytes are at most a block of 128 kB, so a kilobyte is at most 32 MB."""
    for start in range(0, len(compressed), 1024):
        yield stream.decompress(compressed[start : start + 1024])
        if stream.eof:
            return bytes(stream.unused_data) + compressed[start + 1024 :]
    return b""


def _zstandard() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


_DECOMPRESSORS: dict[str, _Decompressor] = {
    ".gz": (lambda: zlib.decompressobj(wbits=31), gzip_pieces),
    ".bz2": (bz2.BZ2Decompressor, _pieces),
    # What it may hold of the text behind it is said by the file, up to 4 GB; xz -9 needs a quarter of this.
    ".xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28), _pieces),
    ".zst": (_zstandard, _zstandard_pieces),  # at most 128 MB
}
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
