"""Fuzz target: folders of saved models."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import posvec
from posvec import Model, Vocabulary
from posvec.evaluation.compression import compress

COMPRESSION_METHODS = ("float16", "int8", "pq")
_SEPARATOR = b"\n=====\n"


def tiny_model(kind: str, word_dim: int = 0) -> Model:
    """A model of three words; with two heads if ``word_dim`` is not 0."""
    dim = word_dim + 3
    settings = {"dim": dim, "word_dim": word_dim, "window": 2, "min_count": 1, "buckets": 5, "max_n": 3}
    if kind == "constrained":
        settings["positional_dim"] = dim - 1
    elif kind == "general":
        settings = {name: settings[name] for name in ("dim", "window", "min_count")}
    config = posvec.make_config(kind, **settings)
    vocabulary = Vocabulary.from_counts({"the": 9, "naïve": 8, "x": 6}, config.vocabulary)
    model = Model.create(config, vocabulary)
    model.output_vectors[:] = np.arange(3 * dim).reshape(3, dim)
    return model


def check_model(data: bytes, folder: Path) -> None:
    """The input is config.json, vocabulary and tables; the sizes in the manifest are set to those of the files."""
    config, _, rest = data.partition(_SEPARATOR)
    vocabulary, _, tensors = rest.partition(_SEPARATOR)
    for name, content in (("vocabulary.txt", vocabulary), ("model.safetensors", tensors)):
        (folder / name).write_bytes(content)
        placeholder = f'"bytes": "{name}"'.encode()
        config = config.replace(placeholder, f'"bytes": {len(content)}'.encode())
    (folder / "config.json").write_bytes(config)
    model = Model.load(folder)
    if model.vectors.has_vector("naïver"):
        model.vectors.get_vector("naïver")
    assert model.vectors.table.shape == (len(model.vocabulary), model.config.model.dim)
    repr(model), model.report and model.report.words_per_second
    if model.has_outputs:
        model.predict_masked(["[MASK]", model.vocabulary.words[0]], 3)


def model_seeds() -> Iterator[bytes]:
    compressed = [compress(tiny_model("subword"), method) for method in COMPRESSION_METHODS]
    two_heads = tiny_model("constrained", word_dim=16)
    compressed.append(compress(two_heads, "int8"))
    for model in (tiny_model("general"), tiny_model("constrained"), two_heads, *compressed):
        files = _saved_files(model)
        config = json.loads(files["config.json"])
        for name in config["files"]:
            config["files"][name] = {"name": name, "bytes": name}
        for group in config["settings"].values():  # short inputs: other settings take their defaults
            for setting in [*group]:
                if setting not in ("dim", "window", "buckets", "max_n", "positional_dim", "subwords", "word_dim"):
                    del group[setting]
        yield _SEPARATOR.join([json.dumps(config).encode(), files["vocabulary.txt"], files["model.safetensors"]])


def _saved_files(model: Model) -> dict[str, bytes]:
    """The files of a saved model, by their names without the hash."""
    with tempfile.TemporaryDirectory() as name:
        model.save(Path(name) / "m")
        return {re.sub(r"-\w{12}", "", file.name): file.read_bytes() for file in (Path(name) / "m").iterdir()}
