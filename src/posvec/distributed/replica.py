"""What a worker holds: a copy of the model, trained on its share of the stretches, and exchanged block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from posvec.distributed.combining import Changes, combine, steady
from posvec.distributed.plan import Floats, Plan
from posvec.model import Model
from posvec.stretches import Burst, Result, Stretches, Text, total


class Replica:
    """A copy of a model. Nothing here knows how workers are reached."""

    def __init__(self, model: Model, text: Text, plan: Plan, threads: int, rule: str) -> None:
        self.model, self.plan, self.threads, self.rule = model, plan, threads, rule
        self.base: dict[int, Floats] = {}
        """Each block as it was after its last exchange: the same arrays for all replicas that share memory."""
        self._stretches = Stretches(model, text, wide=True)  # rows are read between bursts, many times a second

    def train(self, first: int, end: int, held_out: bool = False) -> Result:
        """Stretches ``first`` to ``end - 1``."""
        with Burst(self._stretches, first, end, self.threads, held_out) as burst:
            return total(list(burst.results()))

    def changes(self, blocks: Sequence[int]) -> list[Changes]:
        """What was done to blocks since their last exchange."""
        return [self._changes(number) for number in blocks]

    def combine(self, number: int, changes: Sequence[Changes]) -> Floats:
        """A block with what all workers did to it."""
        block, base = self.plan.blocks[number], self.base[number]
        if self.rule == "steady" and block.hot:
            return steady(base, changes, block.parts)
        return combine(base, changes, "sum" if self.rule == "steady" else self.rule)

    def receive(self, blocks: Mapping[int, Floats]) -> None:
        """Blocks as they are after an exchange."""
        for number, values in blocks.items():
            self.plan.blocks[number].write(self.model, values)
            self.base[number] = values

    def _changes(self, number: int) -> Changes:
        block, base = self.plan.blocks[number], self.base[number]
        rows, moved, count = np.empty(len(base), np.uint32), np.empty_like(base), 0
        for first, some in block.changes(self.model, base):
            is_touched = block.period == 1 or np.einsum("ij,ij->i", some, some) > 0  # often, hardly any row is the same
            touched = np.flatnonzero(np.broadcast_to(is_touched, len(some)))
            end = count + len(touched)
            rows[count:end] = first + touched
            moved[count:end] = some if len(touched) == len(some) else some[touched]
            count = end
        return Changes(None if count == len(base) else rows[:count], moved[:count])
