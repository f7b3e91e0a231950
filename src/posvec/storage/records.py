"""Records of training: progress for callbacks, the report of a finished training, the state of an interrupted one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posvec.config import Config
from posvec.storage.parsing import parse_record


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of training, passed to callbacks."""

    epoch: int
    """The number of the current epoch, from 1."""
    epochs: int
    """The number of epochs to train."""
    fraction: float
    """The fraction of all epochs that is done, 0 to 1."""
    words: int
    """The tokens that were read so far, over all epochs."""
    seconds: float
    """The time that was spent on training."""
    words_per_second: float
    seconds_left: float
    """The estimated time until the end."""
    loss: float
    """The mean loss per masked word of recent chunks."""
    lr: float
    """The current learning rate."""
    validation_loss: float | None = None
    """The loss on held-out lines at the end of the last complete epoch, if lines are held out."""

    @property
    def share(self) -> float:
        """The name of ``fraction`` in posvec 0.1.0, deprecated."""
        return self.fraction


@dataclass(frozen=True)
class Preparation:
    """What happened before training: the seconds that each step took, and the settings that were chosen."""

    counting: float = 0.0
    encoding: float = 0.0
    initializing: float = 0.0
    automatic: tuple[str, ...] = ()
    """The names of the settings that followed the corpus, or the time that was given."""

    def origin(self, name: str) -> str:
        """Return what a setting was chosen by; an empty string if it was not chosen.

        Examples
        --------
        >>> Preparation(automatic=("sample", "epochs", "last_epoch")).origin("epochs")
        'fits the time'
        >>> Preparation(automatic=("sample", "epochs")).origin("epochs")
        'follows the corpus'
        """
        if name not in self.automatic:
            return ""
        is_timed = "last_epoch" in self.automatic and name in ("epochs", "last_epoch")
        return "fits the time" if is_timed else "follows the corpus"


@dataclass(frozen=True)
class EpochReport:
    """The result of one epoch."""

    loss: float
    """The mean loss per masked word."""
    validation_loss: float | None
    """The mean loss per masked word of held-out lines, if there are any."""
    seconds: float


@dataclass(frozen=True)
class ClusterReport:
    """Measurements of training on several workers, since it began or was last resumed."""

    workers: int
    rounds: int
    """The number of rounds; the workers exchange their updates between rounds."""
    bytes_sent: int
    """The bytes sent by all workers, on one machine through shared memory."""
    seconds_waited: float
    """How long a worker waited for others or for the exchange of rows; mean over the workers."""
    staleness: tuple[int, int]
    """The words that others train between two exchanges of the rows that change most, and least."""
    replaced: int
    """The number of workers that died and were replaced."""


@dataclass(frozen=True)
class TrainingReport:
    """The report of a training: its settings, time and loss.

    Examples
    --------
    >>> import posvec
    >>> report = posvec.load("model").report
    >>> report.tokens, report.words, len(report.epochs)
    (16000, 32000, 2)
    """

    config: Config
    loss: float
    """The mean negative-sampling loss per masked word over the last epoch."""
    seconds: float
    """The time that training took, without preparation."""
    words: int
    """The tokens that were read, over all epochs."""
    masked_words: int
    """The masked words that were trained, over all epochs."""
    lines: int
    """The number of lines of the corpus."""
    tokens: int
    """The number of tokens of the corpus."""
    vocabulary: int
    """The number of words that have vectors."""
    threads: int
    epochs: tuple[EpochReport, ...]
    before: Preparation = Preparation()
    """What happened before training."""
    stopped_early: bool = False
    cluster: ClusterReport | None = None
    float32_after: int | None = None
    """The words after which training went on in float32, because 16 bits could no longer hold the features."""

    @property
    def words_per_second(self) -> float:
        """The speed of training, in tokens per second."""
        return self.words / self.seconds if self.seconds else 0.0

    @property
    def validation_loss(self) -> float | None:
        """The loss on held-out lines at the end of the last epoch, if lines are held out."""
        return self.epochs[-1].validation_loss if self.epochs else None

    def to_dict(self) -> dict[str, Any]:
        """Return the values to save as JSON, without the settings, which are saved separately."""
        values = dataclasses.asdict(self)
        del values["config"]
        return values

    @staticmethod
    def from_dict(values: Mapping[str, Any], config: Config) -> TrainingReport:
        """Return the report of values from :meth:`to_dict`; TypeError if they are not valid."""
        cluster = values.get("cluster") if isinstance(values, Mapping) else None
        made = {"config": config, "cluster": parse_record(ClusterReport, cluster) if cluster else None}
        return parse_record(TrainingReport, values, made)


@dataclass(frozen=True)
class TrainingState:
    """The state of an interrupted training: everything that resuming needs in addition to the parameters."""

    corpus: str
    """The digest of the encoded corpus."""
    sources: list[str]
    """The absolute paths of its files; empty if not all of it was read from files."""
    blocks_done: int
    """The number of chunks that were trained, over all epochs."""
    words: int
    masked_words: int
    seconds: float
    epoch_words: int
    epoch_masked_words: int
    epoch_loss: float
    epoch_seconds: float
    epochs: tuple[EpochReport, ...]
    before: Preparation = Preparation()
    content: str = ""
    """The digest of the ids, which is the same for the same text in other files; posvec 0.1.0 saved none."""
    float32_after: int | None = None
    """As in :class:`TrainingReport`."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> TrainingState:
        """Return the state of values from :meth:`to_dict`; TypeError if they are not valid."""
        return parse_record(TrainingState, values)
