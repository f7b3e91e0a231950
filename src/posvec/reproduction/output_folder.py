"""The output folder of a reproduction: report, figures, findings, and a working folder that is removed at the end."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posvec.errors import ModelError
from posvec.reproduction.inputs import Inputs
from posvec.reproduction.report import FIGURES, HTML, MARKDOWN
from posvec.reproduction.scales import Scale
from posvec.storage.locks import locked_folder
from posvec.system.atomic import TEMPORARY, cannot_write, file_digest, replacing
from posvec.system.utf8 import decode_json, encode_json
from posvec.vocabulary import Vocabulary

IDENTITY, DATA, WORK = "run.json", "data", "work"
_FORMAT = 1


def make_identity(scale: Scale, vocabulary: Vocabulary, inputs: Inputs) -> dict[str, Any]:
    """Return what all measurements in a folder have in common; an input that is None may be added later."""
    return {
        "format": _FORMAT,
        "scale": scale.name,
        "preset": scale.preset,
        "corpus": f"{vocabulary.digest}-{vocabulary.total_words}",
        "questions": [file_digest(path) for path in inputs.questions if path.is_file()] or None,
        "pairs": [file_digest(path) for path in inputs.pairs] or None,
        "sentences": list(inputs.sentences) or None,
        "words": list(inputs.words) or None,
        "context words": list(inputs.context_words) or None,
    }


def check_folder(folder: Path) -> None:
    """Raise a ModelError if there is anything but a reproduction in the folder."""
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file, but the output must be a folder; choose another output")
    others = {entry.name for entry in folder.iterdir()} - {WORK} if folder.is_dir() else set()
    # A process that was killed before it wrote the identity leaves only the working folder and temporary files.
    if IDENTITY not in others and not all(map(TEMPORARY.fullmatch, others)):
        raise ModelError(f"{folder} is neither empty nor a reproduction made by posvec; choose another output")


@contextlib.contextmanager
def working_folder(folder: Path, keep: bool) -> Iterator[Path]:
    """Lock the output folder, and create the working folder; remove it at the end unless ``keep``."""
    work = folder / WORK
    with locked_folder(folder):
        try:
            work.mkdir(exist_ok=True)
            (work / ".gitignore").write_text("*\n")
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield work
        if not keep:
            shutil.rmtree(work, ignore_errors=True)


def open_folder(folder: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Continue what is in the folder if it has the same identity, or remove it if ``overwrite``."""
    path = folder / IDENTITY
    existing: dict[str, Any] = {}
    if path.exists() and not overwrite:
        try:
            existing = decode_json(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read ({error}); restore it, or start again with --overwrite") from error
        for name, value in identity.items():
            if existing.get(name) is not None and value is not None and existing[name] != value:
                raise ModelError(
                    f"{folder} is a reproduction with another value of {name}; choose another output, or start again "
                    f"with --overwrite"
                )
    if overwrite:
        _remove_contents(folder)
    merged = {name: existing.get(name) if value is None else value for name, value in identity.items()}
    with replacing(path) as file:
        file.write(encode_json(merged, indent=1) + b"\n")


def _remove_contents(folder: Path) -> None:
    for name in (DATA, FIGURES):
        shutil.rmtree(folder / name, ignore_errors=True)
    for each in (folder / WORK).iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.suffix == ".txt":
            each.unlink()
    for name in (MARKDOWN, HTML):
        (folder / name).unlink(missing_ok=True)
