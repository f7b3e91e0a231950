"""Every setting of a language model and its default, which is the paper's: the flags of ``posvec lm train``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posvec.config import check_bounds, nearest, setting, settings_of
from posvec.errors import ConfigError


@dataclass(frozen=True)
class LanguageModelConfig:
    """The network, its training and what is read of the data."""

    hidden: int = setting(300, "LSTM units of a layer")
    layers: int = setting(2, "LSTM layers")
    dropout: float = setting(0.5, "share of features dropped before, between and after the layers")
    tie: bool = setting(True, "the output weights are the input vectors, one tensor")
    freeze: bool = setting(True, "keep the input vectors as they are (tied output weights too); otherwise train them")
    projection: bool = setting(False, "a linear layer between hidden units and tied weights of another size")
    baseline: Literal["none", "random"] = setting(
        "none", "random: vectors drawn at random, of the size, mean and deviation of the model's"
    )
    softmax: Literal["full", "sampled", "adaptive"] = setting(
        "full",
        "loss in training; sampled compares with some words only, adaptive has classes of rare words and no tied "
        "weights; validation and test always measure the whole distribution",
    )
    samples: int = setting(1024, "words that a sampled softmax compares with")
    precision: Literal["float32", "bfloat16"] = setting(
        "float32",
        "bfloat16: mixed precision, on a CPU in the output layer only, and slow where the CPU has no bfloat16 itself",
    )
    epochs: int = setting(50, "passes over the training text")
    batch: int = setting(40, "stretches of text that are read side by side")
    steps: int = setting(35, "tokens of back-propagation through time")
    lr: float = setting(20.0, "learning rate at the start")
    lr_divisor: float = setting(4.0, "the learning rate is divided by this after an epoch of no lower validation loss")
    clip: float = setting(0.25, "longest gradient, in l2 norm")
    seed: int = setting(1, "seed of every random draw")
    lowercase: bool = setting(False, "read the texts in lower case")
    max_words: int | None = setting(None, "keep this many of the most frequent words, the rest become <unk>; none: all")
    train_tokens: int | None = setting(None, "read only the first so many tokens of the training text; none: all")
    held_out_tokens: int | None = setting(
        None, "read only the first so many tokens of the validation and test texts; none: all"
    )
    transformer_features: Literal["hidden", "embeddings"] = setting(
        "hidden", "with --transformer, what is put beside each vector: hidden states of the words so far, or embeddings"
    )

    def replace(self, **settings: Any) -> LanguageModelConfig:
        """The same with some settings changed, checked as a whole."""
        for name in settings:
            if name not in SETTINGS:
                raise ConfigError(
                    f"there is no setting {name!r}{nearest(name, SETTINGS)}; posvec lm train --help lists all of them"
                )
        checked = {name: SETTINGS[name].check(value) for name, value in settings.items()}
        return _check(dataclasses.replace(self, **checked))

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> LanguageModelConfig:
        return LanguageModelConfig().replace(**values)


SETTINGS = {each.name: each for each in settings_of({"language model": LanguageModelConfig})}

_BOUNDS: dict[str, tuple[float, float]] = {
    "hidden": (1, 2**16),
    "layers": (1, 64),
    "dropout": (0, 0.99),
    "samples": (1, 2**24),
    "epochs": (1, math.inf),
    "batch": (1, 2**20),
    "steps": (1, 2**20),
    "lr": (0, math.inf),
    "lr_divisor": (1, math.inf),
    "clip": (0, math.inf),
    "seed": (0, 2**63 - 1),
    "max_words": (1, math.inf),
    "train_tokens": (1, math.inf),
    "held_out_tokens": (1, math.inf),
}


def _check(config: LanguageModelConfig) -> LanguageModelConfig:
    for name, (low, high) in _BOUNDS.items():
        check_bounds(name, getattr(config, name), low, high)
    if config.softmax == "adaptive" and config.tie:
        raise ConfigError("an adaptive softmax has output weights of its own; add tie=False (--no-tie)")
    if config.projection and not config.tie:
        raise ConfigError("a projection leads to tied weights only; leave it out, or leave out tie=False (--no-tie)")
    return config
