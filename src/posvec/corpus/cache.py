"""The cache of vocabularies and encoded corpora.

An entry is a folder that is either complete or absent: it is written under a temporary name and renamed. Several
processes may read, write and clear the cache at once: memory-mapped files stay readable after they are removed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from posvec.errors import CorpusError
from posvec.system.atomic import TEMPORARY, remove_abandoned, temporary_folder

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
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("posvec"))


def cache_entries(cache: Path | None = None) -> list[CacheEntry]:
    """List the entries of the cache, oldest first.

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
        meta = read_meta(path)
        if not TEMPORARY.fullmatch(path.name) and meta is not None:
            name = str(meta.get("name", path.name))
            found.append(CacheEntry(name, path, _size(path), float(meta.get("created", 0.0))))
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
    """Return the description of an entry, or None if the entry is missing or its files do not have the listed sizes."""
    try:
        meta = json.loads((path / _META).read_text("utf-8"))
        if all((path / name).stat().st_size == size for name, size in meta["sizes"].items()):
            return dict(meta)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


@contextmanager
def new_entry(path: Path) -> Iterator[Path]:
    """Create a temporary folder to fill and to pass to :func:`publish`; it is removed if it was not published."""
    with writing_to(path.parent), temporary_folder(path.parent) as temporary:
        yield temporary


def publish(temporary: Path, path: Path, meta: Mapping[str, Any]) -> None:
    """Rename a filled temporary folder to the entry; if another process was first, its identical entry stays."""
    sizes = {file.name: file.stat().st_size for file in temporary.iterdir()}
    description = {**meta, "created": time.time(), "sizes": sizes}
    (temporary / _META).write_text(json.dumps(description), "utf-8")
    for _ in range(3):
        try:
            temporary.rename(path)
            return
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        if read_meta(path) is not None:
            return
        shutil.rmtree(path, ignore_errors=True)  # a damaged entry


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
