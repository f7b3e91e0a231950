"""Training for a given time: how many epochs fit is measured while the model is trained."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from posvec.automatic import automatic_settings
from posvec.config import Config

MOST_EPOCHS = 3
"""How many times as many epochs are trained at most as suit the size of the corpus, however much time there is."""

_FIRST_PLAN = 0.03  # of the time for training, after which the speed of training is known
_PLANS = 100  # the number of times that the number of epochs is corrected until the end
_MARGIN = 0.01  # of the whole time, for what cannot be foreseen
_SAVED_PER_SECOND = 300e6  # bytes of a model


class TimeBudget:
    """The time that training may take, from which the number of epochs follows.

    The number is the largest allowed one until the speed of training has been measured, and is then corrected all the
    time. The learning rate therefore begins to fall when it has been measured, and reaches its end with the time,
    whatever else the machine does.

    Parameters
    ----------
    seconds
        The whole time.
    started
        When the time began, by :func:`time.monotonic`.
    words
        The number of words of the corpus.
    size
        The bytes to save at the end.
    announce
        Called with the configuration when the number of epochs is known.
    """

    def __init__(
        self, seconds: float, started: float, words: int, size: int, announce: Callable[[Config], None]
    ) -> None:
        self._seconds, self._end = seconds, started + (1 - _MARGIN) * seconds
        self._announce = announce
        self.most = MOST_EPOCHS * int(automatic_settings(words)["epochs"])
        """The largest number of epochs."""
        self._saving = size / _SAVED_PER_SECOND
        self._begun = self._planned = monotonic()
        self._is_announced = False

    @property
    def seconds_left(self) -> float:
        """The seconds that are left for training."""
        return self._end - self._saving - monotonic()

    def reserve(self, seconds: float) -> None:
        """Leave time to save the model, which has taken so many seconds before."""
        self._saving = max(seconds, self._saving)

    def begin(self, config: Config) -> Config:
        """Return the configuration with which training begins."""
        self._begun = self._planned = monotonic()
        return config.replace(epochs=self.most, last_epoch=1.0)

    def is_due(self) -> bool:
        """Whether the number of epochs should be corrected now."""
        now = monotonic()
        if not self._is_announced:
            return now - self._begun > _FIRST_PLAN * (self._end - self._begun)
        return now - self._planned > (self._end - self._begun) / _PLANS

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
        speed = done / max(self._planned - self._begun, 1e-9)
        fits = done + speed * max(0.0, self.seconds_left) - config.training.validation  # at the end of the last epoch
        total = min(max(round(fits * chunks), begun, 1), max(self.most * chunks, begun))
        epochs = -(-total // chunks)
        config = config.replace(epochs=epochs, last_epoch=total / chunks - (epochs - 1))
        self.announce(config)
        return config

    def announce(self, config: Config) -> None:
        """Say what was chosen, once."""
        if not self._is_announced:
            self._is_announced = True
            self._announce(config)
