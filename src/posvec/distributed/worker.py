"""A worker of the cluster: a process that holds a replica. Its methods are what the driver asks of it over Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posvec.config import Config
from posvec.distributed.combining import Changes, exchange
from posvec.distributed.plan import Plan
from posvec.distributed.replica import Replica
from posvec.model import Model
from posvec.subwords import SubwordRows
from posvec.system.arrays import RowArray, padded_table
from posvec.training.chunks import ChunkedCorpus
from posvec.vocabulary import Vocabulary


@dataclass(frozen=True)
class Blueprint:
    """All of a model but its parameters, and what a worker needs to train them."""

    config: Config
    vocabulary: Vocabulary
    rows: SubwordRows
    text: ChunkedCorpus
    plan: Plan
    threads: int
    rule: str


@dataclass(frozen=True)
class Step:
    """What a worker did between two exchanges."""

    words: int
    masked_words: int
    loss: float
    seconds: float
    """Of training."""
    sent: int
    """Bytes of changes for other workers."""


class Worker:
    def __init__(self, place: int, blueprint: Blueprint) -> None:
        shape = blueprint.config.model
        model = Model(
            blueprint.config,
            blueprint.vocabulary,
            blueprint.rows,
            padded_table(blueprint.rows.table_rows, shape.dim),
            padded_table(len(blueprint.vocabulary), shape.dim),
            np.empty((2 * shape.window, shape.positional_dim), np.float32),
        )
        self.replica = Replica(model, blueprint.text, blueprint.plan, blueprint.threads)
        self._place, self._plan, self._rule = place, blueprint.plan, blueprint.rule
        self._values: dict[int, RowArray] = {}
        """This worker's blocks as they are after their last exchange."""
        self._own: dict[int, list[Changes]] = {}  # of exchanges that are under way
        self._sent: list[list[Changes]] = []
        self._milestone: tuple[list[RowArray], ...] = ()

    def process_id(self) -> int:
        return os.getpid()

    def start(self, numbers: Sequence[Sequence[int]], *values: Sequence[RowArray]) -> None:
        """From all blocks as they are given, whatever was done before."""
        blocks = _together(numbers, values)
        self._own.clear()
        self._values = {i: blocks[i].copy() for i in blocks if self._plan.owner(i) == self._place}
        self.replica.start(blocks)

    def keep(self, *blocks: list[RowArray]) -> None:
        """Hold on to all blocks of a milestone: should another node be lost, copies are here."""
        self._milestone = blocks

    def step(
        self,
        first: int,
        end: int,
        held_out: bool,
        number: int,
        wanted: Mapping[int, Sequence[int]],
        numbers: Sequence[Sequence[int]],
        *values: Sequence[RowArray],
    ) -> Any:
        """Receive blocks, train stretches, and hand over what was done to the blocks wanted, by their owners.

        What is this worker's own stays here, under the number of the exchange.
        """
        self.replica.receive(_together(numbers, values))
        started = time.monotonic()
        tally = self.replica.train(first, end, held_out)
        seconds = time.monotonic() - started
        changes = {owner: self.replica.changes(blocks) for owner, blocks in wanted.items()}
        if self._place in changes:
            self._own[number] = changes.pop(self._place)
        step = Step(*tally, seconds, sum(change.bytes for some in changes.values() for change in some))
        self.replica.reuse(self._sent)  # Ray has made a copy of what was returned
        self._sent = list(changes.values())
        return (step, *self._sent) if changes else step

    def combine(
        self, number: int, blocks: Sequence[int], _after: object, _own: Step, *others: Sequence[Changes]
    ) -> tuple[None, list[RowArray]]:
        """This worker's blocks with what all have done to them in an exchange; runs beside training.

        Not before the exchange before it has ended, nor the step in which this worker kept its own changes: of both
        something is given, as is what comes first here for the next exchange.
        """
        held = self._values  # first: of an exchange from before a new start, there are no changes any more
        own = self._own.pop(number)
        changes = [*others[: self._place], own, *others[self._place :]]  # sums are the same whoever makes them
        values = [held[block] for block in blocks]
        for block, rows, *each in zip(blocks, values, *changes, strict=True):
            exchange(self._plan.blocks[block], rows, each, self._rule)
        self.replica.reuse([own])
        return None, values


def _together(numbers: Sequence[Sequence[int]], values: Sequence[Sequence[RowArray]]) -> dict[int, RowArray]:
    """Blocks by their numbers."""
    return {number: each for some in zip(numbers, values, strict=True) for number, each in zip(*some, strict=True)}
