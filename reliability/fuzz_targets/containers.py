"""Fuzz targets: compressed files and archives."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from fuzz_targets.target import TEXT
from posvec.datasets import archives
from posvec.system import decompression, files

_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def check_compressed(data: bytes, folder: Path) -> None:
    """The first byte chooses the format. Where the standard library has it too, both must read the same."""
    extension = [*_COMPRESS][data[0] % 4] if data else ".gz"
    path = folder / f"f{extension}"
    path.write_bytes(data[1:])
    size, blocks = 0, []
    for block in files.read_blocks(path, lambda read: None):
        assert len(block) <= decompression.BLOCK
        size += len(block)
        if size < 1 << 20:
            blocks.append(block)
        elif size > 64 << 20:
            return  # a decompression bomb, read in blocks
    if size < 1 << 20 and extension in _DECOMPRESS:
        # The standard library refuses some files that posvec reads: empty ones, or any padding after the last stream.
        with contextlib.suppress(EOFError, lzma.LZMAError):
            assert b"".join(blocks) == _DECOMPRESS[extension](data[1:])


def compressed_seeds() -> Iterator[bytes]:
    for number, compressed in enumerate(_COMPRESS.values()):
        yield bytes([number]) + compressed(TEXT.encode())
        yield bytes([number]) + compressed(b"one\n") + compressed(b"two\n")
        yield bytes([number]) + compressed(b"\0" * 100_000)


def check_archive(data: bytes, folder: Path) -> None:
    """No file is written outside the folder that the archive is unpacked into."""
    (folder / "archive").write_bytes(data)
    (folder / "inside").mkdir()
    for file in archives.unpack(folder / "archive", folder / "inside"):
        assert (folder / "inside").resolve() in file.resolve().parents
    assert sorted(path.name for path in folder.iterdir()) == ["archive", "inside"]


def archive_seeds() -> Iterator[bytes]:
    for names in (["a.txt", "b/c.txt"], ["../a.txt"]):
        zipped, tarred = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), TEXT)
        yield zipped.getvalue()
        with tarfile.open(fileobj=tarred, mode="w:gz", compresslevel=9) as tar:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 5
                tar.addfile(member, io.BytesIO(b"12345"))
        yield tarred.getvalue()
