"""Saved folders on remote filesystems: uploaded after they were saved, downloaded to the cache before they are read."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from posvec.corpus.cache import cache_folder, digest_of, writing_to
from posvec.errors import ModelError, PosvecError
from posvec.storage.manifest import MANIFEST, is_plain_name, is_tagged, listed_files
from posvec.system.atomic import replacing
from posvec.system.remote import RemotePath


def upload_folder(folder: Path, target: RemotePath) -> None:
    """Copy a saved folder to a remote one; the manifest is copied last, so that until then the old model is valid."""
    listed = set(listed_files(folder))
    for file in sorted(folder.iterdir(), key=lambda file: file.name == MANIFEST):
        (target / file.name).upload(file)
    names = set(listed_files(folder).values())
    for name in target.names():
        if name not in listed and is_tagged(name, names):
            with contextlib.suppress(PosvecError, OSError):  # leftover files are harmless
                (target / name).remove()


def download_folder(source: RemotePath) -> Path:
    """Copy a remote folder to the cache, by the digest of its manifest, unless it is there; return the copy."""
    try:
        manifest = (source / MANIFEST).read_bytes()
    except OSError as error:
        raise ModelError(f"there is no model at {source}; check the URL") from error
    folder = cache_folder() / "models" / digest_of(source, manifest)
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / MANIFEST) as stream:
            stream.write(manifest)
        for name in listed_files(folder):
            if not (folder / name).exists() and is_plain_name(name):
                with tempfile.TemporaryDirectory(dir=folder) as temporary:
                    (source / name).download(Path(temporary) / "file")
                    (Path(temporary) / "file").replace(folder / name)
    return folder
