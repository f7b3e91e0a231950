"""Saved models: a folder that is complete at every moment, even if a save is interrupted.

``config.json`` is the manifest and the commit point (:mod:`posvec.storage.manifest`). A save writes new data files,
replaces ``config.json`` in one step, and only then removes the files that it no longer lists. A crash leaves the old
model or the new one, and the next save removes the files that the crash left.

This module knows nothing about models: it stores dictionaries and files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.errors import ModelError
from posvec.storage.locks import locked_folder
from posvec.storage.manifest import (
    MANIFEST,
    RESERVED_KEYS,
    check_file,
    damaged_file,
    is_leftover,
    is_tagged,
    listed_files,
    read_manifest,
    tagged_name,
)
from posvec.storage.remote_folders import download_folder, upload_folder
from posvec.system.atomic import DigestingWriter, cannot_write, remove_abandoned, replacing
from posvec.system.remote import RemotePath, is_remote
from posvec.system.utf8 import encode_json

FORMAT_VERSION = 3
"""The highest version that can be read. Compressed models have 2, all others 1, which posvec 0.1.0 can read too."""


@dataclass(frozen=True)
class Folder:
    """A saved folder, as opened by :func:`load_folder`."""

    path: Path
    config: dict[str, Any]
    """The dictionary that was given to :func:`save_folder`."""
    files: dict[str, Path]
    """The path of each file, by the name under which it was saved."""
    digests: dict[str, str]
    """The digest of each file, as listed in config.json."""


def save_folder(
    path: str | os.PathLike[str],
    config: Mapping[str, Any],
    files: Mapping[str, Callable[[DigestingWriter], object]],
    overwrite: bool = False,
    format_version: int = 1,
) -> None:
    """Save a dictionary and files as one folder, completely or not at all.

    Parameters
    ----------
    path
        The folder, or the URL of a remote one (:mod:`posvec.system.remote`), to which the files are copied before
        config.json.
    config
        The dictionary, stored in config.json.
    files
        For each file, a function that writes its content to a binary stream.
    overwrite
        Whether to replace a model that is there.
    format_version
        The version of the format that a reader must know.

    Raises
    ------
    ModelError
        If the folder cannot be written; what was there before is unchanged.

    Examples
    --------
    >>> save_folder("saved", {"color": "red"}, {"notes.txt": lambda stream: stream.write(b"one")})
    >>> folder = load_folder("saved")
    >>> folder.config, folder.files["notes.txt"].read_bytes()
    ({'color': 'red'}, b'one')
    """
    if is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            save_folder(folder, config, files, format_version=format_version)
            check_output(path, overwrite)
            upload_folder(Path(folder), RemotePath(str(path)))
        return
    path = Path(path)
    if reserved := RESERVED_KEYS & config.keys():
        raise ModelError(f"{', '.join(sorted(reserved))} in config.json belong to the storage; name them differently")
    manifest: dict[str, Any] = {"format": "posvec", "format_version": format_version, **config, "files": {}}
    encode_json(manifest)  # a value that JSON cannot store must fail before anything is written
    targets = {name: path / tagged_name(name) for name in files}
    check_output(path, overwrite)
    with locked_folder(path):
        check_output(path, overwrite)  # again: another save may have ended in the meantime
        names = {*files, *listed_files(path).values()}
        try:
            for name, write in files.items():
                with replacing(targets[name]) as stream:
                    write(stream)
                manifest["files"][name] = {
                    "name": targets[name].name,
                    "bytes": stream.size,
                    "blake2b": stream.digest,
                }
            with replacing(path / MANIFEST) as stream:
                stream.write(encode_json(manifest, indent=2) + b"\n")
        finally:
            _remove_unlisted(path, names)


def load_folder(path: str | os.PathLike[str], verify: bool = False) -> Folder:
    """Open a saved folder.

    Parameters
    ----------
    path
        The folder, or the URL of a remote one, which is copied to the cache unless it is there.
    verify
        Whether to read every file and compare its checksum; sizes are always compared.

    Returns
    -------
    Folder
        The dictionary that was saved, and the paths of the files.

    Raises
    ------
    ModelError
        If the folder is missing, damaged, not posvec's or written by a newer version.
    """
    if is_remote(path):
        return load_folder(download_folder(RemotePath(str(path))), verify)
    path = Path(path)
    manifest = read_manifest(path)
    version = manifest.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelError(
            f"{path} was written by a newer posvec (format {version}, this one reads up to {FORMAT_VERSION}); "
            f"upgrade posvec to read it"
        )
    if not isinstance(version, int) or not isinstance(manifest.get("files"), dict):
        raise damaged_file(path / MANIFEST, "it lacks a version or a list of files")
    files = {name: check_file(path, name, entry, verify) for name, entry in manifest["files"].items()}
    digests = {name: str(entry.get("blake2b")) for name, entry in manifest["files"].items()}
    return Folder(path, {key: value for key, value in manifest.items() if key not in RESERVED_KEYS}, files, digests)


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Check that a model can be saved, before hours are spent on training it.

    Parameters
    ----------
    path
        The folder to save to, or the URL of a remote one.
    overwrite
        Whether a model that is there may be replaced.

    Raises
    ------
    ModelError
        If the folder cannot be written, holds other files, or holds a model that may not be replaced.

    Examples
    --------
    >>> check_output("new-model")
    >>> check_output("model")
    Traceback (most recent call last):
    posvec.errors.ModelError: model already holds a model; choose another output, or pass --overwrite (overwrite=True)
    """
    if is_remote(path):
        if not overwrite and (RemotePath(str(path)) / MANIFEST).exists():
            raise _holds_a_model(path)
        return
    path = Path(path)
    try:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{path} is a file, and a model is saved as a folder; choose another output")
        entries = [entry.name for entry in path.iterdir()] if path.exists() else []
        if not all(is_leftover(name) for name in entries):  # a folder with nothing but leftovers counts as empty
            _check_overwrite(path, overwrite)
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


def _remove_unlisted(path: Path, names: set[str]) -> None:
    """Remove files of this save or an earlier one that ``config.json`` does not list; a user's own files stay."""
    remove_abandoned(path)
    # Leftover files are harmless, and nothing is removed if config.json cannot be read.
    with contextlib.suppress(OSError, ModelError):
        listed = listed_files(path)
        for file in path.iterdir():
            if is_tagged(file.name, names) and file.name not in listed:
                file.unlink(missing_ok=True)


def _check_overwrite(path: Path, overwrite: bool) -> None:
    try:
        manifest = read_manifest(path)
    except ModelError as error:
        raise ModelError(
            f"{path} is neither empty nor a posvec model, so it is not overwritten; choose a new folder as output"
        ) from error
    if not overwrite and manifest.get("state"):
        raise ModelError(
            f"{path} holds a model whose training was interrupted; continue with posvec resume {path}, choose another "
            f"output, or pass --overwrite (overwrite=True)"
        )
    if not overwrite:
        raise _holds_a_model(path)


def _holds_a_model(path: str | os.PathLike[str]) -> ModelError:
    return ModelError(f"{path} already holds a model; choose another output, or pass --overwrite (overwrite=True)")
