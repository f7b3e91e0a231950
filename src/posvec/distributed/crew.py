"""Training by the workers of a cluster, in rounds: local stochastic gradient descent.

At first a single worker trains: a new model moves as a whole, and what several workers do to it then adds up to far
too much. In every round after that, each trains its share of the next stretches on its own replica. Then the blocks
that are due are exchanged: each worker hands over what it did to their rows, the owner of a block combines that into
new values, and all workers receive these. After the rounds in which all blocks are due, and whenever training pauses,
all replicas are the same: a milestone. When a worker dies, another one takes its place, all go back to the last
milestone, and what was trained since is trained again. With one thread for each worker the result is, byte for byte,
that of a run in which nobody died.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from posvec.distributed.failures import failure, reason
from posvec.distributed.options import Options
from posvec.distributed.plan import make_plan
from posvec.distributed.text import ShardedCorpus
from posvec.distributed.worker import Blueprint, Step, Worker
from posvec.errors import PosvecError
from posvec.extras import need
from posvec.model import Model
from posvec.reports import ClusterReport
from posvec.stretches import Result, Work, total

_ROUNDS = 50  # of an epoch at least, however short the text
_ALONE = 0.05  # of all training at most is that of a single worker
_DEATHS = 5  # without a milestone in between, after which there is no point in going on
_START_SECONDS = 300.0


@dataclass(frozen=True)
class _Milestone:
    """A moment at which all replicas were the same: where training goes back to."""

    stretch: int
    round: int
    blocks: dict[int, Any]
    """References to the values of each block."""


class Workers:
    """Those that train a model, from its creation to the end of training."""

    def __init__(self, model: Model, text: ShardedCorpus, options: Options, threads: int) -> None:
        self.ray = need("ray", "distributed")
        self.model, self.size, self.threads = model, options.workers, options.workers * threads
        per_stretch = text.tokens / text.stretches
        words = min(options.sync_words, text.tokens / _ROUNDS)
        self.stretches = max(threads, round(words / self.size / per_stretch))
        """That a worker trains in a round."""
        alone = min(options.warmup_words, _ALONE * text.tokens * model.config.training.epochs)
        self.alone = round(alone / per_stretch) if self.size > 1 else 0
        """The stretches that are trained before all workers take part."""
        self.round_words = self.size * self.stretches * per_stretch
        self.plan = make_plan(model, self.round_words, options.sync_updates, self.size)
        self.round = self.replaced = self.deaths = self.bytes_sent = 0
        self.seconds_waited = 0.0
        self.blocks = {i: self.ray.put(block.read(model)) for i, block in enumerate(self.plan.blocks)}
        self.undelivered = dict(self.blocks)
        self.milestone = _Milestone(model.state.blocks_done if model.state else 0, 0, dict(self.blocks))
        blueprint = Blueprint(model.config, model.vocabulary, model.rows, text, self.plan, threads, options.combine)
        self._blueprint = self.ray.put(blueprint)
        self._actor = self.ray.remote(num_cpus=threads)(Worker)
        self.actors: list[Any] = []
        self._start(range(self.size))

    def work(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> Work:
        return Rounds(self, first, end, held_out, interrupted)

    @property
    def cluster(self) -> ClusterReport:
        others = self.round_words * (self.size - 1) / self.size
        periods = [block.period for block in self.plan.blocks]
        staleness = round(others * min(periods)), round(others * max(periods))
        return ClusterReport(self.size, self.round, self.bytes_sent, self.seconds_waited, staleness, self.replaced)

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)

    # ---- rounds -------------------------------------------------------------------------------------------------

    def train(self, bounds: Sequence[int]) -> list[Step]:
        """One round: worker i trains stretches bounds[i] to bounds[i + 1] - 1, and what is due is exchanged."""
        started = time.monotonic()
        if bounds[-1] <= self.alone:
            due = self.plan.all() if bounds[-1] == self.alone else []
        else:
            due = self.plan.due(self.round + 1)
        is_milestone = sum(map(len, due)) == len(self.plan.blocks)
        if self.size == 1 and not is_milestone:
            due = []  # nobody to exchange anything with
        steps = self._step(bounds, due[0] if due else [])
        self.round += 1
        self._exchange(due[1:])
        if is_milestone:
            self._reach_milestone(bounds[-1])
        self.seconds_waited += time.monotonic() - started - sum(step.seconds for step in steps) / self.size
        return steps

    def share_out(self, first: int, end: int, held_out: bool) -> list[int]:
        """Which of the stretches ``first`` to ``end - 1`` each worker trains or scores in the next round, as bounds."""
        if first < self.alone and not held_out:
            return [first, *[min(end, self.alone, first + self.stretches)] * self.size]
        end = min(end, first + self.size * self.stretches)
        return [first + (end - first) * i // self.size for i in range(self.size + 1)]

    def score(self, bounds: Sequence[int]) -> list[Step]:
        """The loss over the lines held out."""
        return self._step(bounds, [], held_out=True)

    def settle(self, stretch: int) -> None:
        """Make all replicas the same, and the model of this process too."""
        if self.milestone.round != self.round:
            self._exchange(self.plan.all())
            self._reach_milestone(stretch)
        for block, values in zip(self.plan.blocks, self.ray.get([*self.blocks.values()]), strict=True):
            block.write(self.model, values)

    def _exchange(self, groups: Sequence[Sequence[int]]) -> None:
        for group in groups:
            self._step([0] * (self.size + 1), group)

    def _step(self, bounds: Sequence[int], wanted: Sequence[int], held_out: bool = False) -> list[Step]:
        """Deliver, train, and begin to combine the blocks that are wanted; the next step delivers them."""
        received = list(self.undelivered)
        results = [
            actor.step.options(num_returns=1 + len(wanted)).remote(
                bounds[i], bounds[i + 1], held_out, wanted, received, *self.undelivered.values()
            )
            for i, actor in enumerate(self.actors)
        ]
        if not wanted:
            results = [[result] for result in results]
        self.undelivered = {
            number: self.actors[number % self.size].combine.remote(number, *(result[1 + i] for result in results))
            for i, number in enumerate(wanted)
        }
        self.blocks |= self.undelivered
        steps: list[Step] = self.ray.get([result[0] for result in results])
        for i, number in enumerate(wanted):  # changes go to the block's owner, and what it makes of them to all others
            self.bytes_sent += sum(step.sizes[i] for k, step in enumerate(steps) if k != number % self.size)
            self.bytes_sent += (self.size - 1) * self.plan.blocks[number].bytes
        return steps

    def _reach_milestone(self, stretch: int) -> None:
        self._step([0] * (self.size + 1), [])
        self.ray.get([actor.keep.remote() for actor in self.actors])
        self.milestone = _Milestone(stretch, self.round, dict(self.blocks))
        self.deaths = 0

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
        self._start(dead)
        self.round = self.milestone.round
        self.blocks = dict(self.milestone.blocks)
        self.undelivered = dict(self.blocks)

    def _is_alive(self, actor: Any) -> bool:
        try:
            self.ray.get(actor.process_id.remote())
        except self.ray.exceptions.RayError:
            return False
        return True

    def _start(self, places: Sequence[int]) -> None:
        started = {place: self._actor.remote(self._blueprint) for place in places}
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


class Rounds(Work):
    """Workers that train in rounds. No worker trains beyond the round that it was asked for."""

    def __init__(self, workers: Workers, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> None:
        super().__init__(first, end, held_out, interrupted)
        self._workers = workers
        self._since: list[Result] = []  # the last milestone

    def results(self) -> Iterator[Result]:
        """What each round gave; negative, what was lost with a worker and is trained again. Settles at the end."""
        while True:
            try:
                if not self._is_over:
                    result = self._round()
                    yield result
                elif self.held_out:
                    return
                else:
                    self._workers.settle(self.next)
                    return
            except self._workers.ray.exceptions.RayError as error:
                self._workers.recover(error)
                if not self.held_out:
                    self.next = self._workers.milestone.stretch
                    yield total([(-words, -masked, -loss) for words, masked, loss in self._since])
                    self._since = []

    def _round(self) -> Result:
        workers = self._workers
        bounds = workers.share_out(self.next, self.end, self.held_out)
        steps = workers.score(bounds) if self.held_out else workers.train(bounds)
        result = total([(step.words, step.masked_words, step.loss) for step in steps])
        self.next = bounds[-1]
        self._since = [] if workers.milestone.stretch == self.next else [*self._since, result]
        return result
