"""The driver of training on a cluster: workers train in rounds, by local stochastic gradient descent.

At first a single worker trains: all parameters of a new model move in the same direction, and the changes of several
workers would add up to far too much. In every round after that, each worker trains its part of the next chunks on its
own replica. Then the row blocks that are due are exchanged: each worker extracts its changes of their rows, the owner
of a block combines them into new values, and all workers receive these. Nobody waits for an exchange: a worker trains
its next round in the meantime, and receives the values after it.

From time to time, and when training pauses, all blocks are exchanged. This is a sync point: exchanges in progress are
finished first, and training continues with replicas that are all the same. When a worker dies, a new one replaces it,
all workers return to the last sync point, and the chunks since then are trained again. With one thread per worker the
result is, byte for byte, that of a run in which no worker died.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from posvec.distributed.corpus import ShardedCorpus
from posvec.distributed.failures import failure, reason
from posvec.distributed.options import Options
from posvec.distributed.plan import DELAY, LONGEST_PERIOD, make_plan
from posvec.distributed.worker import StepResult, Worker, WorkerSetup
from posvec.errors import PosvecError
from posvec.model import Model
from posvec.storage.records import ClusterReport
from posvec.system.extras import require_extra
from posvec.training.executor import ChunkResult, TrainingJob, total
from posvec.training.tables import training_tables

_MIN_ROUNDS = 50  # per epoch, however short the text
_MAX_WARMUP = 0.05  # of all training is done by a single worker
_MAX_DEATHS = 5  # between two sync points
_START_TIMEOUT = 300.0
_COMBINING = "combining"  # the concurrency group of what runs in parallel to training
_PIPELINE_DEPTH = 1 + DELAY  # steps requested at a time: the present one and the next
_FLUSH: list[list[int]] = [[]] * _PIPELINE_DEPTH  # exchange no blocks, but receive those in progress


BlockBatch = tuple[Sequence[int], Any]
"""The numbers of blocks, and a reference to their values after an exchange."""


@dataclass(frozen=True)
class _SyncPoint:
    """A moment at which all replicas were the same, to which training returns after a death."""

    chunk: int
    round: int
    blocks: Sequence[BlockBatch]
    """All blocks."""


class WorkerPool:
    """The workers that train a model; an :class:`posvec.training.executor.Executor`."""

    trainer = None

    def __init__(self, model: Model, corpus: ShardedCorpus, options: Options, threads: int) -> None:
        self.ray = require_extra("ray", "distributed")
        self.size, self.threads = options.workers, options.workers * threads
        per_chunk = corpus.tokens / corpus.chunks
        words = min(options.round_words, corpus.tokens / _MIN_ROUNDS / self.size)
        self.chunks = max(threads, int(words / per_chunk))
        """The number of chunks that a worker trains in a round."""
        warmup = min(options.warmup_words, _MAX_WARMUP * corpus.tokens * model.config.training.epochs)
        self.warmup = round(warmup / per_chunk) if self.size > 1 else 0
        """The number of chunks that a single worker trains before all workers take part."""
        self.round_words = self.size * self.chunks * per_chunk
        self._training_tables = training_tables(model)
        self._training_tables.take()
        self._tables = self._training_tables.stored
        self.plan = make_plan(model, self._tables, self.round_words, options.row_updates, self.size)
        self.round = self.replaced = self.deaths = self.bytes_sent = 0
        self.seconds_waited = 0.0
        blocks = [
            (group, self.ray.put([self.plan.blocks[i].read(self._tables) for i in group])) for group in self.plan.all()
        ]
        self._training_tables.export()
        self.sync_point = _SyncPoint(model.state.blocks_done if model.state else 0, 0, blocks)
        self._requested: deque[tuple[list[Any], Sequence[int]]] = deque()
        """Steps whose results have not been read yet: references to these, and the blocks exchanged after each step."""
        self._in_progress: deque[Sequence[BlockBatch]] = deque()
        """The blocks exchanged after each of the last steps, which workers receive one step later."""
        self._finished: list[StepResult] = []
        self._exchanges = 0
        """The number of exchanges so far, including those that a death has ended, so that their numbers differ."""
        self._combined: list[Any] = [None] * self.size
        """For each worker, a reference to the end of its last combination."""
        self._last_end = 0.0
        setup = WorkerSetup(model.config, model.vocabulary, model.rows, corpus, self.plan, threads, options.combine)
        self._setup = self.ray.put(setup)
        self._actor = self.ray.remote(num_cpus=threads, concurrency_groups={_COMBINING: 1})(Worker)
        self.actors: list[Any] = []
        self.ray.wait(self._start(range(self.size)), num_returns=self.size)  # start-up is not counted as training time

    def start(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> TrainingJob:
        return ClusterJob(self, first, end, held_out, interrupted)

    @property
    def cluster(self) -> ClusterReport:
        others = self.round_words * (self.size - 1) / self.size
        periods = [block.period for block in self.plan.blocks]
        staleness = round(others * (min(periods) + DELAY)), round(others * (max(periods) + DELAY))
        return ClusterReport(self.size, self.round, self.bytes_sent, self.seconds_waited, staleness, self.replaced)

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self._training_tables.export()

    # ---- rounds -------------------------------------------------------------------------------------------------

    def assign(self, first: int, end: int, held_out: bool) -> list[int]:
        """Assign the chunks of the next round: worker i gets chunks bounds[i] to bounds[i + 1] - 1."""
        if first < self.warmup and not held_out:
            return [first, *[min(end, self.warmup, first + self.chunks)] * self.size]
        end = min(end, first + self.size * self.chunks)
        return [first + (end - first) * i // self.size for i in range(self.size + 1)]

    def train(self, bounds: Sequence[int]) -> list[StepResult]:
        """Begin a round: request the training of the chunks, and the exchange of the blocks that are due.

        Returns the results that have arrived in the meantime.
        """
        self._flush_sync_point()
        self.round += 1
        is_sync_point = self.round % LONGEST_PERIOD == 0
        is_shared = bounds[-1] > self.warmup and self.size > 1  # otherwise a single worker trains
        due = self.plan.all() if is_sync_point else [self.plan.due(self.round) if is_shared else []]
        blocks = [*self._request(bounds, due[0]), *self._exchange(due[1:])]
        if is_sync_point:
            self._reach_sync_point(bounds[-1], blocks)
        if bounds[-1] == self.warmup:  # the other workers receive the rows that have changed most
            self._exchange([*self.plan.within(self.warmup / self.chunks / self.size), *_FLUSH])
        return self._take_finished()

    def score(self, bounds: Sequence[int]) -> list[StepResult]:
        """Request the loss over held-out lines; returns the results that have arrived in the meantime."""
        self._flush_sync_point()
        self._request(bounds, [], held_out=True)
        return self._take_finished()

    def finish(self) -> list[StepResult]:
        """Wait for all requested steps; returns their results."""
        while self._requested:
            self._read_results()
        return self._take_finished()

    def synchronize(self, chunk: int) -> None:
        """Make all replicas the same, and update the model of this process."""
        self._training_tables.take()
        with ThreadPoolExecutor() as pool:  # blocks are written while others are exchanged
            writing: list[Future[None]] = []
            if self.sync_point.round == self.round:
                writing += [pool.submit(self._write, batch) for batch in self.sync_point.blocks]
            else:
                blocks: list[BlockBatch] = []
                for group in self.plan.all():
                    batches = self._exchange([group])
                    writing += [pool.submit(self._write, batch) for batch in batches]
                    blocks += batches
                self._reach_sync_point(chunk, blocks)
            for each in writing:
                each.result()
        self._training_tables.export()

    def _write(self, batch: BlockBatch) -> None:
        for number, values in zip(batch[0], self.ray.get(batch[1]), strict=True):
            self.plan.blocks[number].write(self._tables, values)

    def _exchange(self, groups: Sequence[Sequence[int]]) -> list[BlockBatch]:
        return [batch for group in groups for batch in self._request([0] * (self.size + 1), group)]

    def _request(self, bounds: Sequence[int], blocks: Sequence[int], held_out: bool = False) -> Sequence[BlockBatch]:
        """Request a step of every worker (receive, train, extract deltas), and the combination of the deltas."""
        if not self._requested:
            self._last_end = time.monotonic()
        elif len(self._requested) == _PIPELINE_DEPTH:
            self._read_results()
        received = self._in_progress.popleft() if len(self._in_progress) == _PIPELINE_DEPTH else ()
        owners = sorted({self.plan.owner(number) for number in blocks})
        blocks_of = {owner: [number for number in blocks if self.plan.owner(number) == owner] for owner in owners}
        self._exchanges += 1
        steps: list[Any] = []
        changes: dict[int, list[Any]] = {owner: [] for owner in owners}
        for i, actor in enumerate(self.actors):
            others = [owner for owner in owners if owner != i]
            step = actor.step.options(num_returns=1 + len(others))
            result = step.remote(
                bounds[i], bounds[i + 1], held_out, self._exchanges, blocks_of, *_as_arguments(received)
            )
            first, *rest = result if others else [result]
            steps.append(first)
            for owner, reference in zip(others, rest, strict=True):
                changes[owner].append(reference)
        self._requested.append((steps, blocks))
        batches = []
        for owner, numbers in blocks_of.items():
            combine = self.actors[owner].combine.options(num_returns=2, concurrency_group=_COMBINING)
            self._combined[owner], values = combine.remote(
                self._exchanges, numbers, self._combined[owner], steps[owner], *changes[owner]
            )
            batches.append((numbers, values))
        self._in_progress.append(batches)
        return tuple(batches)

    def _read_results(self) -> None:
        """Wait for the oldest requested step and read its results."""
        results, blocks = self._requested.popleft()
        steps: list[StepResult] = self.ray.get(results)
        self.bytes_sent += sum(step.bytes_sent for step in steps)  # changes, sent to the owners of their blocks
        # The owners send the combined values to all other workers.
        self.bytes_sent += (self.size - 1) * sum(self.plan.blocks[number].bytes for number in blocks)
        now = time.monotonic()
        self.seconds_waited += now - self._last_end - sum(step.seconds for step in steps) / self.size
        self._last_end = now
        self._finished += steps

    def _take_finished(self) -> list[StepResult]:
        ended, self._finished = self._finished, []
        return ended

    def _reach_sync_point(self, chunk: int, blocks: list[BlockBatch]) -> None:
        while self._requested:
            self._read_results()
        self.ray.get([actor.keep.remote(*(reference for _, reference in blocks)) for actor in self.actors])
        self.sync_point = _SyncPoint(chunk, self.round, blocks)
        self.deaths = 0

    def _flush_sync_point(self) -> None:
        """Receive the blocks of a sync point before training continues from it."""
        if self.round == self.sync_point.round and any(self._in_progress):
            self._exchange(_FLUSH)

    # ---- workers that die ---------------------------------------------------------------------------------------

    def recover(self, error: Exception) -> None:
        """Replace workers that have died and return to the last sync point; raise if none has died."""
        dead = [i for i, actor in enumerate(self.actors) if not self._is_alive(actor)]
        if not dead:
            raise failure(error) from error
        self.deaths += len(dead)
        if self.deaths > _MAX_DEATHS:
            raise PosvecError(
                f"{self.deaths} workers died one after the other ({reason(error)}); give them more memory, or "
                f"lower --workers, and continue with posvec resume --cluster"
            ) from error
        self.replaced += len(dead)
        self.round = self.sync_point.round
        self._combined = [None] * self.size
        self._requested.clear()
        self._in_progress.clear()
        self._finished.clear()
        self._start(dead)

    def _is_alive(self, actor: Any) -> bool:
        try:
            self.ray.get(actor.process_id.remote())
        except self.ray.exceptions.RayError:
            return False
        return True

    def _start(self, indices: Sequence[int]) -> list[Any]:
        """Start workers, and return references that become ready when all replicas are as at the last sync point."""
        started = {index: self._actor.remote(index, self._setup) for index in indices}
        self.actors = [started.get(i) or self.actors[i] for i in range(self.size)]
        try:
            self.ray.get([actor.process_id.remote() for actor in started.values()], timeout=_START_TIMEOUT)
        except self.ray.exceptions.GetTimeoutError as error:
            raise PosvecError(
                f"the cluster had no room for {len(started)} more of {self.size} workers within "
                f"{_START_TIMEOUT / 60:.0f} minutes; add nodes, or lower --workers or --threads"
            ) from error
        except self.ray.exceptions.RayError as error:
            raise failure(error) from error
        return [actor.start.remote(*_as_arguments(self.sync_point.blocks)) for actor in self.actors]


def _as_arguments(batches: Sequence[BlockBatch]) -> list[Any]:
    """Return the numbers of all batches, then each reference as an argument of its own, so that Ray resolves it."""
    return [[numbers for numbers, _ in batches], *(reference for _, reference in batches)]


class ClusterJob(TrainingJob):
    """Trains chunks in rounds; no worker trains beyond the round that was requested."""

    def __init__(
        self, workers: WorkerPool, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]
    ) -> None:
        super().__init__(first, end, held_out, interrupted)
        self._workers, self._first = workers, first
        self._unsynchronized: list[ChunkResult] = []  # results since the last sync point

    def results(self) -> Iterator[ChunkResult]:
        """Yield results, and negative ones for chunks that are repeated after a death; synchronize at the end."""
        is_done = False
        while not is_done:
            try:
                is_done = self._is_over
                steps = self._workers.finish() if is_done else self._round()
                if is_done and not self.held_out:
                    self._workers.synchronize(self.next)
            except self._workers.ray.exceptions.RayError as error:
                self._workers.recover(error)
                self.next = self._first if self.held_out else self._workers.sync_point.chunk
                lost, self._unsynchronized, is_done = self._unsynchronized, [], False
                yield total([ChunkResult(-words, -masked, -loss) for words, masked, loss in lost])
            else:
                if steps:
                    self._unsynchronized.append(
                        total([ChunkResult(step.words, step.masked_words, step.loss) for step in steps])
                    )
                    yield self._unsynchronized[-1]
                if not self.held_out and self._workers.sync_point.chunk == self.next:
                    self._unsynchronized = []

    def _round(self) -> list[StepResult]:
        bounds = self._workers.assign(self.next, self.end, self.held_out)
        steps = self._workers.score(bounds) if self.held_out else self._workers.train(bounds)
        self.next = bounds[-1]
        return steps
