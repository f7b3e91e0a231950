"""The cache of vocabularies and encoded corpora.

An entry is a folder that is either complete or absent: it is written under a temporary name and renamed. Its
description has checksums of its files and of itself, which are compared whenever it is opened, so that a damaged entry
is made again. Several processes may read, write and clear the cache at once: memory-mapped files stay readable after
they are removed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from posvec.errors import ConfigError, CorpusError
from posvec.system.atomic import TEMPORARY, move_folder, remove_abandoned, temporary_folder
from posvec.system.checksums import file_checksum
from posvec.system.utf8 import decode_json

_META = "meta.json"
_KINDS = ("vocabularies", "encoded")


@dataclass(frozen=True)
class CacheEntry:
    """A vocabulary or an encoded corpus in the cache."""

    name: str
    path: Path
    bytes: int
    created: float


def cache_folder() -> Path:
    """Return the folder of the cache: ``POSVEC_CACHE`` if it is set, else a folder in the user's cache folder.

    Examples
    --------
    >>> import os
    >>> os.environ["POSVEC_CACHE"] == str(cache_folder())
    True
    """
    chosen = os.environ.get("POSVEC_CACHE")
    if chosen:
        try:
            return Path(chosen).expanduser()
        except RuntimeError:
            raise ConfigError(f"POSVEC_CACHE is {chosen}, but there is no such user; set it to a folder") from None
    import platformdirs

    return Path(platformdirs.user_cache_dir("posvec"))


def cache_entries(cache: Path | None = None) -> list[CacheEntry]:
    """List the entries of the cache, oldest first; one that will be made again when it is needed has no name.

    Parameters
    ----------
    cache
        The folder of the cache; by default :func:`cache_folder`.

    Examples
    --------
    >>> cache_entries(Path("empty"))
    []
    """
    found = []
    for path in _folders(cache or cache_folder()):
        if not TEMPORARY.fullmatch(path.name):
            meta = read_meta(path) or {"name": f"{path.name} (damaged or of an older posvec)", "created": 0.0}
            found.append(CacheEntry(meta["name"], path, _size(path), meta["created"]))
    return sorted(found, key=lambda entry: (entry.created, entry.path))


def clear_cache(cache: Path | None = None) -> int:
    """Remove all entries of the cache, and temporary files of killed processes.

    This is safe while other processes use the cache: entries that they have mapped stay readable to them, and entries
    that they are writing are not removed.

    Parameters
    ----------
    cache
        The folder of the cache; by default :func:`cache_folder`.

    Returns
    -------
    int
        How many bytes were freed.

    Examples
    --------
    >>> clear_cache(Path("empty"))
    0
    """
    cache = cache or cache_folder()
    sizes = {path: _size(path) for path in _folders(cache)}
    for path in sizes:
        if not TEMPORARY.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
    for kind in _KINDS:
        remove_abandoned(cache / kind)
    return sum(size for path, size in sizes.items() if not path.exists())


def digest_of(*parts: object) -> str:
    """Return a digest of values that determine an entry; their lengths are included, so that no two lists collide.

    Examples
    --------
    >>> digest_of("ab", "c") == digest_of("a", "bc")
    False
    """
    digest = blake2b(digest_size=16)
    for part in parts:
        text = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def read_meta(path: Path) -> dict[str, Any] | None:
    """Return the description of an entry, or None if the entry is missing or its files do not have the listed sizes.

    The content of the files is not read; :func:`read_entry` compares it too.
    """
    try:
        meta = decode_json((path / _META).read_text("utf-8"))
        checksum = meta.pop("checksum")
        complete = checksum == _meta_checksum(meta) and meta["sizes"].keys() == meta["checksums"].keys()
        if complete and all((path / name).stat().st_size == size for name, size in meta["sizes"].items()):
            return dict(meta)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def read_entry(path: Path, threads: int = 1, progress: Callable[[float], None] | None = None) -> dict[str, Any] | None:
    """Return the description of an entry, or None if the entry is missing or damaged.

    All of its files are read and their checksums are compared: an entry with other content would change what is
    trained without any sign.

    Parameters
    ----------
    path
        The folder of the entry.
    threads
        How many threads to use; 0 is one per core.
    progress
        Called with the fraction of each file that was compared.
    """
    meta = read_meta(path)
    try:
        if meta is not None and all(
            file_checksum(path / name, threads, progress) == checksum for name, checksum in meta["checksums"].items()
        ):
            return meta
    except OSError:
        pass  # another process cleared the cache just now
    return None


@contextmanager
def new_entry(path: Path) -> Iterator[Path]:
    """Create a temporary folder to fill and to pass to :func:`publish`; it is removed if it was not published."""
    with writing_to(path.parent), temporary_folder(path.parent) as temporary:
        yield temporary


def publish(temporary: Path, path: Path, meta: Mapping[str, Any], checksums: Mapping[str, str] | None = None) -> None:
    """Rename a filled temporary folder to the entry; if another process was first, its identical entry stays.

    Parameters
    ----------
    temporary
        The folder that :func:`new_entry` made.
    path
        The folder of the entry.
    meta
        The description of the entry.
    checksums
        The checksums of files that were computed while they were written; the other files are read.
    """
    sizes = {file.name: file.stat().st_size for file in temporary.iterdir()}
    known = checksums or {}
    description = {
        **meta,
        "created": time.time(),
        "sizes": sizes,
        "checksums": {name: known.get(name) or file_checksum(temporary / name) for name in sizes},
    }
    text = json.dumps({**description, "checksum": _meta_checksum(description)})
    (temporary / _META).write_text(text, "utf-8")
    for _ in range(3):
        try:
            if not path.exists():
                temporary.rename(path)
            elif read_entry(path) is None:
                move_folder(temporary, path)
            return
        except OSError as error:
            # Another process created, replaced or removed the entry just now.
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT):
                raise


def _meta_checksum(meta: Mapping[str, Any]) -> str:
    return digest_of(json.dumps(meta, sort_keys=True))


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turn errors while the cache folder is written to into CorpusError with a remedy."""
    try:
        yield
    except OSError as error:
        raise CorpusError(
            f"cannot write to the cache folder {folder}: {error.strerror or error}; free some space there, or set the "
            f"environment variable POSVEC_CACHE to another folder"
        ) from error


def _folders(cache: Path) -> Iterator[Path]:
    for kind in _KINDS:
        try:
            yield from sorted(path for path in (cache / kind).iterdir() if path.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            continue


def _size(path: Path) -> int:
    return sum(stat.st_size for stat in _stats(path))


def _stats(path: Path) -> Iterator[os.stat_result]:
    try:
        for file in path.iterdir():
            yield file.stat()
    except FileNotFoundError:
        return
