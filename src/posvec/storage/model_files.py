"""The files of a saved model: config.json, vocabulary.txt and model.safetensors (:mod:`posvec.storage.folders`)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from posvec.config import Config
from posvec.errors import ModelError
from posvec.storage.calibration import Calibration
from posvec.storage.folders import Folder, load_folder, save_folder
from posvec.storage.quantization import Compression, load_table, table_tensors
from posvec.storage.records import TrainingReport, TrainingState
from posvec.storage.safetensors import dump_tensors, read_tensors, require_tensor
from posvec.storage.tables import VectorTable
from posvec.subwords import SubwordRows, saved_rows
from posvec.system.arrays import FloatArray
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.model import Model

Record = TypeVar("Record")


@dataclass(frozen=True)
class StoredModel:
    """The content of a saved model: the arguments of :class:`posvec.Model`, under the same names."""

    config: Config
    vocabulary: Vocabulary
    rows: SubwordRows
    input_vectors: VectorTable
    output_vectors: VectorTable
    positional_vectors: FloatArray
    report: TrainingReport | None
    state: TrainingState | None
    origin: Folder
    compression: Compression | None
    word_head: VectorTable
    calibration: Calibration | None


def save_model(model: Model, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Save a model as a folder, completely or not at all.

    Parameters
    ----------
    model
        The model.
    path
        The folder, or the URL of a remote one.
    overwrite
        Whether to replace a model that is there.

    Raises
    ------
    ModelError
        If the folder cannot be written; what was there before is unchanged.

    Examples
    --------
    >>> import posvec
    >>> save_model(posvec.load("model"), "copy")
    >>> read_model("copy").config == read_model("model").config
    True
    """
    tensors: dict[str, NDArray[Any]] = {
        **table_tensors("input_vectors", model.input_vectors),
        **table_tensors("output_vectors", model.output_vectors),
        **(table_tensors("word_head", model.word_head) if model.config.model.word_dim else {}),
        "positional_vectors": model.positional_vectors,
        "bucket_ids": model.rows.bucket_ids,
    }

    def write_tensors(stream: BinaryIO) -> None:
        dump_tensors(stream, tensors, {"format": "posvec"})

    config = {
        "kind": model.config.kind,
        "settings": model.config.to_dict(),
        "report": model.report.to_dict() if model.report else None,
        "state": model.state.to_dict() if model.state else None,
        "compression": dataclasses.asdict(model.compression) if model.compression else None,
        "calibration": model.calibration.to_dict() if model.calibration else None,
    }
    files = {"vocabulary.txt": model.vocabulary.dump, "model.safetensors": write_tensors}
    save_folder(path, config, files, overwrite, format_version=_format_version(model))


def _format_version(model: Model) -> int:
    """The oldest version of the format that has all that the model needs."""
    if model.config.model.word_dim:
        return 3
    return 2 if model.compression else 1


def read_model(path: str | os.PathLike[str], verify: bool = False) -> StoredModel:
    """Open a saved model.

    Parameters
    ----------
    path
        The folder, or the URL of a remote one.
    verify
        Whether to compare the checksums of all files, which reads the whole tables.

    Returns
    -------
    StoredModel
        The parts of the model; its tables are memory-mapped.

    Raises
    ------
    ModelError
        If the folder is missing, damaged or not a model.
    """
    folder = load_folder(path, verify)
    for name in ("vocabulary.txt", "model.safetensors"):
        if name not in folder.files:
            kind = folder.config.get("kind", "model")
            raise ModelError(
                f"{Path(path)} is not a complete model: config.json lists no {name} and describes a {kind}; "
                f"check the path, or restore it"
            )
    config, report, state, compression, calibration = _read_config(folder, Path(path) / "config.json")
    vocabulary = Vocabulary.load(folder.files["vocabulary.txt"])
    vocabulary.config = config.vocabulary
    tensors, _ = read_tensors(folder.files["model.safetensors"])
    shape, words = config.model, len(vocabulary)
    codes = compression.codes if compression else ""
    absent = compression is not None and compression.vectors_only
    try:
        tensors.setdefault("bucket_ids", np.empty(0, np.uint32))
        bucket_ids = require_tensor(tensors, "bucket_ids", np.uint32, (None,))
        rows = saved_rows(
            vocabulary, config.subwords, bucket_ids, pruned=compression is not None and compression.pruned
        )
        return StoredModel(
            config,
            vocabulary,
            rows,
            load_table(tensors, "input_vectors", codes, (words, len(rows.bucket_ids)), shape.dim - shape.word_dim),
            load_table(tensors, "output_vectors", "absent" if absent else codes, (words,), shape.dim),
            require_tensor(tensors, "positional_vectors", np.float32, (2 * shape.window, shape.positional_dim)),
            report,
            state,
            folder,
            compression,
            load_table(tensors, "word_head", codes, (words,), shape.word_dim)
            if shape.word_dim
            else np.empty((words, 0), np.float32),
            calibration,
        )
    except ModelError as error:
        raise ModelError(
            f"{folder.files['model.safetensors']} does not fit its config.json: {error}; restore it from a copy"
        ) from error


# Models of posvec 0.1.0 do not store these; with them they are trained further with the same numbers as before.
_IMPLIED_SETTINGS = {"precision": "float32", "calibrate": False}


def _read_config(
    folder: Folder, manifest: Path
) -> tuple[Config, TrainingReport | None, TrainingState | None, Compression | None, Calibration | None]:
    """Read the settings and records in config.json."""
    try:
        settings = folder.config["settings"]
        config = Config.from_dict({**settings, "training": {**_IMPLIED_SETTINGS, **settings.get("training", {})}})
        report = _optional(folder.config["report"], lambda values: TrainingReport.from_dict(values, config))
        state = _optional(folder.config["state"], TrainingState.from_dict)
        compressed = folder.config.get("compression")  # optional in models of format 1
        calibration = _optional(
            folder.config.get("calibration"), lambda values: Calibration.from_dict(values, len(config.heads))
        )
        return config, report, state, Compression(**compressed) if compressed else None, calibration
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{manifest} is damaged ({error}); restore it from a copy") from error


def _optional(values: Any, parse: Callable[[Any], Record]) -> Record | None:
    return None if values is None else parse(values)
