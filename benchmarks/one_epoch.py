"""The settings of one epoch with which the paper's models are measured."""

from __future__ import annotations

from typing import Any

_FINAL_LR_RATIOS = {"general": 0.25, "subword": 0.15, "positional": 0.1, "constrained": 0.1}


def one_epoch(kind: str) -> dict[str, Any]:
    """Return the settings that are best for one epoch of a large text, by measurement (benchmarks/JOURNAL.md)."""
    return {
        "epochs": 1,
        "initial_lr": 0.07,
        "final_lr_ratio": _FINAL_LR_RATIOS[kind],
        "sample": 1e-5,
        "min_count": 5,
    }
