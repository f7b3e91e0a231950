"""What training says about itself: while it runs, when it is over, and where it stands when interrupted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from posvec.config import Config

T = TypeVar("T")


@dataclass(frozen=True)
class TrainingProgress:
    """Training at one moment."""

    epoch: int
    epochs: int
    fraction: float
    """How much of all epochs is done, 0 to 1."""
    words: int
    """Tokens read so far, over all epochs."""
    seconds: float
    words_per_second: float
    seconds_left: float
    loss: float
    """Mean loss per masked word, of late."""
    lr: float
    validation_loss: float | None = None
    """Of the last epoch that ended, if lines are held out."""

    @property
    def share(self) -> float:
        """Deprecated alias of ``fraction``."""
        return self.fraction


@dataclass(frozen=True)
class Preparation:
    """What came before training, in seconds."""

    counting: float = 0.0
    encoding: float = 0.0
    initializing: float = 0.0


@dataclass(frozen=True)
class EpochReport:
    """One pass over the corpus."""

    loss: float
    validation_loss: float | None
    seconds: float


@dataclass(frozen=True)
class ClusterReport:
    """What it took to train on several workers, since training began or was last resumed."""

    workers: int
    rounds: int
    """Between which the workers exchange what they have learnt."""
    bytes_sent: int
    """By all workers together; on one machine through shared memory."""
    seconds_waited: float
    """That a worker did not train while others did or rows were exchanged; mean over the workers."""
    staleness: tuple[int, int]
    """The words that others train between two exchanges of the rows that change most, and of those that do least."""
    replaced: int
    """Workers that died."""


@dataclass(frozen=True)
class TrainingReport:
    """What was trained, how long it took and how well it fits."""

    config: Config
    loss: float
    """Mean negative-sampling loss per masked word over the last epoch."""
    seconds: float
    """Of training alone."""
    words: int
    """Tokens read, over all epochs."""
    masked_words: int
    lines: int
    tokens: int
    """In the corpus."""
    vocabulary: int
    threads: int
    epochs: tuple[EpochReport, ...]
    before: Preparation = Preparation()
    stopped_early: bool = False
    cluster: ClusterReport | None = None

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds if self.seconds else 0.0

    @property
    def validation_loss(self) -> float | None:
        return self.epochs[-1].validation_loss if self.epochs else None

    def to_dict(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        del values["config"]  # stored beside it
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any], config: Config) -> TrainingReport:
        epochs = tuple(_built(EpochReport, epoch) for epoch in values["epochs"])
        before = _built(Preparation, values["before"])
        cluster = _built(ClusterReport, values["cluster"]) if values.get("cluster") else None
        made = {"config": config, "epochs": epochs, "before": before, "cluster": cluster}
        return _built(TrainingReport, {**values, **made})


@dataclass(frozen=True)
class TrainingState:
    """How far interrupted training got: everything that resuming needs beside the parameters."""

    corpus: str
    """Digest of the encoded corpus."""
    sources: list[str]
    """Absolute paths that it was read from; empty if it did not come from files."""
    blocks_done: int
    """Over all epochs."""
    words: int
    masked_words: int
    seconds: float
    epoch_words: int
    epoch_masked_words: int
    epoch_loss: float
    epoch_seconds: float
    epochs: list[dict[str, Any]]
    before: Preparation = Preparation()
    content: str = ""
    """Digest of the ids themselves, which tells the same text in other files; earlier versions wrote none."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> TrainingState:
        return _built(TrainingState, {**values, "before": _built(Preparation, values["before"])})


def _built(kind: type[T], values: Mapping[str, Any]) -> T:
    """What was saved, as it was; TypeError if a value is of another type, for a file can say anything."""
    for name, hint in get_type_hints(kind).items():
        if name in values and not _fits(values[name], hint):
            raise TypeError(f"{name} is {values[name]!r:.80}")
    return kind(**values)


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(_fits(value, each) for each in inner)
    if kind in (list, tuple):  # both are lists in JSON
        return isinstance(value, list | tuple) and all(_fits(each, inner[0]) for each in value)
    return isinstance(value, (int, float) if hint is float else kind or hint)
