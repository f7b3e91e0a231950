"""Training by the workers of a cluster, in rounds: local stochastic gradient descent.

At first a single worker trains: a new model moves as a whole, and what several workers do to it then adds up to far
too much. In every round after that, each trains its share of the next stretches on its own replica. Then the blocks
that are due are exchanged: each worker hands over what it did to their rows, the owner of a block combines that into
new values, and all workers receive these. Nobody waits for that: a worker trains its next round meanwhile, and receives
after it. From time to time, and when training pauses, all blocks are exchanged: at such a milestone what is under way
is waited for, and training goes on with replicas that are all the same. When a worker dies, another one takes its
place, all go back to the last milestone, and what was trained since is trained again. With one thread for each worker
the result is, byte for byte, that of a run in which nobody died.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from posvec.distributed.failures import failure, reason
from posvec.distributed.options import Options
from posvec.distributed.plan import LATE, LONGEST, make_plan
from posvec.distributed.text import ShardedCorpus
from posvec.distributed.worker import Blueprint, Step, Worker
from posvec.errors import PosvecError
from posvec.model import Model
from posvec.storage.records import ClusterReport
from posvec.system.extras import require_extra
from posvec.training.executor import ChunkResult, TrainingJob, total
from posvec.training.tables import training_tables

_ROUNDS = 50  # of an epoch at least, however short the text
_ALONE = 0.05  # of all training at most is that of a single worker
_DEATHS = 5  # without a milestone in between, after which there is no point in going on
_START_SECONDS = 300.0
_COMBINING = "combining"  # beside training
_AHEAD = 1 + LATE  # steps: that which a worker is at, while what came of the one before is combined, and the next
_NOTHING: list[list[int]] = [[]] * _AHEAD  # to exchange: only to receive what is under way


Parcel = tuple[Sequence[int], Any]
"""The numbers of blocks, and a reference to what they are after an exchange."""


@dataclass(frozen=True)
class _Milestone:
    """A moment at which all replicas were the same: where training goes back to."""

    stretch: int
    round: int
    blocks: Sequence[Parcel]
    """All of them."""


class Workers:
    """Those that train a model, from its creation to the end of training."""

    def __init__(self, model: Model, text: ShardedCorpus, options: Options, threads: int) -> None:
        self.ray = require_extra("ray", "distributed")
        self.size, self.threads = options.workers, options.workers * threads
        per_stretch = text.tokens / text.chunks
        words = min(options.round_words, text.tokens / _ROUNDS / self.size)
        self.stretches = max(threads, int(words / per_stretch))
        """That a worker trains in a round."""
        alone = min(options.warmup_words, _ALONE * text.tokens * model.config.training.epochs)
        self.alone = round(alone / per_stretch) if self.size > 1 else 0
        """The stretches that are trained before all workers take part."""
        self.round_words = self.size * self.stretches * per_stretch
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
        self.milestone = _Milestone(model.state.blocks_done if model.state else 0, 0, blocks)
        self._asked: deque[tuple[list[Any], Sequence[int]]] = deque()
        """Steps that workers have not ended, as far as is known: references to what came of each, and its blocks."""
        self._under_way: deque[Sequence[Parcel]] = deque()
        """What each of the last steps handed over, to be received in the one after the next."""
        self._ended: list[Step] = []
        self._exchanges = 0
        """Counted over all that was begun, so that those of steps before a death are told apart."""
        self._combined: list[Any] = [None] * self.size
        """References to the end of what each worker combines."""
        self._last_end = 0.0
        blueprint = Blueprint(model.config, model.vocabulary, model.rows, text, self.plan, threads, options.combine)
        self._blueprint = self.ray.put(blueprint)
        self._actor = self.ray.remote(num_cpus=threads, concurrency_groups={_COMBINING: 1})(Worker)
        self.actors: list[Any] = []
        self.ray.wait(self._start(range(self.size)), num_returns=self.size)  # none of which is time of training

    def start(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> TrainingJob:
        return Rounds(self, first, end, held_out, interrupted)

    @property
    def cluster(self) -> ClusterReport:
        others = self.round_words * (self.size - 1) / self.size
        periods = [block.period for block in self.plan.blocks]
        staleness = round(others * (min(periods) + LATE)), round(others * (max(periods) + LATE))
        return ClusterReport(self.size, self.round, self.bytes_sent, self.seconds_waited, staleness, self.replaced)

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self._training_tables.export()

    # ---- rounds -------------------------------------------------------------------------------------------------

    def share_out(self, first: int, end: int, held_out: bool) -> list[int]:
        """Which of the stretches ``first`` to ``end - 1`` each worker trains or scores in the next round, as bounds."""
        if first < self.alone and not held_out:
            return [first, *[min(end, self.alone, first + self.stretches)] * self.size]
        end = min(end, first + self.size * self.stretches)
        return [first + (end - first) * i // self.size for i in range(self.size + 1)]

    def train(self, bounds: Sequence[int]) -> list[Step]:
        """Begin a round: worker i trains stretches bounds[i] to bounds[i + 1] - 1, and what is due is exchanged.

        Returns what has ended meanwhile.
        """
        self._depart()
        self.round += 1
        is_milestone = self.round % LONGEST == 0
        is_shared = bounds[-1] > self.alone and self.size > 1  # else there is nobody to exchange anything with
        due = self.plan.all() if is_milestone else [self.plan.due(self.round) if is_shared else []]
        blocks = [*self._ask(bounds, due[0]), *self._exchange(due[1:])]
        if is_milestone:
            self._reach_milestone(bounds[-1], blocks)
        if bounds[-1] == self.alone:  # the others begin with all that has changed much
            self._exchange([*self.plan.within(self.alone / self.stretches / self.size), *_NOTHING])
        return self._take()

    def score(self, bounds: Sequence[int]) -> list[Step]:
        """Begin with the loss over the lines held out; returns what has ended meanwhile."""
        self._depart()
        self._ask(bounds, [], held_out=True)
        return self._take()

    def finish(self) -> list[Step]:
        """Wait until workers have ended all that they were asked for."""
        while self._asked:
            self._await()
        return self._take()

    def settle(self, stretch: int) -> None:
        """Make all replicas the same, and the model of this process too."""
        self._training_tables.take()
        with ThreadPoolExecutor() as pool:  # blocks are written while others are exchanged
            writing: list[Future[None]] = []
            if self.milestone.round == self.round:
                writing += [pool.submit(self._write, parcel) for parcel in self.milestone.blocks]
            else:
                blocks: list[Parcel] = []
                for group in self.plan.all():
                    parcels = self._exchange([group])
                    writing += [pool.submit(self._write, parcel) for parcel in parcels]
                    blocks += parcels
                self._reach_milestone(stretch, blocks)
            for each in writing:
                each.result()
        self._training_tables.export()

    def _write(self, parcel: Parcel) -> None:
        for number, values in zip(parcel[0], self.ray.get(parcel[1]), strict=True):
            self.plan.blocks[number].write(self._tables, values)

    def _exchange(self, groups: Sequence[Sequence[int]]) -> list[Parcel]:
        return [parcel for group in groups for parcel in self._ask([0] * (self.size + 1), group)]

    def _ask(self, bounds: Sequence[int], blocks: Sequence[int], held_out: bool = False) -> Sequence[Parcel]:
        """For a step of every worker: receive, train, hand over blocks to their owners, who combine what all did."""
        if not self._asked:
            self._last_end = time.monotonic()
        elif len(self._asked) == _AHEAD:
            self._await()
        received = self._under_way.popleft() if len(self._under_way) == _AHEAD else ()
        owners = sorted({self.plan.owner(number) for number in blocks})
        wanted = {owner: [number for number in blocks if self.plan.owner(number) == owner] for owner in owners}
        self._exchanges += 1
        steps: list[Any] = []
        changes: dict[int, list[Any]] = {owner: [] for owner in owners}
        for i, actor in enumerate(self.actors):
            others = [owner for owner in owners if owner != i]
            step = actor.step.options(num_returns=1 + len(others))
            result = step.remote(bounds[i], bounds[i + 1], held_out, self._exchanges, wanted, *_spread(received))
            first, *rest = result if others else [result]
            steps.append(first)
            for owner, reference in zip(others, rest, strict=True):
                changes[owner].append(reference)
        self._asked.append((steps, blocks))
        parcels = []
        for owner, numbers in wanted.items():
            combine = self.actors[owner].combine.options(num_returns=2, concurrency_group=_COMBINING)
            self._combined[owner], values = combine.remote(
                self._exchanges, numbers, self._combined[owner], steps[owner], *changes[owner]
            )
            parcels.append((numbers, values))
        self._under_way.append(parcels)
        return tuple(parcels)

    def _await(self) -> None:
        """The end of the step that was asked for first."""
        results, blocks = self._asked.popleft()
        steps: list[Step] = self.ray.get(results)
        self.bytes_sent += sum(step.sent for step in steps)  # to the owners, who send all others what they make of it
        self.bytes_sent += (self.size - 1) * sum(self.plan.blocks[number].bytes for number in blocks)
        now = time.monotonic()
        self.seconds_waited += now - self._last_end - sum(step.seconds for step in steps) / self.size
        self._last_end = now
        self._ended += steps

    def _take(self) -> list[Step]:
        ended, self._ended = self._ended, []
        return ended

    def _reach_milestone(self, stretch: int, blocks: list[Parcel]) -> None:
        while self._asked:
            self._await()
        self.ray.get([actor.keep.remote(*(reference for _, reference in blocks)) for actor in self.actors])
        self.milestone = _Milestone(stretch, self.round, blocks)
        self.deaths = 0

    def _depart(self) -> None:
        """From a milestone if there is one here: from what training would go back to."""
        if self.round == self.milestone.round and any(self._under_way):
            self._exchange(_NOTHING)

    # ---- workers that die ---------------------------------------------------------------------------------------

    def recover(self, error: Exception) -> None:
        """Replace the workers that have died and go back to the last milestone; raises if none has."""
        dead = [i for i, actor in enumerate(self.actors) if not self._is_alive(actor)]
        if not dead:
            raise failure(error) from error
        self.deaths += len(dead)
        if self.deaths > _DEATHS:
            raise PosvecError(
                f"{self.deaths} workers died one after the other ({reason(error)}); give them more memory, or "
                f"lower --workers, and go on with posvec resume --cluster"
            ) from error
        self.replaced += len(dead)
        self.round = self.milestone.round
        self._combined = [None] * self.size
        self._asked.clear()
        self._under_way.clear()
        self._ended.clear()
        self._start(dead)

    def _is_alive(self, actor: Any) -> bool:
        try:
            self.ray.get(actor.process_id.remote())
        except self.ray.exceptions.RayError:
            return False
        return True

    def _start(self, places: Sequence[int]) -> list[Any]:
        """Returns references to what ends when all replicas are as they were at the milestone."""
        started = {place: self._actor.remote(place, self._blueprint) for place in places}
        self.actors = [started.get(i) or self.actors[i] for i in range(self.size)]
        try:
            self.ray.get([actor.process_id.remote() for actor in started.values()], timeout=_START_SECONDS)
        except self.ray.exceptions.GetTimeoutError as error:
            raise PosvecError(
                f"the cluster had no room for {len(started)} more of {self.size} workers within "
                f"{_START_SECONDS / 60:.0f} minutes; add nodes, or lower --workers or --threads"
            ) from error
        except self.ray.exceptions.RayError as error:
            raise failure(error) from error
        return [actor.start.remote(*_spread(self.milestone.blocks)) for actor in self.actors]


def _spread(parcels: Sequence[Parcel]) -> list[Any]:
    """As arguments: the numbers of all, and each reference for itself, which Ray replaces by what it refers to."""
    return [[numbers for numbers, _ in parcels], *(reference for _, reference in parcels)]


class Rounds(TrainingJob):
    """Workers that train in rounds. No worker trains beyond the round that it was asked for."""

    def __init__(self, workers: Workers, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> None:
        super().__init__(first, end, held_out, interrupted)
        self._workers, self._first = workers, first
        self._since: list[ChunkResult] = []  # the last milestone, or the beginning

    def results(self) -> Iterator[ChunkResult]:
        """What came of rounds; negative, what was lost with a worker and is done again. Settles at the end."""
        is_done = False
        while not is_done:
            try:
                is_done = self._is_over
                steps = self._workers.finish() if is_done else self._round()
                if is_done and not self.held_out:
                    self._workers.settle(self.next)
            except self._workers.ray.exceptions.RayError as error:
                self._workers.recover(error)
                self.next = self._first if self.held_out else self._workers.milestone.stretch
                lost, self._since, is_done = self._since, [], False
                yield total([ChunkResult(-words, -masked, -loss) for words, masked, loss in lost])
            else:
                if steps:
                    self._since.append(total([ChunkResult(step.words, step.masked_words, step.loss) for step in steps]))
                    yield self._since[-1]
                if not self.held_out and self._workers.milestone.stretch == self.next:
                    self._since = []

    def _round(self) -> list[Step]:
        bounds = self._workers.share_out(self.next, self.end, self.held_out)
        steps = self._workers.score(bounds) if self.held_out else self._workers.train(bounds)
        self.next = bounds[-1]
        return steps
