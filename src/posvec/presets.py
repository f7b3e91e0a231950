"""The four models, and choices of settings that belong together, by name."""

from __future__ import annotations

from typing import Any

from posvec.config import SETTINGS, Config, ModelConfig
from posvec.errors import ConfigError

# The paper's four models: a choice of two settings, and what suits them: the window by Table 1 of the paper, how far
# the learning rate falls in one epoch by measurement (benchmarks/JOURNAL.md).
MODELS: dict[str, dict[str, Any]] = {
    "general": {"subwords": False, "positional_dim": 0, "window": 5, "final_lr_share": 0.25},
    "subword": {"subwords": True, "positional_dim": 0, "window": 5, "final_lr_share": 0.15},
    "positional": {"subwords": True, "positional_dim": 300, "window": 15, "final_lr_share": 0.1},
    "constrained": {"subwords": True, "positional_dim": 60, "window": 15, "final_lr_share": 0.1},
}

# What the presets change. paper: its text to the letter. as-run: its authors' code. fasttext: that program's choices.
# small: for corpora under 10M words, chosen by measurement (benchmarks/results/small.md).
PRESETS: dict[str, dict[str, Any]] = {
    "posvec": {},
    "paper": {
        "context_mean": "words",
        "subsampling": "paper",
        "initializer": "sqrt_normal",
        "initial_lr": 0.05,
        "final_lr_share": 0.0,
        "negative_reuse": 1,
        "precision": "float32",
    },
    "as-run": {
        "initializer": "sqrt_normal_as_run",
        "initial_lr": 0.05,
        "final_lr_share": 0.0,
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
        "final_lr_share": 0.0,
        "negative_reuse": 1,
        "precision": "float32",
    },
    "small": {
        "dim": 100,
        "sample": 1e-3,
        "min_count": 3,
        "epochs": 10,
        "initial_lr": 0.05,
        "final_lr_share": 0.5,
    },
}


def make_config(model: str = "constrained", preset: str = "posvec", **settings: Any) -> Config:
    """The configuration of one of the four models, under a preset, with single settings changed.

    D' follows D where it is not given: all features of the positional model, a fifth of the constrained one's. The
    learning rate starts lower with context_mean=words, whose steps are longer.
    """
    if model not in MODELS:
        raise ConfigError(f"there is no model {model!r}; choose from {', '.join(MODELS)}")
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
    chosen = {**PRESETS[preset], **settings}
    if "positional_dim" not in settings:
        dim = SETTINGS["dim"].check(chosen.get("dim", ModelConfig.dim))
        chosen["positional_dim"] = -(-dim * MODELS[model]["positional_dim"] // ModelConfig.dim)  # rounded up
    if chosen.get("context_mean") == "words":
        chosen.setdefault("initial_lr", 0.05)
    return Config().replace(**{**MODELS[model], **chosen})
