"""What a worker holds: a copy of the model, trained on its share of the stretches, and exchanged block by block.

Training goes on while an exchange is under way: what is received includes all that was handed over, to which what was
done since then is added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from posvec._kernel import hand_over, take_over
from posvec.distributed.buffers import Buffers
from posvec.distributed.combining import Changes
from posvec.distributed.plan import Plan
from posvec.model import Model
from posvec.system.arrays import RowArray
from posvec.training.chunks import ChunkedCorpus
from posvec.training.executor import ChunkResult, total
from posvec.training.kernel import ChunkTrainer
from posvec.training.threads import ThreadedJob


class Replica:
    """A copy of a model. Nothing here knows how workers are reached."""

    def __init__(self, model: Model, text: ChunkedCorpus, plan: Plan, threads: int) -> None:
        self.plan, self.threads = plan, threads
        self._trainer = ChunkTrainer(model, text, threads)
        self._trainer.tables.take()
        self.tables = self._trainer.tables.stored
        self.base: dict[int, RowArray] = {}
        """Each block as it was received last: the same arrays for all replicas that share memory."""
        self._handed_over: defaultdict[int, list[RowArray]] = defaultdict(list)
        """The rows of blocks when their changes were handed over, as long as those have not come back; oldest first."""
        self._buffers = Buffers()

    def train(self, first: int, end: int, held_out: bool = False) -> ChunkResult:
        """Train chunks ``first`` to ``end - 1``."""
        with ThreadedJob(self._trainer, first, end, self.threads, held_out) as job:
            return total(job.results())

    def start(self, blocks: Mapping[int, RowArray]) -> None:
        """All blocks as they are to be; what was done to them here is forgotten."""
        self._handed_over.clear()
        for number, values in blocks.items():
            self.plan.blocks[number].write(self.tables, values)
            self.base[number] = values

    def changes(self, blocks: Sequence[int]) -> list[Changes]:
        """What was done to blocks since they were handed over last."""
        return [self._changes(number) for number in blocks]

    def reuse(self, changes: Iterable[Sequence[Changes]]) -> None:
        """The memory of changes that nobody needs any more; from any thread."""
        self._buffers.give(change.moved for some in changes for change in some)

    def receive(self, blocks: Mapping[int, RowArray]) -> None:
        """Blocks with what all workers did to them, of the oldest exchange that is under way."""
        for number, values in blocks.items():
            handed_over, *later = self._handed_over[number]
            for place, rows in self.plan.blocks[number].parts(self.tables):
                for each in (rows, *(snapshot[place] for snapshot in later)):
                    take_over(each, handed_over[place], values[place])
            self._buffers.give([handed_over])
            self._handed_over[number] = later
            self.base[number] = values

    def _changes(self, number: int) -> Changes:
        since = self._handed_over[number][-1] if self._handed_over[number] else self.base[number]
        now, moved = (self._buffers.take(since.shape, since.dtype) for _ in range(2))
        touched, count = np.empty(len(since), np.uint32), 0
        for place, rows in self.plan.blocks[number].parts(self.tables):
            count = hand_over(rows, since[place], now[place], moved, touched, place.start, count)
        self._handed_over[number].append(now)
        return Changes(touched[:count], moved[:count])
