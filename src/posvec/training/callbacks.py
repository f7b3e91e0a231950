"""Callbacks: functions of the user that training calls while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from posvec.storage.records import TrainingProgress


class Callback(Protocol):
    """Receives the progress of training, in the thread that called ``train``.

    Raise :class:`StopTraining` in a method to end training early.

    Examples
    --------
    >>> import posvec
    >>> class Losses:
    ...     def __init__(self):
    ...         self.values = []
    ...     def on_chunk(self, progress):
    ...         pass
    ...     def on_epoch(self, progress):
    ...         self.values.append(progress.loss)
    >>> losses = Losses()
    >>> model = posvec.train("corpus.txt", dim=32, epochs=2, threads=1, callbacks=[losses])
    >>> len(losses.values)
    2
    """

    def on_chunk(self, progress: TrainingProgress) -> None:
        """Receive the progress after a chunk of lines."""

    def on_epoch(self, progress: TrainingProgress) -> None:
        """Receive the progress after an epoch."""


class StopTraining(Exception):
    """Raised by a callback to end training; the model keeps what it has learnt.

    Examples
    --------
    >>> import posvec
    >>> class FirstEpoch:
    ...     def on_chunk(self, progress):
    ...         pass
    ...     def on_epoch(self, progress):
    ...         raise posvec.StopTraining
    >>> model = posvec.train("corpus.txt", dim=32, epochs=2, threads=1, callbacks=[FirstEpoch()])
    >>> model.report.stopped_early
    True
    """


class CallbackList:
    """Calls several callbacks in order."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        callbacks = list(callbacks)
        self._on_chunk = [_chunk_method(callback) for callback in callbacks]
        self._on_epoch = [callback.on_epoch for callback in callbacks]
        shown = [getattr(callback, "warn", None) or getattr(callback, "note", None) for callback in callbacks]
        self._warn = [show for show in shown if show]

    def on_chunk(self, progress: TrainingProgress) -> None:
        for call in self._on_chunk:
            call(progress)

    def on_epoch(self, progress: TrainingProgress) -> None:
        for call in self._on_epoch:
            call(progress)

    def warn(self, text: str) -> None:
        """Tell the user of something unexpected, by the callbacks that are displays."""
        for show in self._warn:
            show(text)


def _chunk_method(callback: Any) -> Callable[[TrainingProgress], None]:
    # Compat: on_chunk was called on_block in 0.1.0.
    method: Callable[[TrainingProgress], None] = getattr(callback, "on_chunk", None) or callback.on_block
    return method
