"""Every setting of a language model with its default from the paper, its bounds and its help.

The flags of ``posvec lm train`` follow from these fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from posvec.config import nearest, setting, settings_of
from posvec.errors import ConfigError


@dataclass(frozen=True)
class LanguageModelConfig:
    """The settings of the network, of its training, and of the texts.

    Examples
    --------
    >>> from posvec.language_model import LanguageModelConfig
    >>> config = LanguageModelConfig().replace(hidden=650, dropout=0.65)
    >>> config.hidden, config.layers, config.tie
    (650, 2, True)
    """

    hidden: int = setting(300, "LSTM units of each layer", 1, 2**16)
    layers: int = setting(2, "LSTM layers", 1, 64)
    dropout: float = setting(0.5, "fraction of features dropped before, between and after the layers", 0, 0.99)
    tie: bool = setting(True, "use the input vectors also as output weights, in one tensor")
    freeze: bool = setting(True, "do not train the input vectors (and tied output weights)")
    projection: bool = setting(False, "a linear layer between hidden units and tied weights of another size")
    baseline: Literal["none", "random"] = setting(
        "none", "random: replace the model's vectors by random ones of the same size, mean and deviation"
    )
    softmax: Literal["full", "sampled", "adaptive"] = setting(
        "full",
        "loss in training: sampled compares with a sample of words only, adaptive has classes of rare words and no "
        "tied weights; validation and test always measure the whole distribution",
    )
    samples: int = setting(1024, "words in the sample of a sampled softmax", 1, 2**24)
    precision: Literal["float32", "bfloat16"] = setting(
        "float32",
        "bfloat16: mixed precision; on a CPU only in the output layer, and slow if the CPU does not support bfloat16",
    )
    epochs: int = setting(50, "passes over the training text", 1, 2**31 - 1)
    batch: int = setting(40, "columns of the text that are processed in parallel", 1, 2**20)
    steps: int = setting(35, "tokens in each step of truncated back-propagation through time", 1, 2**20)
    lr: float = setting(20.0, "initial learning rate", 0)
    lr_divisor: float = setting(
        4.0, "divide the learning rate by this after an epoch that does not lower the validation loss", 1
    )
    clip: float = setting(0.25, "maximum l2 norm of the gradient", 0)
    seed: int = setting(1, "seed of the random generators", 0, 2**63 - 1)
    lowercase: bool = setting(False, "convert the texts to lower case")
    max_words: int | None = setting(
        None, "keep this many of the most frequent words and replace the rest by <unk>; none: keep all", 1, 2**63 - 1
    )
    train_tokens: int | None = setting(None, "read only this many tokens of the training text; none: all", 1, 2**63 - 1)
    held_out_tokens: int | None = setting(
        None, "read only this many tokens of the validation text and of the test text; none: all", 1, 2**63 - 1
    )
    transformer_features: Literal["hidden", "embeddings"] = setting(
        "hidden", "with --transformer, what is appended to each vector: its hidden states so far, or its embeddings"
    )

    def replace(self, **settings: Any) -> LanguageModelConfig:
        """Return the same configuration with some settings changed.

        Parameters
        ----------
        **settings
            New values of settings.

        Raises
        ------
        ConfigError
            If there is no such setting, or if a value or a combination of values is not allowed.
        """
        for name in settings:
            if name not in SETTINGS:
                raise ConfigError(
                    f"there is no setting {name!r}{nearest(name, SETTINGS)}; posvec lm train --help lists all of them"
                )
        checked = {name: SETTINGS[name].check(value) for name, value in settings.items()}
        return _check(dataclasses.replace(self, **checked))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> LanguageModelConfig:
        """Read what :meth:`to_dict` wrote; absent settings take their defaults."""
        return LanguageModelConfig().replace(**values)


SETTINGS = {each.name: each for each in settings_of({"language model": LanguageModelConfig})}


def _check(config: LanguageModelConfig) -> LanguageModelConfig:
    for name, declared in SETTINGS.items():
        declared.check_bounds(getattr(config, name))
    if config.softmax == "adaptive" and config.tie:
        raise ConfigError("an adaptive softmax has its own output weights; add tie=False (--no-tie)")
    if config.projection and not config.tie:
        raise ConfigError(
            "a projection is for tied weights only; remove projection (--projection) or tie=False (--no-tie)"
        )
    return config
