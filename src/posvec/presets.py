"""The four models, the presets, and the learning-rate policy.

The learning rate falls linearly from ``initial_lr`` to ``final_lr_ratio * initial_lr``. All choices of these two
settings are in this module: by model and preset, for ``context_mean=words``, for clusters, and for the paper's
experiments.
"""

from __future__ import annotations

from typing import Any

from posvec.config import SETTINGS, Config, ModelConfig, canonical_names, setting_values
from posvec.errors import ConfigError

# The paper's four models: two settings, and what suits them: the window by Table 1 of the paper, the final learning
# rate of one epoch by measurement (benchmarks/JOURNAL.md).
MODELS: dict[str, dict[str, Any]] = {
    "general": {"subwords": False, "positional_dim": 0, "window": 5, "final_lr_ratio": 0.25},
    "subword": {"subwords": True, "positional_dim": 0, "window": 5, "final_lr_ratio": 0.15},
    "positional": {"subwords": True, "positional_dim": 300, "window": 15, "final_lr_ratio": 0.1},
    "constrained": {"subwords": True, "positional_dim": 60, "window": 15, "final_lr_ratio": 0.1},
}

_DEFAULT_MODEL = "constrained"

# What each preset changes. auto: a word head and a spelling head (posvec.heads), best with the positional model, and
# settings that follow the size of the corpus (posvec.automatic); those here suit 66M words.
# paper: the text of the paper. as-run: the code of its authors. fasttext: fastText's defaults. small: for corpora under
# 10M words, chosen by measurement (results/benchmarks/small.md).
# masked: for the prediction of masked words (benchmarks/JOURNAL.md): all words are trained, and negatives
# are drawn by their frequency, so that scores are logarithms of probabilities relative to it.
PRESETS: dict[str, dict[str, Any]] = {
    "posvec": {},
    "auto": {
        "dim": 304,
        "word_dim": 144,
        "max_n": 5,
        "epochs": 5,
        "initial_lr": 0.05,
        "final_lr_ratio": 0.0,
    },
    "paper": {
        "context_mean": "words",
        "subsampling": "paper",
        "initializer": "sqrt_normal",
        "initial_lr": 0.05,
        "final_lr_ratio": 0.0,
        "negative_reuse": 1,
        "precision": "float32",
    },
    "as-run": {
        "initializer": "sqrt_normal_as_run",
        "initial_lr": 0.05,
        "final_lr_ratio": 0.0,
        "negative_reuse": 1,
        "score_limit": 6.0,
        "precision": "float32",
    },
    "fasttext": {
        "dim": 100,
        "sample": 1e-4,
        "negatives": 5,
        "negative_exponent": 0.5,
        "epochs": 5,
        "initial_lr": 0.05,
        "final_lr_ratio": 0.0,
        "negative_reuse": 1,
        "precision": "float32",
    },
    "masked": {
        "subwords": False,
        "sample": 0.0,
        "window": 5,
        "window_sampling": "fixed",
        "negative_exponent": 1.0,
        "epochs": 5,
        "initial_lr": 0.05,
        "final_lr_ratio": 0.0,
    },
    "small": {
        "dim": 100,
        "sample": 1e-3,
        "min_count": 3,
        "epochs": 10,
        "initial_lr": 0.05,
        "final_lr_ratio": 0.5,
    },
}


WORDS_MEAN_RATE = {"initial_lr": 0.05}
"""With context_mean=words the context vector, and with it every step, is longer than with context_mean=rows."""

PAPER_RATE = {"initial_lr": 0.05, "final_lr_ratio": 0.5}
"""The paper's initial rate, with the final rate that gensim's corpus_file mode reached with two workers."""

_MANY_WORKERS = 3
_MANY_WORKERS_RATIO = 0.15


def make_config(model: str | None = None, preset: str = "posvec", **settings: Any) -> Config:
    """Return the configuration of one of the four models, under a preset, with single settings changed.

    Where they are not given, D' and W follow D: D' is all features of the positional model and a fifth of the
    constrained model's, and W, under the preset ``auto``, is the multiple of 16 next to 9/19 of D.

    Parameters
    ----------
    model
        ``general``, ``subword``, ``positional`` or ``constrained``; by default ``constrained``, or ``positional`` with
        the preset ``auto``.
    preset
        A set of defaults: ``posvec``, ``auto``, ``paper``, ``as-run``, ``fasttext``, ``masked`` or ``small``.
    **settings
        Any settings of :mod:`posvec.config`.

    Raises
    ------
    ConfigError
        If there is no such model, preset or setting, or if a value is not allowed.

    Examples
    --------
    >>> import posvec
    >>> config = posvec.make_config("constrained", dim=100)
    >>> config.model.positional_dim, config.model.window
    (20, 15)
    """
    if model is None:
        model = "positional" if preset == "auto" else _DEFAULT_MODEL
    if model not in MODELS:
        raise ConfigError(f"there is no model {model!r}; choose from {', '.join(MODELS)}")
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
    settings = canonical_names(settings)
    chosen = {**PRESETS[preset], **settings}
    dim = SETTINGS["dim"].check(chosen.get("dim", ModelConfig.dim))
    if "positional_dim" not in settings:
        chosen["positional_dim"] = -(-dim * MODELS[model]["positional_dim"] // ModelConfig.dim)  # rounded up
    if "word_dim" in PRESETS[preset] and "word_dim" not in settings:
        chosen["word_dim"] = round(dim * PRESETS[preset]["word_dim"] / PRESETS[preset]["dim"] / 16) * 16
    rate = WORDS_MEAN_RATE if chosen.get("context_mean") == "words" else {}
    return Config().replace(**{**MODELS[model], **rate, **chosen})


def default_settings(config: Config) -> dict[str, Any]:
    """Return the value of every setting that a model of the same kind has if the setting is not given.

    Settings that follow from others have the values that follow from those of ``config``: D' and W from D, the learning
    rate from ``context_mean``. The defaults of models with two heads are those of the preset ``auto``.

    Parameters
    ----------
    config
        The configuration of a model.

    Examples
    --------
    >>> import posvec
    >>> defaults = default_settings(posvec.make_config("positional", dim=100, epochs=3))
    >>> [defaults[name] for name in ("window", "dim", "positional_dim", "epochs")]
    [15, 300, 100, 1]
    """
    preset = "auto" if config.model.word_dim else "posvec"
    following = make_config(config.kind, preset, dim=config.model.dim, context_mean=config.model.context_mean)
    dim = PRESETS[preset].get("dim", ModelConfig.dim)
    return {**setting_values(following), "dim": dim, "context_mean": ModelConfig.context_mean}


def rate_of_workers(model: str | None, workers: int) -> dict[str, float]:
    """Return the rate settings that ``workers`` of a cluster need in place of those of one of the four models.

    The updates that many workers make at the same time add noise, which a lower final rate averages out
    (benchmarks/JOURNAL.md).
    """
    is_higher = MODELS.get(model or _DEFAULT_MODEL, {}).get("final_lr_ratio", 0) > _MANY_WORKERS_RATIO
    return {"final_lr_ratio": _MANY_WORKERS_RATIO} if workers >= _MANY_WORKERS and is_higher else {}
