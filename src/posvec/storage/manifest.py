"""The manifest of a saved folder: ``config.json``, which lists the folder's data files.

The names of data files carry a random tag (``model-1f3a5b7c9d0e.safetensors``), so that the files of two saves have
different names.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from pathlib import Path
from typing import Any

from posvec.errors import ModelError
from posvec.system.atomic import TEMPORARY, file_digest

MANIFEST = "config.json"
RESERVED_KEYS = frozenset({"format", "format_version", "files"})
"""Keys of ``config.json`` that belong to the storage."""

_TAG = re.compile(r"-[0-9a-f]{12}(?=\.|$)")
_LEFTOVER = re.compile(rf"{TEMPORARY.pattern}|\w+{_TAG.pattern}.*")


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the ``config.json`` of a folder; raise ModelError if it is missing, damaged or another program's."""
    file = path / MANIFEST
    with contextlib.suppress(OSError):  # reading the file reports the error
        if file.exists() and not (file.is_file() and _is_inside(path, file)):
            raise damaged_file(file, "it is not a file, or a link to another folder")
    try:
        manifest = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if not path.exists():
            raise ModelError(f"there is no model at {path}; check the path") from error
        reason = "it has no config.json" if path.is_dir() else "it is a file, and a model is a folder"
        raise ModelError(f"{path} is not a posvec model: {reason}; check the path") from error
    except OSError as error:
        raise ModelError(f"cannot read {path}/config.json: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise damaged_file(file, "it is not valid JSON") from error
    if not isinstance(manifest, dict) or manifest.get("format") != "posvec":
        raise ModelError(f"{path} is not a posvec model: its config.json belongs to another program; check the path")
    return manifest


def listed_files(path: Path) -> dict[str, str]:
    """Return the files that ``config.json`` lists at this moment, as tagged name → name; none if it is missing."""
    if not (path / MANIFEST).exists():
        return {}
    files = read_manifest(path).get("files")
    entries = files.items() if isinstance(files, dict) else ()
    return {str(entry.get("name")): name for name, entry in entries if isinstance(entry, dict)}


def check_file(path: Path, name: str, entry: Any, verify: bool) -> Path:
    """Return the path of a listed file; raise ModelError if it is missing, of another size or outside the folder.

    With ``verify``, its checksum must also be the listed one.
    """
    file_name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(file_name, str) or not is_plain_name(file_name):
        raise damaged_file(path / MANIFEST, f"its file {name!r} is not in this folder")
    file = path / file_name
    try:
        if not file.is_file():
            raise damaged_file(file, "it is not there")
        if not _is_inside(path, file):
            raise damaged_file(file, "it is a link to another folder")
        if (size := file.stat().st_size) != entry.get("bytes"):
            raise damaged_file(file, f"it has {size} bytes where config.json says {entry.get('bytes')}")
        if verify and file_digest(file) != entry.get("blake2b"):
            raise damaged_file(file, "its checksum is not the one in config.json")
    except OSError as error:
        raise ModelError(f"cannot read {file}: {error.strerror}; check its permissions") from error
    return file


def damaged_file(file: Path, reason: str) -> ModelError:
    return ModelError(f"{file} is missing or damaged: {reason}; restore the model from a copy or train it again")


def is_plain_name(name: str) -> bool:
    """Whether a name is that of a file directly in its folder."""
    return name not in ("", ".", "..") and not set(name) & set("/\\:\0")


def tagged_name(name: str) -> str:
    """Add a random tag to the name of a file."""
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name == MANIFEST:
        raise ModelError(f"{name!r} cannot be a file of a saved folder; use a plain name like model.safetensors")
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{secrets.token_hex(6)}{dot}{suffix}"


def is_tagged(file_name: str, names: set[str]) -> bool:
    """Whether a file's name is one of these names with a tag."""
    return _TAG.search(file_name) is not None and _TAG.sub("", file_name) in names


def is_leftover(file_name: str) -> bool:
    """Whether a crash during the first save of a folder can leave a file of this name."""
    return _LEFTOVER.fullmatch(file_name) is not None


def _is_inside(path: Path, file: Path) -> bool:
    """Whether a file is in its folder, not a link to another one, except to the store of the Hugging Face hub."""
    folder = path.resolve()
    return file.resolve().parent in (folder, folder.parent.parent / "blobs")
