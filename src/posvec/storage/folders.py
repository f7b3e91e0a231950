"""Saved models: a folder that is complete at every moment, whatever happens while it is written.

``config.json`` is the manifest and the commit point. It lists the folder's data files, whose names carry a random tag
(``model-1f3a5b7c9d0e.safetensors``) so that saving over a model never touches the files in use. A save writes the new
files, replaces ``config.json`` in one step, and only then removes the files that it no longer lists. A crash leaves the
old model or the new one, and the next save removes what the crash left behind.

Nothing here knows what a model is: it stores dictionaries, arrays and files.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.corpus.cache import cache_folder, digest_of, writing_to
from posvec.errors import ModelError, PosvecError
from posvec.storage.safetensors import Tensors, dump_tensors, read_tensors, write_tensors
from posvec.system.atomic import (
    TEMPORARY,
    DigestingWriter,
    cannot_write,
    file_digest,
    is_same_file,
    remove_abandoned,
    replacing,
)
from posvec.system.remote import RemotePath, is_remote

__all__ = [
    "FORMAT_VERSION",
    "Folder",
    "Tensors",
    "check_output",
    "dump_tensors",
    "load_folder",
    "locked_folder",
    "read_tensors",
    "replacing",
    "save_folder",
    "write_tensors",
]

FORMAT_VERSION = 2
"""The highest that can be read. Compressed models have 2, all others 1, which earlier versions of posvec read too."""


@dataclass(frozen=True)
class Folder:
    """A saved folder as ``load_folder`` found it: what was saved as ``config``, and its files, by name."""

    path: Path
    config: dict[str, Any]
    files: dict[str, Path]
    """Where each file is."""
    digests: dict[str, str]
    """What config.json says that each file's digest is: other bytes, another digest."""


def save_folder(
    path: str | os.PathLike[str],
    config: Mapping[str, Any],
    files: Mapping[str, Callable[[DigestingWriter], object]],
    overwrite: bool = False,
    format_version: int = 1,
) -> None:
    """Save ``config`` and files, each written by a function that is given a binary stream, as one folder.

    Where this fails, for want of space or rights, it raises ModelError, and whatever was there before is still there.
    At an address (:mod:`posvec.system.remote`) the same holds, files being copied there before config.json.
    """
    if is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            save_folder(folder, config, files, format_version=format_version)
            check_output(path, overwrite)
            _upload(Path(folder), RemotePath(str(path)))
        return
    path = Path(path)
    if reserved := _RESERVED & config.keys():
        raise ModelError(f"{', '.join(sorted(reserved))} in config.json belong to the storage; name them differently")
    manifest: dict[str, Any] = {"format": "posvec", "format_version": format_version, **config, "files": {}}
    json.dumps(manifest)  # what cannot be written must fail before anything is touched
    targets = {name: path / _tagged(name, secrets.token_hex(6)) for name in files}
    check_output(path, overwrite)
    with locked_folder(path):
        check_output(path, overwrite)  # again: another save may have ended in the meantime
        names = {*files, *_listed(path).values()}
        try:
            for name, write in files.items():
                with replacing(targets[name]) as stream:
                    write(stream)
                manifest["files"][name] = {
                    "name": targets[name].name,
                    "bytes": stream.size,
                    "blake2b": stream.digest,
                }
            with replacing(path / _MANIFEST) as stream:
                stream.write(json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n")
        finally:
            _remove_unlisted(path, names)


def load_folder(path: str | os.PathLike[str], verify: bool = False) -> Folder:
    """Read ``config.json`` and find its files; sizes are always checked, ``verify`` reads and checks every byte.

    Those at an address (:mod:`posvec.system.remote`) are copied to the cache first, unless they are there.
    """
    if is_remote(path):
        return load_folder(_download(RemotePath(str(path))), verify)
    path = Path(path)
    manifest = _read_manifest(path)
    version = manifest.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelError(
            f"{path} was written by a newer posvec (format {version}, this one reads up to {FORMAT_VERSION}); "
            f"upgrade posvec to read it"
        )
    if not isinstance(version, int) or not isinstance(manifest.get("files"), dict):
        raise _damaged(path / _MANIFEST, "it lacks a version or a list of files")
    files = {name: _checked_file(path, name, entry, verify) for name, entry in manifest["files"].items()}
    digests = {name: str(entry.get("blake2b")) for name, entry in manifest["files"].items()}
    return Folder(path, {key: value for key, value in manifest.items() if key not in _RESERVED}, files, digests)


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise ModelError if a model cannot be saved at ``path``: to be asked before hours are spent on training it."""
    if is_remote(path):
        if not overwrite and (RemotePath(str(path)) / _MANIFEST).exists():
            raise ModelError(
                f"{path} already holds a model; choose another output, or pass --overwrite (overwrite=True)"
            )
        return
    path = Path(path)
    try:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{path} is a file, and a model is saved as a folder; choose another output")
        entries = [entry.name for entry in path.iterdir()] if path.exists() else []
        if not all(_LEFTOVER.fullmatch(name) for name in entries):
            _check_overwrite(path, overwrite)
        existing = next(place for place in (path, *path.absolute().parents) if place.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


@contextlib.contextmanager
def locked_folder(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Make a folder and keep other processes from working in it; who comes second is refused, by a ModelError.

    Two saves at once would remove each other's files, and two trainings each other's results, after hours. The folder
    is taken away again if nothing came of it. Who has claimed it may do so again, as training does to save.
    """
    if path is None or is_remote(path) or Path(path).resolve() in _CLAIMED.get():
        yield
        return
    path = Path(path)
    created = [folder for folder in (path, *path.parents) if not folder.exists()]
    lock = _claim(path)
    token = _CLAIMED.set(_CLAIMED.get() | {path.resolve()})
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # it is not empty, then
            for folder in created:
                folder.rmdir()
        raise
    finally:
        _CLAIMED.reset(token)
        os.close(lock)


_MANIFEST = "config.json"
_CLAIMED: ContextVar[frozenset[Path]] = ContextVar("claimed", default=frozenset())
_RESERVED = {"format", "format_version", "files"}
_TAG = re.compile(r"-[0-9a-f]{12}(?=\.|$)")
# What a crash in the middle of the first save of a folder can leave; a folder with nothing else in it counts as empty.
_LEFTOVER = re.compile(rf"{TEMPORARY.pattern}|\w+{_TAG.pattern}.*")


def _claim(path: Path) -> int:
    """The descriptor whose lock is the claim; the system frees it however the process ends."""
    try:
        while True:
            path.mkdir(parents=True, exist_ok=True)
            folder = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(folder)
                raise ModelError(
                    f"another process is working in {path}; wait for it or choose another output"
                ) from error
            except OSError:
                pass  # some network file systems have no locks for folders
            if is_same_file(path, folder):
                return folder
            os.close(folder)  # who had it took it away
    except OSError as error:
        raise cannot_write(path, error) from error


def _tagged(name: str, tag: str) -> str:
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name == _MANIFEST:
        raise ModelError(f"{name!r} cannot be a file of a saved folder; use a plain name, such as model.safetensors")
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{tag}{dot}{suffix}"


def _upload(folder: Path, target: RemotePath) -> None:
    """The manifest last: until then, what is there is what was there before."""
    listed = set(_listed(folder))
    for file in sorted(folder.iterdir(), key=lambda file: file.name == _MANIFEST):
        (target / file.name).put(file)
    names = set(_listed(folder).values())
    for name in target.names():
        if name not in listed and _TAG.search(name) and _TAG.sub("", name) in names:
            with contextlib.suppress(PosvecError, OSError):  # a file too many is no reason to fail
                (target / name).remove()


def _download(source: RemotePath) -> Path:
    """A copy in the cache, by the digest of its manifest: the same files are fetched once."""
    try:
        manifest = (source / _MANIFEST).read_bytes()
    except OSError as error:
        raise ModelError(f"there is no model at {source}; check the address") from error
    folder = cache_folder() / "models" / digest_of(source, manifest)
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / _MANIFEST) as stream:
            stream.write(manifest)
        for name in _listed(folder):
            if not (folder / name).exists() and _is_plain(name):
                with tempfile.TemporaryDirectory(dir=folder) as temporary:
                    (source / name).fetch(Path(temporary) / "file")
                    (Path(temporary) / "file").replace(folder / name)
    return folder


def _listed(path: Path) -> dict[str, str]:
    """The files that ``config.json`` lists at this moment: tagged name → name."""
    if not (path / _MANIFEST).exists():
        return {}
    files = _read_manifest(path).get("files")
    entries = files.items() if isinstance(files, dict) else ()
    return {str(entry.get("name")): name for name, entry in entries if isinstance(entry, dict)}


def _remove_unlisted(path: Path, names: set[str]) -> None:
    """Remove what this save or an earlier one wrote and ``config.json`` does not list; a user's own files stay."""
    remove_abandoned(path)
    # A file too many is no reason to fail, and with a config.json that cannot be read nothing is removed.
    with contextlib.suppress(OSError, ModelError):
        listed = _listed(path)
        for file in path.iterdir():
            ours = _TAG.search(file.name) and _TAG.sub("", file.name) in names
            if ours and file.name not in listed:
                file.unlink(missing_ok=True)


def _read_manifest(path: Path) -> dict[str, Any]:
    """What ``config.json`` says, if it is one of posvec's."""
    file = path / _MANIFEST
    with contextlib.suppress(OSError):  # which reading it will tell
        if file.exists() and not (file.is_file() and _is_inside(path, file)):
            raise _damaged(file, "it is no file, or a link to elsewhere")
    try:
        manifest = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if not path.exists():
            raise ModelError(f"there is no model at {path}; check the path") from error
        what = "no config.json in it" if path.is_dir() else "it is a file, and a model is a folder"
        raise ModelError(f"{path} is not a posvec model: {what}; check the path") from error
    except OSError as error:
        raise ModelError(f"cannot read {path}/config.json: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(file, "it is not valid JSON") from error
    if not isinstance(manifest, dict) or manifest.get("format") != "posvec":
        raise ModelError(f"{path} is not a posvec model: its config.json is another program's; check the path")
    return manifest


def _is_plain(name: str) -> bool:
    """Whether a name stays within its folder."""
    return name not in ("", ".", "..") and not set(name) & set("/\\:\0")


def _is_inside(path: Path, file: Path) -> bool:
    """Whether a file is in its folder and no link to elsewhere, but for the Hugging Face hub's own store."""
    folder = path.resolve()
    return file.resolve().parent in (folder, folder.parent.parent / "blobs")


def _checked_file(path: Path, name: str, entry: Any, verify: bool) -> Path:
    file_name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(file_name, str) or not _is_plain(file_name):
        raise _damaged(path / _MANIFEST, f"its file {name!r} is not in this folder")
    file = path / file_name
    try:
        if not file.is_file():
            raise _damaged(file, "it is not there")
        if not _is_inside(path, file):
            raise _damaged(file, "it is a link to elsewhere")
        if (size := file.stat().st_size) != entry.get("bytes"):
            raise _damaged(file, f"it has {size} bytes where config.json says {entry.get('bytes')}")
        if verify and file_digest(file) != entry.get("blake2b"):
            raise _damaged(file, "its checksum is not the one in config.json")
    except OSError as error:
        raise ModelError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    return file


def _check_overwrite(path: Path, overwrite: bool) -> None:
    try:
        manifest = _read_manifest(path)
    except ModelError as error:
        raise ModelError(
            f"{path} is neither empty nor a posvec model, so it is not overwritten; choose a new folder as output"
        ) from error
    if not overwrite and manifest.get("state"):
        raise ModelError(
            f"{path} holds a model whose training was interrupted; go on with posvec resume {path}, choose another "
            f"output, or pass --overwrite (overwrite=True)"
        )
    if not overwrite:
        raise ModelError(f"{path} already holds a model; choose another output, or pass --overwrite (overwrite=True)")


def _damaged(file: Path, reason: str) -> ModelError:
    return ModelError(f"{file} is missing or damaged: {reason}; restore the model from a copy or train it again")
