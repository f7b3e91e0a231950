"""A Ray cluster as a backend of training, and the connection to it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

from posvec.config import Config
from posvec.corpus.sources import Corpus, ProgressCallback
from posvec.distributed.corpus import ShardedCorpus, count, encode
from posvec.distributed.failures import failure, reason
from posvec.distributed.options import Options
from posvec.distributed.worker_pool import WorkerPool
from posvec.errors import PosvecError
from posvec.model import Model
from posvec.system.extras import require_extra
from posvec.system.threads import thread_count
from posvec.vocabulary import Vocabulary

_CONNECT_TIMEOUT = 10.0
_MAX_PARTS = 64  # tasks that merge counts, whatever the number of processors


class ClusterBackend:
    """Counts, encodes and trains on the nodes of a Ray cluster; needs a connection, see :func:`connected`."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._ray = require_extra("ray", "distributed")

    def count(self, corpus: Corpus, config: Config, progress: ProgressCallback | None) -> Vocabulary:
        with self._failures():
            return count(corpus, config.vocabulary, self._parallel(), progress)

    def encode(
        self, corpus: Corpus, vocabulary: Vocabulary, config: Config, progress: ProgressCallback | None
    ) -> ShardedCorpus:
        with self._failures():
            return encode(corpus, vocabulary, self._parallel(), progress)

    @contextlib.contextmanager
    def executor(self, model: Model, corpus: ShardedCorpus) -> Iterator[WorkerPool]:
        workers = WorkerPool(model, corpus, self.options, self.threads(model.config.training.threads))
        try:
            yield workers
        finally:
            workers.close()

    def _parallel(self) -> int:
        return min(_MAX_PARTS, self._processors())

    def _processors(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def threads(self, wanted: int) -> int:
        """Return the number of threads of each worker; 0 divides the processors between the workers."""
        processors, workers = self._processors(), self.options.workers
        threads = wanted or max(1, processors // workers)
        if workers * threads > processors:
            raise PosvecError(
                f"the cluster has {processors} processors, and {workers} workers of {threads} threads need "
                f"{workers * threads}; lower --workers or --threads, or add nodes"
            )
        return threads

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except self._ray.exceptions.RayError as error:
            raise failure(error) from error


@contextlib.contextmanager
def connected(address: str, options: Options, threads: object = None) -> Iterator[None]:
    """Connect to the cluster at an address, and disconnect at the end unless this process was connected before.

    ``auto`` is the cluster of which this machine is a node. If there is none, a cluster is started on this machine,
    with room for all workers even if they outnumber the cores. ``local`` always starts one.
    """
    if "usearch" in sys.modules and "ray" not in sys.modules:  # their C++ libraries conflict: Ray would abort
        raise PosvecError(
            "Ray cannot start in a process that has opened an approximate index; train in another process, or import "
            "ray before you open the index"
        )
    ray = require_extra("ray", "distributed")
    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # suppresses a warning about a future change
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # errors of tasks whose arguments were lost with a worker
    try:
        if address == "local" or (address == "auto" and not _is_running(ray, quiet)):
            per_worker = threads if isinstance(threads, int) and threads > 0 else 1
            processors = max(options.workers * per_worker, thread_count(0))
            ray.init(address="local", num_cpus=processors, include_dashboard=False, **quiet)
        elif address != "auto":
            _check_address(address)
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, OSError, ray.exceptions.RayError) as error:
        raise PosvecError(
            f"no Ray cluster answers at {address} ({reason(error)}); start one with ray start --head and give its "
            f"address, or use --cluster auto for one on this machine"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _is_running(ray: Any, quiet: dict[str, Any]) -> bool:
    try:
        ray.init(address="auto", **quiet)
    except ConnectionError:
        return False
    return True


def _check_address(address: str) -> None:
    """Raise OSError or ValueError if nothing answers at host:port; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("an address is host:port, for example 10.0.0.1:6379")
    socket.create_connection((host, int(port)), _CONNECT_TIMEOUT).close()
