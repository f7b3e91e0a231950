"""The models and the presets: which settings go together.

The learning rate falls linearly from ``initial_lr`` to ``final_lr_ratio * initial_lr``, by default to 0.
"""

from __future__ import annotations

from typing import Any

from posvec.config import SETTINGS, Config, canonical_names, setting_values
from posvec.errors import ConfigError

# What distinguishes the models. Their number of positional features and W are those for D = 300 and D = 304. The window
# of the paper's four models is that of its Table 1; the sizes of two heads were chosen by measurement
# (benchmarks/JOURNAL.md).
MODELS: dict[str, dict[str, Any]] = {
    "two-heads": {
        "subwords": True,
        "dim": 304,
        "positional_dim": 304,
        "word_dim": 144,
        "window": 15,
        "max_n": 5,
        "initializer": "identity",
    },
    "general": {"subwords": False, "dim": 300, "positional_dim": 0, "window": 5},
    "subword": {"subwords": True, "dim": 300, "positional_dim": 0, "window": 5},
    "positional": {"subwords": True, "dim": 300, "positional_dim": 300, "window": 15},
    "constrained": {"subwords": True, "dim": 300, "positional_dim": 60, "window": 15},
}

DEFAULT_PRESET = "posvec"
"""The preset whose settings follow the size of the corpus when a model is trained (posvec.automatic)."""

# The model that is trained under each preset if none is given.
_DEFAULT_MODELS = {DEFAULT_PRESET: "two-heads", "fasttext": "subword", "gensim": "general", "masked": "positional"}
_PAPER_MODEL = "constrained"

# What each preset changes. posvec: the defaults; its numbers of epochs and the like suit 66M words, and training
# replaces them by what suits the corpus. paper: the text of the paper. as-run: the code of its authors. fasttext,
# gensim: the defaults of these programs. small: an earlier preset for corpora under 10M words.
# masked: for the prediction of masked words (benchmarks/JOURNAL.md): all words are trained, and negatives are drawn by
# their frequency, so that scores are logarithms of probabilities relative to it.
PRESETS: dict[str, dict[str, Any]] = {
    DEFAULT_PRESET: {},
    "paper": {
        "context_mean": "words",
        "subsampling": "paper",
        "initializer": "sqrt_normal",
        "epochs": 1,
        "negative_reuse": 1,
        "precision": "float32",
    },
    "as-run": {
        "initializer": "sqrt_normal_as_run",
        "epochs": 1,
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
        "negative_reuse": 1,
        "precision": "float32",
    },
    "gensim": {
        "dim": 100,
        "sample": 1e-3,
        "negatives": 5,
        "epochs": 5,
        "initial_lr": 0.025,
        "final_lr_ratio": 0.004,
        "score_limit": 6.0,
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
    },
    "small": {
        "dim": 100,
        "sample": 1e-3,
        "min_count": 3,
        "epochs": 10,
        "final_lr_ratio": 0.5,
    },
}


PAPER_RATE = {"initial_lr": 0.05, "final_lr_ratio": 0.5}
"""The paper's initial rate, with the final rate that gensim's corpus_file mode reached with two workers."""


def make_config(model: str | None = None, preset: str = DEFAULT_PRESET, **settings: Any) -> Config:
    """Return the configuration of a model, under a preset, with single settings changed.

    Where they are not given, D' and W follow D: D' is all features of a positional model and of one with two heads, and
    a fifth of the constrained model's; W is the multiple of 16 next to 9/19 of D.

    :func:`posvec.train` chooses the settings that follow the size of the corpus, see :mod:`posvec.automatic`. Here they
    have the values that suit 66 million words.

    Parameters
    ----------
    model
        ``two-heads``, or one of the paper's models: ``general``, ``subword``, ``positional`` or ``constrained``. By
        default that of the preset: ``two-heads`` under ``posvec``, ``subword`` under ``fasttext``, ``general`` under
        ``gensim``, ``positional`` under ``masked``, otherwise ``constrained``.
    preset
        A set of defaults: ``posvec``, ``paper``, ``as-run``, ``fasttext``, ``gensim``, ``masked`` or ``small``.
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
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
    if model is None:
        model = _DEFAULT_MODELS.get(preset, _PAPER_MODEL)
    if model not in MODELS:
        raise ConfigError(f"there is no model {model!r}; choose from {', '.join(MODELS)}")
    settings = canonical_names(settings)
    shape = MODELS[model]
    chosen = {**shape, **PRESETS[preset], **settings}
    dim = SETTINGS["dim"].check(chosen["dim"])
    if "positional_dim" not in settings:
        chosen["positional_dim"] = -(-dim * shape["positional_dim"] // shape["dim"])  # rounded up
    if "word_dim" in shape and "word_dim" not in settings:
        chosen["word_dim"] = round(dim * shape["word_dim"] / shape["dim"] / 16) * 16
    return Config().replace(**chosen)


def default_settings(config: Config) -> dict[str, Any]:
    """Return the value of every setting that a model of the same kind has if the setting is not given.

    D' and W have the values that follow from the D of ``config``.

    Parameters
    ----------
    config
        The configuration of a model.

    Examples
    --------
    >>> import posvec
    >>> defaults = default_settings(posvec.make_config("positional", dim=100, epochs=3))
    >>> [defaults[name] for name in ("window", "dim", "positional_dim", "epochs")]
    [15, 300, 100, 5]
    """
    following = make_config(config.kind, dim=config.model.dim)
    return {**setting_values(following), "dim": MODELS[config.kind]["dim"]}
