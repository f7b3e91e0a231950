"""Which rows of a model the workers exchange, and how often: those that change much often, others seldom.

A row that is updated n times between two exchanges, by all workers together, has drifted that far apart in their
replicas. So each row gets the longest period in which it is expected to be updated no more than some number of times:
1 round, 4, 16, 64 or 256 of them; those for which even a round is too long are hot. Words and n-gram buckets lie by
descending use, so that the rows of one period are neighbours, and are cut into blocks, each of which one worker
combines; those of one period take turns, so that every round exchanges about as much.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posvec.model import Model
from posvec.system.arrays import RowArray
from posvec.training.tables import RowTables

Slice = tuple[int, int, int]  # table, begin, end

_TIERS = ((1, True), (1, False), (4, False), (16, False), (64, False), (256, False))  # period; whether it is too long
LONGEST = _TIERS[-1][0]
_MOST, _LEAST = 1 << 13, 1 << 8  # rows of a block: some 10 MB, and enough to be worth the handling
_GROUP = 1 << 15  # rows exchanged at once at most, so that what is on its way takes little memory
LATE = 1  # rounds until what others did in one is known
_INPUT, _OUTPUT, _POSITIONAL = range(3)


@dataclass(frozen=True)
class Block:
    """Rows that are exchanged together: slices (table, begin, end), all of one table."""

    period: int
    """In rounds."""
    phase: int
    """In which of the rounds of a period it is exchanged."""
    hot: bool
    """Whether its rows are updated more often even between two rounds."""
    slices: tuple[Slice, ...]
    row_bytes: int

    @property
    def rows(self) -> int:
        return sum(end - begin for _, begin, end in self.slices)

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes

    @property
    def places(self) -> list[slice]:
        """Its rows that are of one slice each."""
        ends = list(itertools.accumulate((end - begin for _, begin, end in self.slices), initial=0))
        return [slice(*bounds) for bounds in itertools.pairwise(ends)]

    def parts(self, tables: RowTables) -> Iterator[tuple[slice, RowArray]]:
        """Its rows in the tables of a model, one slice after the other, and which of its own they are."""
        for place, (table, begin, end) in zip(self.places, self.slices, strict=True):
            yield place, tables[table][begin:end]

    def read(self, tables: RowTables) -> RowArray:
        return np.concatenate([rows for _, rows in self.parts(tables)])

    def write(self, tables: RowTables, values: RowArray) -> None:
        for place, rows in self.parts(tables):
            rows[:] = values[place]


@dataclass(frozen=True)
class Plan:
    """The blocks of a model, those with short periods first."""

    blocks: tuple[Block, ...]
    workers: int

    def owner(self, number: int) -> int:
        """The worker that combines a block."""
        return number % self.workers

    def due(self, round_number: int) -> list[int]:
        """The numbers of the blocks to exchange after a round."""
        return [i for i, block in enumerate(self.blocks) if round_number % block.period == block.phase]

    def all(self) -> list[list[int]]:
        """In groups to exchange one by one."""
        return self._groups(range(len(self.blocks)))

    def within(self, rounds: float) -> list[list[int]]:
        """Those that are due at least once in so many rounds, and those of every round."""
        return self._groups([i for i, block in enumerate(self.blocks) if block.period <= max(1, rounds)])

    def _groups(self, numbers: list[int] | range) -> list[list[int]]:
        groups: list[list[int]] = []
        rows = _GROUP
        for number in numbers:
            rows += self.blocks[number].rows
            if rows > _GROUP:
                groups.append([])
                rows = self.blocks[number].rows
            groups[-1].append(number)
        return groups


def make_plan(model: Model, tables: RowTables, words_per_round: float, updates: float, workers: int) -> Plan:
    """Blocks of rows that are updated about ``updates`` times between exchanges, or more if that is in every round."""
    row_bytes = [table.shape[1] * table.itemsize for table in tables]
    blocks: list[Block] = []
    if row_bytes[_POSITIONAL]:
        blocks.append(Block(1, 0, True, ((_POSITIONAL, 0, len(tables[_POSITIONAL])),), row_bytes[_POSITIONAL]))
    ranges = _ranges(model, words_per_round, updates)
    for (period, hot), table in itertools.product(_TIERS, (_INPUT, _OUTPUT)):
        chosen = [each for tier, each in ranges if tier == (period, hot) and each[0] == table]
        for i, slices in enumerate(_cut(chosen, period, workers)):
            blocks.append(Block(period, i // workers % period, hot, slices, row_bytes[table]))
    return Plan(tuple(blocks), workers)


def _ranges(model: Model, words_per_round: float, updates: float) -> list[tuple[tuple[int, bool], Slice]]:
    """All rows of the input and output vectors, as ranges of one tier each."""
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
    ):
        # Rows may be out of order, as those of a model that was trained further: each goes with the busiest behind it.
        expected = np.maximum.accumulate(uses[::-1])[::-1] * words_per_round
        begin = 0
        for tier, following in itertools.zip_longest(_TIERS, _TIERS[1:]):
            end = int(np.count_nonzero(expected * (following[0] + LATE) > updates)) if following else len(uses)
            if end > begin:
                found.append((tier, (table, first + begin, first + end)))
            begin = max(begin, end)
    return found


def _cut(ranges: list[Slice], period: int, workers: int) -> list[tuple[Slice, ...]]:
    """Parts of about the same size, as many for each worker, and for each round of a period if that is not too many."""
    total = sum(end - begin for _, begin, end in ranges)
    number = workers * max(-(-total // (workers * _MOST)), min(period, -(-total // (workers * _LEAST))))
    bounds = [total * i // max(number, 1) for i in range(number + 1)]
    parts = []
    for low, high in itertools.pairwise(bounds):
        slices, before = [], 0
        for table, begin, end in ranges:
            cut = (table, begin + max(0, low - before), begin + min(end - begin, high - before))
            if cut[1] < cut[2]:
                slices.append(cut)
            before += end - begin
        if slices:
            parts.append(tuple(slices))
    return parts
