"""A worker of the cluster: a process that holds a replica. Its methods are what the driver asks of it over Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posvec.config import Config
from posvec.distributed.combining import Changes
from posvec.distributed.plan import Floats, Plan
from posvec.distributed.replica import Replica
from posvec.model import Model
from posvec.stretches import Text
from posvec.subwords import SubwordRows
from posvec.tables import padded_table
from posvec.vocabulary import Vocabulary


@dataclass(frozen=True)
class Blueprint:
    """All of a model but its parameters, and what a worker needs to train them."""

    config: Config
    vocabulary: Vocabulary
    rows: SubwordRows
    text: Text
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
    sizes: tuple[int, ...]
    """Bytes of the changes to each block that was asked for."""


class Worker:
    def __init__(self, blueprint: Blueprint) -> None:
        shape = blueprint.config.model
        model = Model(
            blueprint.config,
            blueprint.vocabulary,
            blueprint.rows,
            padded_table(blueprint.rows.table_rows, shape.dim),
            padded_table(len(blueprint.vocabulary), shape.dim),
            np.empty((2 * shape.window, shape.positional_dim), np.float32),
        )
        self.replica = Replica(model, blueprint.text, blueprint.plan, blueprint.threads, blueprint.rule)
        self._milestone: dict[int, Floats] = {}

    def process_id(self) -> int:
        return os.getpid()

    def receive(self, numbers: Sequence[int], *values: Floats) -> None:
        """Blocks as they are after an exchange."""
        self.replica.receive(dict(zip(numbers, values, strict=True)))

    def keep(self) -> None:
        """Hold on to all blocks as they are now: should another node be lost, copies are here."""
        self._milestone = dict(self.replica.base)

    def step(
        self, first: int, end: int, held_out: bool, wanted: Sequence[int], numbers: Sequence[int], *values: Floats
    ) -> Any:
        """Receive blocks, train stretches, and hand over what was done to the blocks wanted."""
        self.receive(numbers, *values)
        started = time.monotonic()
        tally = self.replica.train(first, end, held_out)
        seconds = time.monotonic() - started
        changes = self.replica.changes(wanted)
        step = Step(*tally, seconds, tuple(change.bytes for change in changes))
        return (step, *changes) if changes else step

    def combine(self, number: int, *changes: Changes) -> Floats:
        return self.replica.combine(number, changes)
