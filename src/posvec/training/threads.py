"""Training by threads of this process, without locks on the parameters (HogWild)."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from posvec import _kernel
from posvec.model import Model
from posvec.system.threads import cannot_start_thread, thread_count
from posvec.training.chunks import ChunkedCorpus
from posvec.training.executor import ChunkResult, TrainingJob
from posvec.training.kernel import ChunkTrainer


class ThreadExecutor:
    """Runs training jobs on threads of this process."""

    cluster = None

    def __init__(self, model: Model, corpus: ChunkedCorpus) -> None:
        self.threads = thread_count(model.config.training.threads)
        self.trainer = ChunkTrainer(model, corpus, self.threads)

    def start(self, first: int, end: int, held_out: bool, interrupted: Callable[[], bool]) -> TrainingJob:
        return ThreadedJob(self.trainer, first, end, self.threads, held_out, interrupted)


class ThreadedJob(TrainingJob):
    """Threads that take the next chunk each until none is left."""

    def __init__(
        self,
        trainer: ChunkTrainer,
        first: int,
        end: int,
        threads: int,
        held_out: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(first, end, held_out, interrupted)
        self._trainer = trainer
        self._lock = threading.Lock()
        self._results: queue.SimpleQueue[ChunkResult | BaseException | None] = queue.SimpleQueue()
        self._running = threads
        self._threads = [threading.Thread(target=self._train_chunks) for _ in range(threads)]
        self._exports = trainer.tables.take()
        self._all_started = threading.Event()
        for number, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError as error:
                self._threads = self._threads[:number]
                self.close()
                raise cannot_start_thread(number, threads, error) from error
        self._all_started.set()

    def close(self) -> None:
        super().close()
        self._all_started.set()
        for thread in self._threads:
            thread.join()
        if self._exports:
            self._trainer.tables.export()

    def results(self) -> Iterator[ChunkResult]:
        while self._running:
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                self._running -= 1
            else:
                yield result

    def _train_chunks(self) -> None:
        self._all_started.wait()
        workspaces = self._trainer.workspaces
        try:
            workspace = workspaces.get_nowait()
        except queue.Empty:
            workspace = _kernel.Workspace()
        try:
            while (number := self._next_chunk()) is not None:
                self._results.put(self._trainer.train(number, workspace, self.held_out))
        except BaseException as error:
            self.stop()
            self._results.put(error)
        finally:
            workspaces.put(workspace)
            self._results.put(None)

    def _next_chunk(self) -> int | None:
        with self._lock:
            if self._is_over:
                return None
            self.next += 1
            return self.next - 1
