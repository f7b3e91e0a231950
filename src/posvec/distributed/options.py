"""How workers share the training of a model: the flags that ``--cluster`` brings."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from posvec.config import check_bounds, setting, settings_of

_FEWEST = 64  # updates: sooner, most of the model would be exchanged all the time


@dataclass(frozen=True)
class Options:
    """Each was settled by measurement: benchmarks/JOURNAL.md."""

    workers: int = setting(2, "processes that train, each on a replica of the model, with --threads threads each")
    sync_words: int = setting(
        300_000,
        "words that each of two workers trains between exchanges of the rows that change most; each of more workers "
        "trains fewer, by the square of the number of others, at least a stretch of 20,000 for each of its threads",
    )
    sync_updates: int = setting(
        1024,
        "a row that changes less is exchanged when two workers together have updated it about so many times; fewer "
        "where there are more workers, likewise, but no fewer than 64",
    )
    warmup_words: int = setting(
        1_000_000, "words that one worker trains alone at the beginning, but no more than 5 % of all training"
    )
    combine: Literal["steady", "sum", "mean", "touched", "agreement"] = setting(
        "steady",
        "a row moves by the sum of the workers' changes; their mean; their mean over the workers that touched it; "
        "their sum where they are at right angles and their mean where they agree (agreement); steady: their sum, but "
        "by agreement along the direction that rows updated more than sync_updates times between exchanges all take",
    )

    @property
    def round_words(self) -> float:
        """That each worker trains between exchanges."""
        return self.sync_words / self._haste

    @property
    def row_updates(self) -> float:
        """By all workers, after which a row is exchanged."""
        return max(self.sync_updates / self._haste, min(self.sync_updates, _FEWEST))

    @property
    def _haste(self) -> float:
        """The more workers, the sooner the sum of what they do to a row goes too far."""
        return max(1, self.workers - 1) ** 2


SETTINGS = {each.name: each for each in settings_of({"cluster": Options})}


def make_options(**settings: Any) -> Options:
    """Options, some of them changed; all are checked."""
    options = dataclasses.replace(Options(), **{name: SETTINGS[name].check(each) for name, each in settings.items()})
    check_bounds("workers", options.workers, 1, 10_000)
    check_bounds("sync_words", options.sync_words, 1, float("inf"))
    check_bounds("sync_updates", options.sync_updates, 1, float("inf"))
    check_bounds("warmup_words", options.warmup_words, 0, float("inf"))
    return options
