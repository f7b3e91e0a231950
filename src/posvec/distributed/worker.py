"""A worker of the cluster: a process that holds a replica; the driver calls its methods through Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posvec.config import Config
from posvec.distributed.combining import BlockDeltas, combine_into
from posvec.distributed.plan import ExchangePlan
from posvec.distributed.replica import Replica
from posvec.model import Model
from posvec.subwords import SubwordRows
from posvec.system.arrays import RowArray
from posvec.training.chunks import ChunkedCorpus
from posvec.vocabulary import Vocabulary


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs: the model without its parameters, the corpus, and the plan of exchanges."""

    config: Config
    vocabulary: Vocabulary
    rows: SubwordRows
    corpus: ChunkedCorpus
    plan: ExchangePlan
    threads: int
    rule: str


@dataclass(frozen=True)
class StepResult:
    """What a worker did between two exchanges."""

    words: int
    masked_words: int
    loss: float
    seconds: float
    """Training time."""
    bytes_sent: int
    """Size of the deltas for other workers."""


class Worker:
    """A Ray actor."""

    def __init__(self, index: int, setup: WorkerSetup) -> None:
        model = Model.allocate(setup.config, setup.vocabulary, setup.rows)
        self.replica = Replica(model, setup.corpus, setup.plan, setup.threads)
        self._index, self._plan, self._rule = index, setup.plan, setup.rule
        self._values: dict[int, RowArray] = {}
        """The blocks that this worker owns, as they are after their last exchange."""
        self._own: dict[int, list[BlockDeltas]] = {}
        """This worker's deltas of the blocks that it owns, by the numbers of exchanges in progress."""
        self._sent: list[list[BlockDeltas]] = []
        self._sync_point: tuple[list[RowArray], ...] = ()

    def process_id(self) -> int:
        return os.getpid()

    def start(self, numbers: Sequence[Sequence[int]], *values: Sequence[RowArray]) -> None:
        """Set all blocks, and discard everything done before."""
        blocks = _by_number(numbers, values)
        self._own.clear()
        self._values = {i: blocks[i].copy() for i in blocks if self._plan.owner(i) == self._index}
        self.replica.start(blocks)

    def keep(self, *blocks: list[RowArray]) -> None:
        """Keep references to all blocks of a sync point, so that they survive the loss of another node."""
        self._sync_point = blocks

    def step(
        self,
        first: int,
        end: int,
        held_out: bool,
        exchange: int,
        blocks_of: Mapping[int, Sequence[int]],
        numbers: Sequence[Sequence[int]],
        *values: Sequence[RowArray],
    ) -> Any:
        """Receive blocks, train chunks, and return the deltas of the blocks to exchange, by their owners.

        The deltas of this worker's own blocks stay here, under the number of the exchange.
        """
        self.replica.receive(_by_number(numbers, values))
        started = time.monotonic()
        result = self.replica.train(first, end, held_out)
        seconds = time.monotonic() - started
        deltas = {owner: self.replica.deltas(blocks) for owner, blocks in blocks_of.items()}
        if self._index in deltas:
            self._own[exchange] = deltas.pop(self._index)
        step = StepResult(*result, seconds, sum(each.bytes for some in deltas.values() for each in some))
        self.replica.reuse(self._sent)  # Ray has copied what the last step returned
        self._sent = list(deltas.values())
        return (step, *self._sent) if deltas else step

    def combine(
        self, exchange: int, blocks: Sequence[int], _previous: object, _own: StepResult, *others: Sequence[BlockDeltas]
    ) -> tuple[None, list[RowArray]]:
        """Combine the deltas of all workers into this worker's blocks, while training continues.

        Ray calls this when the previous exchange and the step that has extracted this worker's own deltas have ended:
        both are arguments, and the first value returned is an argument of the next exchange.
        """
        all_values = self._values  # read first: after a restart, the exchange has no deltas here and must fail
        own = self._own.pop(exchange)
        deltas = [*others[: self._index], own, *others[self._index :]]  # in the same order, whoever adds them up
        values = [all_values[block] for block in blocks]
        for block, rows, *each in zip(blocks, values, *deltas, strict=True):
            combine_into(self._plan.blocks[block], rows, each, self._rule)
        self.replica.reuse([own])
        return None, values


def _by_number(numbers: Sequence[Sequence[int]], values: Sequence[Sequence[RowArray]]) -> dict[int, RowArray]:
    """Return blocks by their numbers."""
    return {number: each for some in zip(numbers, values, strict=True) for number, each in zip(*some, strict=True)}
