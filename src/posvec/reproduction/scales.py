"""Scales of a reproduction: the amount of text, the points of sweeps, trials, seeds and the language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from posvec.config import Config
from posvec.presets import PAPER_RATE, make_config

CorpusPart = Literal["main", "sweep"]
"""Sweeps and searches train many models, which may use less text than the main models."""

_WINDOWS = (5, 10, 20, 30, 40, 50)
_POSITIONAL_DIMS = (0, 50, 60, 100, 150, 200, 250, 300)


@dataclass(frozen=True)
class Scale:
    """The sizes of all experiments; the defaults are the paper's."""

    name: str
    duration: str
    """How long the reproduction takes, as text."""
    seeds: int
    preset: str
    words: Mapping[CorpusPart, int | None] = field(default_factory=lambda: {"main": None, "sweep": None})
    """At most this many words of the corpus, as lines spread evenly over it; None: all."""
    windows: tuple[int, ...] = _WINDOWS
    positional_dims: tuple[int, ...] = _POSITIONAL_DIMS
    """For D = 300; scaled in proportion to D."""
    explosion_dim: int = 900
    """D for the claim that training with the initializer identity explodes."""
    trials: int = 30
    """The number of trials of each search."""
    max_window: int = 50
    """The largest window size that a search tries."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all models, in addition to the preset."""
    sweep_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of models in sweeps and searches: with little text they need more epochs and less subsampling."""
    sweep_remark: str = ""
    """How the sweep settings were chosen, for the report."""
    language_model: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the language models."""

    def config(self, model: str, part: CorpusPart = "main", **settings: Any) -> Config:
        """Return the configuration of one of the four models on a part of the corpus."""
        part_settings = self.sweep_settings if part == "sweep" else {}
        return make_config(model, self.preset, **{**self.settings, **part_settings, **settings})

    @property
    def dim(self) -> int:
        """The D of all models."""
        return self.config("general").model.dim

    def positional_dim(self, size_of_300: int) -> int:
        """Scale a D' for D = 300 to the D of the models."""
        return round(size_of_300 * self.dim / 300)


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "small",
            "about an hour and a half on two cores",
            seeds=3,
            preset="posvec",
            settings={"epochs": 1, **PAPER_RATE},
            words={"main": 100_000_000, "sweep": 4_000_000},
            trials=8,
            sweep_settings={"epochs": 3, "sample": 1e-4},
            sweep_remark="chosen by trial runs on English Wikipedia: one epoch with r = 1e-05 is too little training",
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
            settings={"epochs": 1, **PAPER_RATE},
            words={"main": 500_000_000, "sweep": 100_000_000},
            trials=20,
            language_model={"lowercase": True, "max_words": 10_000, "epochs": 10},
        ),
        Scale("full", "the paper's setting: days (estimated, not measured)", seeds=3, preset="as-run"),
    )
}
