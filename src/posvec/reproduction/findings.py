"""Findings: what was measured, in one JSON file for each experiment and seed, which is complete at any time."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.errors import ModelError
from posvec.system.atomic import replacing
from posvec.system.extras import require_extra
from posvec.system.utf8 import decode_json, encode_json

CONFIDENCE = 0.95

VariantValues = Mapping[str, Any]
"""What was measured of one variant of an experiment with one seed."""
SeedValues = Mapping[str, Mapping[str, VariantValues]]
"""Experiment → variant → values, of one seed."""


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, and half the width of its confidence interval (Student's t), None for one seed."""

    value: float
    half_width: float | None
    seeds: int

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        """Return the mean of one value for each seed."""
        half_width = None
        if len(values) > 1:
            quantile = float(require_extra("scipy.stats", "reproduce").t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
            half_width = quantile * statistics.stdev(values) / len(values) ** 0.5
        return Mean(statistics.fmean(values), half_width, len(values))

    def format(self, number_format: str) -> str:
        """Return the mean and its interval, for example ``38.6% ± 0.4%``."""
        interval = "" if self.half_width is None else f" ± {self.half_width:{number_format}}"
        return f"{self.value:{number_format}}{interval}"


class Findings:
    """The folder of what was measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._values: dict[str, dict[int, dict[str, VariantValues]]] = {}
        self._cpu_seconds: dict[str, dict[int, dict[str, float]]] = {}
        self.commits: set[str] = set()
        """The commits of posvec with which anything was measured."""
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            self._read(file)

    def has(self, experiment: str, variant: str, seed: int) -> bool:
        """Whether a variant was measured with a seed."""
        return variant in self._values.get(experiment, {}).get(seed, {})

    def add(
        self, experiment: str, variant: str, seed: int, values: VariantValues, commit: str, cpu_seconds: float
    ) -> None:
        """Add what was measured, and write the file of the experiment and seed."""
        variants = self._values.setdefault(experiment, {}).setdefault(seed, {})
        variants[variant] = values
        times = self._cpu_seconds.setdefault(experiment, {}).setdefault(seed, {})
        times[variant] = round(cpu_seconds, 1)
        self.commits.add(commit)
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {
            "experiment": experiment, "seed": seed, "commit": commit, "cpu_seconds": times, "variants": variants
        }  # fmt: skip
        with replacing(self.folder / f"{experiment}-{seed}.json") as file:
            file.write(encode_json(content, indent=1) + b"\n")

    def count(self, experiment: str) -> int:
        """Count the variants that were measured, over all seeds."""
        return sum(map(len, self._values.get(experiment, {}).values()))

    def cpu_seconds(self, experiment: str) -> float:
        """Return the time to measure an experiment and to train its models, except those that another one trained."""
        return sum(seconds for times in self._cpu_seconds.get(experiment, {}).values() for seconds in times.values())

    def seeds(self) -> list[int]:
        """Return all seeds with which anything was measured."""
        return sorted({seed for each in self._values.values() for seed in each})

    def seed(self, number: int) -> SeedValues:
        """Return what was measured with a seed."""
        return {name: each[number] for name, each in self._values.items() if number in each}

    def of(self, experiment: str, variant: str) -> list[VariantValues]:
        """Return what was measured of a variant, seed by seed."""
        by_seed = self._values.get(experiment, {})
        return [by_seed[seed][variant] for seed in sorted(by_seed) if variant in by_seed[seed]]

    def first(self, experiment: str, variant: str) -> VariantValues | None:
        """Return what was measured of a variant with the first seed, for values that cannot be averaged."""
        return next(iter(self.of(experiment, variant)), None)

    def mean(self, experiment: str, variant: str, name: str) -> Mean | None:
        """Return the mean of a value over the seeds that have it, None if there are none."""
        values = [each[name] for each in self.of(experiment, variant) if each.get(name) is not None]
        return Mean.of(values) if values else None

    def _read(self, file: Path) -> None:
        try:
            content = decode_json(file.read_text("utf-8"))
            self._values.setdefault(content["experiment"], {})[int(content["seed"])] = dict(content["variants"])
            self._cpu_seconds.setdefault(content["experiment"], {})[int(content["seed"])] = dict(content["cpu_seconds"])
            self.commits.add(str(content["commit"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{file} is damaged ({type(error).__name__}: {error}); remove it, and it will be measured again"
            ) from error
