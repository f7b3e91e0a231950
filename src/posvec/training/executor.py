"""Who trains chunks: an executor runs jobs, and a job trains a range of chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from posvec.storage.records import ClusterReport

if TYPE_CHECKING:
    from posvec.training.kernel import ChunkTrainer


class ChunkResult(NamedTuple):
    """What training a chunk, or scoring its held-out lines, has given."""

    words: int
    """Tokens read."""
    masked_words: int
    loss: float
    """The sum over the masked words."""


def total(results: Iterable[ChunkResult]) -> ChunkResult:
    """Add up results."""
    words, masked_words, loss = 0, 0, 0.0
    for result in results:
        words, masked_words, loss = words + result.words, masked_words + result.masked_words, loss + result.loss
    return ChunkResult(words, masked_words, loss)


class TrainingJob(ABC):
    """Trains chunks ``next`` to ``end - 1``, or scores their held-out lines, until it is stopped.

    Chunks are numbered over all epochs.
    """

    def __init__(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> None:
        self.next, self.end, self.held_out = first, end, held_out
        self._interrupted = interrupted
        self._stopped = False

    def __enter__(self) -> TrainingJob:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Begin no further chunk; chunks that have begun are finished."""
        self._stopped = True

    def close(self) -> None:
        """Stop, and wait until nothing accesses the parameters any more."""
        self.stop()

    @abstractmethod
    def results(self) -> Iterator[ChunkResult]:
        """Yield results as they come; end when all chunks are done or the job has been stopped."""

    @property
    def _is_over(self) -> bool:
        return self._stopped or self._interrupted() or self.next >= self.end


class Executor(Protocol):
    """Runs training jobs: threads of this process, or workers of a cluster."""

    @property
    def threads(self) -> int: ...
    @property
    def cluster(self) -> ClusterReport | None: ...
    @property
    def trainer(self) -> ChunkTrainer | None:
        """What trains chunks in this process; None if other processes do."""

    def start(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> TrainingJob: ...
