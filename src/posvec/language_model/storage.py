"""Saved language models: a folder of config.json, the words and the weights in safetensors, replaced atomically.

During training, the folder also contains what resuming needs: the current weights and those of the best epoch, and the
states of the LSTM, of the random generators and of the training loop. Weights that are not trained are saved once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posvec.errors import ModelError
from posvec.language_model.report import LanguageModelReport
from posvec.storage.folders import load_folder, save_folder
from posvec.storage.safetensors import dump_tensors, read_tensors

if TYPE_CHECKING:
    from typing import BinaryIO

    from torch import Tensor

KIND = "language model"


@dataclass(frozen=True)
class SavedLanguageModel:
    """The contents of the folder.

    Attributes
    ----------
    report
        The report of the training so far.
    words
        The words of the texts; the id of a word is its index.
    weights
        The current weights.
    best
        The trained weights after the best epoch so far; empty if they are the current weights.
    states
        The states of the random generators and, in the middle of an epoch, of the LSTM.
    progress
        The state of the training loop; None when training is complete.
    """

    report: LanguageModelReport
    words: list[str]
    weights: dict[str, Tensor]
    best: dict[str, Tensor]
    states: dict[str, Tensor] = field(default_factory=dict)
    progress: dict[str, Any] | None = None

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Save to a folder."""
        groups = {"weights": self.weights, "best": self.best, "state": self.states}
        tensors = {
            f"{group}.{name}": tensor.detach().cpu().numpy()
            for group, named in groups.items()
            for name, tensor in named.items()
        }

        def dump_words(stream: BinaryIO) -> None:
            stream.write("".join(f"{word}\n" for word in self.words).encode())

        def dump_weights(stream: BinaryIO) -> None:
            dump_tensors(stream, tensors, {"format": "posvec"})

        save_folder(
            path,
            {"kind": KIND, "report": self.report.to_dict(), "progress": self.progress},
            {"words.txt": dump_words, "weights.safetensors": dump_weights},
            overwrite,
        )


def load_report(path: str | os.PathLike[str]) -> LanguageModelReport:
    """Load the report of a saved language model without its weights."""
    return _read(path)[0]


def load_saved(path: str | os.PathLike[str]) -> SavedLanguageModel:
    """Load a saved language model."""
    import torch

    report, config, files = _read(path)
    mismatch = f"{Path(path)} does not fit its config.json; restore it from a copy or train it again"
    groups: dict[str, dict[str, Tensor]] = {"weights": {}, "best": {}, "state": {}}
    try:
        words = files["words.txt"].read_text("utf-8").split("\n")[:-1]
        for name, array in read_tensors(files["weights.safetensors"])[0].items():
            group, _, rest = name.partition(".")
            if group in groups:
                groups[group][rest] = torch.from_numpy(np.array(array))
    except (UnicodeDecodeError, TypeError) as error:  # not UTF-8, or a number format that PyTorch does not support
        raise ModelError(mismatch) from error
    if len(words) != report.words or not groups["weights"]:
        raise ModelError(mismatch)
    return SavedLanguageModel(report, words, groups["weights"], groups["best"], groups["state"], config["progress"])


def _read(path: str | os.PathLike[str]) -> tuple[LanguageModelReport, Mapping[str, Any], Mapping[str, Path]]:
    folder = load_folder(path)
    if folder.config.get("kind") != KIND:
        raise ModelError(f"{folder.path} is a model of word vectors, not a language model; use posvec lm train")
    try:
        report = LanguageModelReport.from_dict(folder.config["report"])
        for name in ("words.txt", "weights.safetensors"):
            folder.files[name]
        folder.config["progress"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{folder.path / 'config.json'} is damaged ({error}); restore it from a copy") from error
    return report, folder.config, folder.files
