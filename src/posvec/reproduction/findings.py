"""What was measured: a file of JSON for each experiment and seed, complete at every moment."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.errors import ModelError
from posvec.system.atomic import replacing
from posvec.system.extras import require_extra

CONFIDENCE = 0.95

Values = Mapping[str, Any]
"""What was measured of one variant of an experiment."""
Seed = Mapping[str, Mapping[str, Values]]
"""Experiment → variant → values, of one seed."""


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, and half of its interval (Student's t); of one seed there is none."""

    value: float
    half: float | None
    seeds: int

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        half = None
        if len(values) > 1:
            quantile = float(require_extra("scipy.stats", "reproduce").t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
            half = quantile * statistics.stdev(values) / len(values) ** 0.5
        return Mean(statistics.fmean(values), half, len(values))

    def shown(self, number_format: str) -> str:
        """``38.6% ± 0.4%``"""
        half = "" if self.half is None else f" ± {self.half:{number_format}}"
        return f"{self.value:{number_format}}{half}"


class Findings:
    """The folder of what was measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[str, dict[int, dict[str, Values]]] = {}
        self._cpu_seconds: dict[str, dict[int, dict[str, float]]] = {}
        self.commits: set[str] = set()
        """Of posvec, at which anything was measured."""
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            self._read(file)

    def has(self, experiment: str, variant: str, seed: int) -> bool:
        return variant in self._found.get(experiment, {}).get(seed, {})

    def add(self, experiment: str, variant: str, seed: int, values: Values, commit: str, cpu_seconds: float) -> None:
        variants = self._found.setdefault(experiment, {}).setdefault(seed, {})
        variants[variant] = values
        took = self._cpu_seconds.setdefault(experiment, {}).setdefault(seed, {})
        took[variant] = round(cpu_seconds, 1)
        self.commits.add(commit)
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {
            "experiment": experiment, "seed": seed, "commit": commit, "cpu_seconds": took, "variants": variants
        }  # fmt: skip
        with replacing(self.folder / f"{experiment}-{seed}.json") as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")

    def count(self, experiment: str) -> int:
        """Of variants, over all seeds."""
        return sum(map(len, self._found.get(experiment, {}).values()))

    def cpu_seconds(self, experiment: str) -> float:
        """Of measuring it, and of training what it was the first to require_extra, over all seeds."""
        return sum(seconds for took in self._cpu_seconds.get(experiment, {}).values() for seconds in took.values())

    def seeds(self) -> list[int]:
        return sorted({seed for each in self._found.values() for seed in each})

    def seed(self, number: int) -> Seed:
        return {name: each[number] for name, each in self._found.items() if number in each}

    def of(self, experiment: str, variant: str) -> list[Values]:
        """What was measured of a variant, seed by seed."""
        found = self._found.get(experiment, {})
        return [found[seed][variant] for seed in sorted(found) if variant in found[seed]]

    def first(self, experiment: str, variant: str) -> Values | None:
        """Of the first seed: for what cannot be averaged."""
        return next(iter(self.of(experiment, variant)), None)

    def mean(self, experiment: str, variant: str, value: str) -> Mean | None:
        """Of a value by its name, over the seeds that have it; None if none has."""
        values = [each[value] for each in self.of(experiment, variant) if each.get(value) is not None]
        return Mean.of(values) if values else None

    def _read(self, file: Path) -> None:
        try:
            content = json.loads(file.read_text("utf-8"))
            self._found.setdefault(content["experiment"], {})[int(content["seed"])] = dict(content["variants"])
            self._cpu_seconds.setdefault(content["experiment"], {})[int(content["seed"])] = dict(content["cpu_seconds"])
            self.commits.add(str(content["commit"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{file} is damaged ({type(error).__name__}: {error}); remove it, and it is measured again"
            ) from error
