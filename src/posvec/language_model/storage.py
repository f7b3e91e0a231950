"""Saved language models: a folder of config.json, the words and safetensors, replaced as one or not at all.

While training goes on it holds what resuming needs: the weights of now and of the best epoch, the state of the LSTM, of
the random generators and of the loop. Weights that are not trained are saved once.
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
from posvec.storage.folders import dump_tensors, load_folder, read_tensors, save_folder

if TYPE_CHECKING:
    from typing import BinaryIO

    from torch import Tensor

KIND = "language model"


@dataclass(frozen=True)
class Saved:
    """What is in the folder; ``progress`` is None when training is over."""

    report: LanguageModelReport
    words: list[str]
    weights: dict[str, Tensor]
    best: dict[str, Tensor]
    """Of the best epoch so far, those that training changes; empty if they are the weights of now."""
    states: dict[str, Tensor] = field(default_factory=dict)
    """Of what draws at random, and of the LSTM in the midst of an epoch."""
    progress: dict[str, Any] | None = None

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
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
    """What the training of a saved language model came to, without its weights."""
    return _read(path)[0]


def load_saved(path: str | os.PathLike[str]) -> Saved:
    import torch

    report, config, files = _read(path)
    unfit = f"{Path(path)} does not fit its config.json; restore it from a copy or train it again"
    groups: dict[str, dict[str, Tensor]] = {"weights": {}, "best": {}, "state": {}}
    try:
        words = files["words.txt"].read_text("utf-8").split("\n")[:-1]
        for name, array in read_tensors(files["weights.safetensors"])[0].items():
            group, _, rest = name.partition(".")
            if group in groups:
                groups[group][rest] = torch.from_numpy(np.array(array))
    except (UnicodeDecodeError, TypeError) as error:  # no text, or numbers that PyTorch does not know
        raise ModelError(unfit) from error
    if len(words) != report.words or not groups["weights"]:
        raise ModelError(unfit)
    return Saved(report, words, groups["weights"], groups["best"], groups["state"], config["progress"])


def _read(path: str | os.PathLike[str]) -> tuple[LanguageModelReport, Mapping[str, Any], Mapping[str, Path]]:
    folder = load_folder(path)
    if folder.config.get("kind") != KIND:
        raise ModelError(f"{folder.path} is a model of words, not a language model; make one with posvec lm train")
    try:
        report = LanguageModelReport.from_dict(folder.config["report"])
        for name in ("words.txt", "weights.safetensors"):
            folder.files[name]
        folder.config["progress"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{folder.path / 'config.json'} is damaged ({error}); restore it from a copy") from error
    return report, folder.config, folder.files
