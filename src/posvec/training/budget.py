"""Training for a given time: how many epochs fit is measured while the model is trained."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from posvec.automatic import automatic_settings
from posvec.config import Config

MOST_EPOCHS = 3
"""How many times as many epochs are trained at most as suit the size of the corpus, however much time there is."""

_PLANS = 100  # the number of times that the number of epochs is corrected until the end
_FIRST_PLAN = 4  # hundredths of the time, after which the speed of training is known


class TimeBudget:
    """The time that training may take, from which the number of epochs follows.

    The number is the largest allowed one until the speed of training has been measured, and is then corrected all the
    time. The learning rate therefore begins to fall when it has been measured, and reaches its end with the time,
    whatever else the machine does.

    Parameters
    ----------
    seconds
        The time that is left, for training and for saving the model.
    saving
        How many of these seconds are needed to save the model.
    words
        The number of words of the corpus.
    announce
        Called with the configuration when the number of epochs is known.
    """

    def __init__(self, seconds: float, saving: float, words: int, announce: Callable[[Config], None]) -> None:
        self._end, self._saving, self._announce = monotonic() + seconds, saving, announce
        self.most = MOST_EPOCHS * int(automatic_settings(words)["epochs"])
        """The largest number of epochs."""
        self._begun = self._planned = monotonic()
        self._interval = (seconds - saving) / _PLANS
        self._done_before: float | None = None
        self._is_announced = False

    def begin(self, config: Config) -> Config:
        """Return the configuration with which training begins."""
        return config.replace(epochs=self.most, last_epoch=1.0)

    def reserve(self, seconds: float) -> None:
        """Leave time to save the model, which has taken so many seconds before."""
        self._saving = max(seconds, self._saving)

    def is_due(self, done: float) -> bool:
        """Whether the number of epochs should be corrected now, after so many have been trained."""
        now = monotonic()
        if self._done_before is None:  # the first chunk is slower than others
            self._done_before, self._begun, self._planned = done, now, now
        return now - self._planned > self._interval * (1 if self._is_announced else _FIRST_PLAN)

    def plan(self, config: Config, chunks: int, begun: int, done: float) -> Config:
        """Return the configuration with the number of epochs that fit into the time.

        Parameters
        ----------
        config
            The present configuration.
        chunks
            The number of chunks of the corpus.
        begun
            How many chunks have been begun, over all epochs; so many are trained in any case.
        done
            How many epochs have been trained so far.
        """
        self._planned = monotonic()
        speed = (done - (self._done_before or 0.0)) / max(self._planned - self._begun, 1e-9)
        left = max(0.0, self._end - self._saving - self._planned)
        more = speed * left - config.training.validation  # of the last epoch, after it
        # Counted from the chunks that have been begun, not from the epochs that have been trained: these are measured
        # in words, of which chunks and held-out lines do not have the same number, so that training would not end.
        total = max(min(begun + max(0, round(more * chunks)), self.most * chunks), begun, 1)
        epochs = -(-total // chunks)
        config = config.replace(epochs=epochs, last_epoch=total / chunks - (epochs - 1))
        self.announce(config)
        return config

    def announce(self, config: Config) -> None:
        """Say what was chosen, once."""
        if not self._is_announced:
            self._is_announced = True
            self._announce(config)
