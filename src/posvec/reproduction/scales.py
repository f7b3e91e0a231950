"""How large a reproduction is: words to train on, points of the sweeps, trials, seeds, the language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from posvec.config import Config
from posvec.presets import PAPER_RATE, make_config

# The main models are looked at closely; those of sweeps and searches are many, and may be trained on less text.
Part = Literal["main", "sweep"]

_WINDOWS = (5, 10, 20, 30, 40, 50)
_POSITIONAL_DIMS = (0, 50, 60, 100, 150, 200, 250, 300)


@dataclass(frozen=True)
class Scale:
    """Sizes of all experiments; the default of each is the paper's."""

    name: str
    takes: str
    """How long it takes, in words."""
    seeds: int
    preset: str
    words: Mapping[Part, int | None] = field(default_factory=lambda: {"main": None, "sweep": None})
    """At most so many words of the corpus, in lines spread evenly over it; None: all."""
    windows: tuple[int, ...] = _WINDOWS
    positional_dims: tuple[int, ...] = _POSITIONAL_DIMS
    """Of D = 300: where D is less, D' is less too."""
    explosion_dim: int = 900
    """D at which the initializer identity is said to explode."""
    trials: int = 30
    """Of each search."""
    longest_window: int = 50
    """That a search tries."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of every model, beside those of the preset."""
    sweep_settings: Mapping[str, Any] = field(default_factory=dict)
    """Of those of sweeps and searches: with little text, more passes over it and more of its frequent words."""
    sweep_remark: str = ""
    """How these were come by, which reports tell."""
    language_model: Mapping[str, Any] = field(default_factory=dict)

    def config(self, model: str, part: Part = "main", **settings: Any) -> Config:
        of_part = self.sweep_settings if part == "sweep" else {}
        return make_config(model, self.preset, **{**self.settings, **of_part, **settings})

    @property
    def dim(self) -> int:
        """D of all models."""
        return self.config("general").model.dim

    def positional_dim(self, of_300: int) -> int:
        """D' in proportion to D."""
        return round(of_300 * self.dim / 300)


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "small",
            "about an hour and a half on two cores",
            seeds=3,
            preset="posvec",
            settings=PAPER_RATE,
            words={"main": 100_000_000, "sweep": 4_000_000},
            trials=8,
            sweep_settings={"epochs": 3, "sample": 1e-4},
            sweep_remark="chosen after probes on English Wikipedia: one epoch with r = 1e-05 teaches too little",
            language_model={
                "lowercase": True,
                "train_tokens": 60_000,
                "held_out_tokens": 10_000,
                "max_words": 4_000,
                "batch": 20,
                "epochs": 6,
            },
        ),
        Scale(
            "medium",
            "a night on a workstation of 8 cores or more (estimated, not measured)",
            seeds=3,
            preset="posvec",
            settings=PAPER_RATE,
            words={"main": 500_000_000, "sweep": 100_000_000},
            trials=20,
            language_model={"lowercase": True, "max_words": 10_000, "epochs": 10},
        ),
        Scale("full", "the paper's setting: days (estimated, not measured)", seeds=3, preset="as-run"),
    )
}
