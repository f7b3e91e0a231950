"""Which rows of a model the workers exchange, and how often.

Between two exchanges, the replicas of a row drift apart with every update. So each row gets the longest period in which
all workers together are expected to update it at most a given number of times: 1, 4, 16, 64 or 256 rounds. Rows for
which even one round is too long are hot. Words and n-gram buckets are sorted by use, so that the rows of one period are
adjacent. They are cut into blocks, each of which is combined by one worker; the blocks of one period are exchanged in
different rounds, so that every round exchanges about the same amount.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posvec.model import Model
from posvec.system.arrays import RowArray
from posvec.training.tables import RowTables

RowRange = tuple[int, int, int]  # table, begin, end

_TIERS = ((1, True), (1, False), (4, False), (16, False), (64, False), (256, False))  # period in rounds, hot
LONGEST_PERIOD = _TIERS[-1][0]
_MAX_ROWS, _MIN_ROWS = 1 << 13, 1 << 8  # of a block: about 10 MB, and enough to amortize the overhead
_MAX_GROUP_ROWS = 1 << 15  # exchanged at once, so that exchanges in progress take little memory
DELAY = 1  # rounds until a worker receives the changes of others
_INPUT, _OUTPUT, _WORD_HEAD, _POSITIONAL = range(4)


@dataclass(frozen=True)
class RowBlock:
    """Rows of one table that are exchanged together, as ranges (table, begin, end)."""

    period: int
    """In rounds."""
    phase: int
    """The round of each period in which the block is exchanged."""
    hot: bool
    """Whether its rows are updated too often even in one round."""
    ranges: tuple[RowRange, ...]
    row_bytes: int

    @property
    def rows(self) -> int:
        return sum(end - begin for _, begin, end in self.ranges)

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes

    @property
    def slices(self) -> list[slice]:
        """The rows of the block that come from each range."""
        ends = list(itertools.accumulate((end - begin for _, begin, end in self.ranges), initial=0))
        return [slice(*bounds) for bounds in itertools.pairwise(ends)]

    def parts(self, tables: RowTables) -> Iterator[tuple[slice, RowArray]]:
        """Yield, for each range, the rows of the block as a slice, and these rows of the tables."""
        for rows, (table, begin, end) in zip(self.slices, self.ranges, strict=True):
            yield rows, tables[table][begin:end]

    def read(self, tables: RowTables) -> RowArray:
        return np.concatenate([rows for _, rows in self.parts(tables)])

    def write(self, tables: RowTables, values: RowArray) -> None:
        for rows, table_rows in self.parts(tables):
            table_rows[:] = values[rows]


@dataclass(frozen=True)
class ExchangePlan:
    """The row blocks of a model, by ascending period."""

    blocks: tuple[RowBlock, ...]
    workers: int

    def owner(self, number: int) -> int:
        """Return the worker that combines a block."""
        return number % self.workers

    def due(self, round_number: int) -> list[int]:
        """Return the numbers of the blocks to exchange after a round."""
        return [i for i, block in enumerate(self.blocks) if round_number % block.period == block.phase]

    def all(self) -> list[list[int]]:
        """Return the numbers of all blocks, in groups to exchange one after the other."""
        return self._groups(range(len(self.blocks)))

    def within(self, rounds: float) -> list[list[int]]:
        """Return the blocks whose period is at most so many rounds, and those of every round, in groups."""
        return self._groups([i for i, block in enumerate(self.blocks) if block.period <= max(1, rounds)])

    def _groups(self, numbers: list[int] | range) -> list[list[int]]:
        groups: list[list[int]] = []
        rows = _MAX_GROUP_ROWS
        for number in numbers:
            rows += self.blocks[number].rows
            if rows > _MAX_GROUP_ROWS:
                groups.append([])
                rows = self.blocks[number].rows
            groups[-1].append(number)
        return groups


def make_plan(model: Model, tables: RowTables, words_per_round: float, updates: float, workers: int) -> ExchangePlan:
    """Plan exchanges so that a row gets about ``updates`` updates in between, or more if its period is one round."""
    row_bytes = [table.shape[1] * table.itemsize for table in tables]
    blocks: list[RowBlock] = []
    if row_bytes[_POSITIONAL]:
        blocks.append(RowBlock(1, 0, True, ((_POSITIONAL, 0, len(tables[_POSITIONAL])),), row_bytes[_POSITIONAL]))
    ranges = _ranges(model, words_per_round, updates)
    for (period, hot), table in itertools.product(_TIERS, (_INPUT, _OUTPUT, _WORD_HEAD)):
        chosen = [each for tier, each in ranges if tier == (period, hot) and each[0] == table]
        for i, part in enumerate(_cut(chosen, period, workers)):
            blocks.append(RowBlock(period, i // workers % period, hot, part, row_bytes[table]))
    return ExchangePlan(tuple(blocks), workers)


def _ranges(model: Model, words_per_round: float, updates: float) -> list[tuple[tuple[int, bool], RowRange]]:
    """Divide all rows of the tables but the positional one into ranges of one tier each."""
    vocabulary, rows = model.vocabulary, model.rows
    masked = vocabulary.counts * vocabulary.keep_probabilities() / vocabulary.total_words  # per word of the text
    words = len(vocabulary)
    begins = rows.row_begin.astype(np.int64)
    context = np.bincount(rows.rows, np.repeat(masked, begins[1:] - begins[:-1]), rows.table_rows)
    negatives = vocabulary.negative_weights() * masked.sum() * model.config.training.negatives
    found = []
    for table, first, uses in (
        (_INPUT, 0, context[:words]),
        (_INPUT, words, context[words:]),
        (_OUTPUT, 0, masked + negatives),
        (_WORD_HEAD, 0, masked if model.config.model.word_dim else masked[:0]),
    ):
        # Rows of a model that was trained further may be out of order: each is treated as the busiest that follows.
        expected = np.maximum.accumulate(uses[::-1])[::-1] * words_per_round
        begin = 0
        for tier, following in itertools.zip_longest(_TIERS, _TIERS[1:]):
            end = int(np.count_nonzero(expected * (following[0] + DELAY) > updates)) if following else len(uses)
            if end > begin:
                found.append((tier, (table, first + begin, first + end)))
            begin = max(begin, end)
    return found


def _cut(ranges: list[RowRange], period: int, workers: int) -> list[tuple[RowRange, ...]]:
    """Cut ranges into parts of about the same size: as many for each worker and, if possible, for each round."""
    total = sum(end - begin for _, begin, end in ranges)
    number = workers * max(-(-total // (workers * _MAX_ROWS)), min(period, -(-total // (workers * _MIN_ROWS))))
    bounds = [total * i // max(number, 1) for i in range(number + 1)]
    parts = []
    for low, high in itertools.pairwise(bounds):
        part, before = [], 0
        for table, begin, end in ranges:
            cut = (table, begin + max(0, low - before), begin + min(end - begin, high - before))
            if cut[1] < cut[2]:
                part.append(cut)
            before += end - begin
        if part:
            parts.append(tuple(part))
    return parts
