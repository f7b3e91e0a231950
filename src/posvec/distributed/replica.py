"""A worker's copy of the model, trained on the worker's chunks and exchanged block by block.

Training continues while an exchange is in progress: the values that are received include all changes that had been
extracted, and the changes since then are added to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from posvec._kernel import extract_deltas, rebase
from posvec.distributed.buffers import BufferPool
from posvec.distributed.combining import BlockDeltas
from posvec.distributed.plan import ExchangePlan
from posvec.model import Model
from posvec.system.arrays import RowArray
from posvec.training.chunks import ChunkedCorpus
from posvec.training.executor import ChunkResult, total
from posvec.training.kernel import ChunkTrainer
from posvec.training.threads import ThreadedJob


class Replica:
    """A copy of a model; it does not know how workers communicate."""

    def __init__(self, model: Model, corpus: ChunkedCorpus, plan: ExchangePlan, threads: int) -> None:
        self.plan, self.threads = plan, threads
        self._trainer = ChunkTrainer(model, corpus, threads)
        self._trainer.tables.take()
        self.tables = self._trainer.tables.stored
        self.base: dict[int, RowArray] = {}
        """Each block as it was last received: the same arrays for all replicas that share memory."""
        self._snapshots: defaultdict[int, list[RowArray]] = defaultdict(list)
        """The rows of blocks when their deltas were extracted, for exchanges in progress, oldest first."""
        self._buffers = BufferPool()

    def train(self, first: int, end: int, held_out: bool = False) -> ChunkResult:
        """Train chunks ``first`` to ``end - 1``."""
        with ThreadedJob(self._trainer, first, end, self.threads, held_out) as job:
            return total(job.results())

    def start(self, blocks: Mapping[int, RowArray]) -> None:
        """Set all blocks, and discard the changes of this replica."""
        self._snapshots.clear()
        for number, values in blocks.items():
            self.plan.blocks[number].write(self.tables, values)
            self.base[number] = values

    def deltas(self, blocks: Sequence[int]) -> list[BlockDeltas]:
        """Return the changes of blocks since their deltas were last extracted."""
        return [self._deltas(number) for number in blocks]

    def reuse(self, deltas: Iterable[Sequence[BlockDeltas]]) -> None:
        """Reuse the memory of deltas that are no longer needed; any thread may call this."""
        self._buffers.release(each.values for some in deltas for each in some)

    def receive(self, blocks: Mapping[int, RowArray]) -> None:
        """Set blocks to their combined values, from the oldest exchange in progress."""
        for number, values in blocks.items():
            snapshot, *later = self._snapshots[number]
            for rows, table_rows in self.plan.blocks[number].parts(self.tables):
                for each in (table_rows, *(other[rows] for other in later)):
                    rebase(each, snapshot[rows], values[rows])
            self._buffers.release([snapshot])
            self._snapshots[number] = later
            self.base[number] = values

    def _deltas(self, number: int) -> BlockDeltas:
        since = self._snapshots[number][-1] if self._snapshots[number] else self.base[number]
        snapshot, values = (self._buffers.take(since.shape, since.dtype) for _ in range(2))
        changed, count = np.empty(len(since), np.uint32), 0
        for rows, table_rows in self.plan.blocks[number].parts(self.tables):
            count = extract_deltas(table_rows, since[rows], snapshot[rows], values, changed, rows.start, count)
        self._snapshots[number].append(snapshot)
        return BlockDeltas(changed[:count], values[:count])
