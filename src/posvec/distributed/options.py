"""The settings of training on a cluster, which are flags of commands with ``--cluster``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from posvec.config import setting, settings_of

_MIN_UPDATES = 64  # with fewer, most of the model would be exchanged all the time


@dataclass(frozen=True)
class Options:
    """The settings of training on a cluster; the defaults were chosen by measurement (benchmarks/JOURNAL.md).

    Examples
    --------
    >>> from posvec.distributed import Options
    >>> Options(workers=3).round_words
    75000.0
    """

    workers: int = setting(
        2, "processes that train, each on a replica of the model, with --threads threads each", 1, 10_000
    )
    sync_words: int = setting(
        300_000,
        "words that each of two workers trains between exchanges of the rows that change most; with more workers, each "
        "trains fewer words, divided by the square of the number of other workers, but at least 20,000 per thread",
        1,
    )
    sync_updates: int = setting(
        1024,
        "other rows are exchanged when two workers together have updated them about this many times; with more "
        "workers, fewer times, divided in the same way, but at least 64",
        1,
    )
    warmup_words: int = setting(
        1_000_000, "words that one worker trains alone at the beginning, but at most 5 % of all training", 0
    )
    combine: Literal["steady", "sum", "mean", "touched", "agreement"] = setting(
        "steady",
        "how the workers' changes of a row are combined: their sum; their mean; their mean over the workers that "
        "changed it (touched); their sum where they are orthogonal and their mean where they agree (agreement); "
        "steady: their sum, but agreement along the common direction of rows that are updated more than sync_updates "
        "times between exchanges",
    )

    @property
    def round_words(self) -> float:
        """Words that each worker trains between exchanges."""
        return self.sync_words / self._sync_divisor

    @property
    def row_updates(self) -> float:
        """Updates by all workers after which a row is exchanged."""
        return max(self.sync_updates / self._sync_divisor, min(self.sync_updates, _MIN_UPDATES))

    @property
    def _sync_divisor(self) -> float:
        """With more workers, the sum of their changes overshoots sooner, so that they must exchange more often."""
        return max(1, self.workers - 1) ** 2


SETTINGS = {each.name: each for each in settings_of({"cluster": Options})}


def make_options(**settings: Any) -> Options:
    """Return the settings with some of them changed; raise ConfigError if one is not allowed."""
    options = dataclasses.replace(Options(), **{name: SETTINGS[name].check(each) for name, each in settings.items()})
    for each in SETTINGS.values():
        each.check_bounds(getattr(options, each.name))
    return options
