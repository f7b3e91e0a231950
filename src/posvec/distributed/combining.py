"""Combine the changes that several workers made to the same rows, by one of several rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import apply_deltas
from posvec.distributed.plan import RowBlock
from posvec.system.arrays import FloatArray, RowArray

_CODES = np.iinfo(np.int16)
_LEADING_ROWS = 512  # the busiest rows of a range, which determine the main direction of all


@dataclass(frozen=True)
class BlockDeltas:
    """A worker's changes of a block: the rows that changed, and how much each did."""

    rows: NDArray[np.uint32]
    """Indices of the rows that changed in the block, in ascending order."""
    values: RowArray

    @property
    def bytes(self) -> int:
        return self.values.nbytes + self.rows.nbytes


def combine_into(block: RowBlock, values: RowArray, deltas: Sequence[BlockDeltas], rule: str) -> None:
    """Change the rows of a block, as they were after the last exchange, by the combined deltas of all workers."""
    if rule == "sum" or (rule == "steady" and not block.hot):
        _add(values, deltas)
        return
    combined = steady(deltas, block.slices) if rule == "steady" else combine(len(values), deltas, rule)
    combined += values
    values[:] = combined if values.dtype == np.float32 else np.rint(combined).clip(_CODES.min, _CODES.max)


def combine(rows: int, deltas: Sequence[BlockDeltas], rule: str) -> FloatArray:
    """Return the combined delta of each row by a rule that treats every row alike."""
    total = _sum(rows, deltas)
    squares, workers = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    for delta in deltas:
        squares[delta.rows] += _squares(delta.values)
        workers[delta.rows] += 1
    total *= RULES[rule](RowStatistics(len(deltas), workers, squares, total))[:, None]
    return total


def steady(deltas: Sequence[BlockDeltas], ranges: Sequence[slice]) -> FloatArray:
    """Return the sum of the workers' deltas of a block, limited along the main direction of each range of rows.

    Rows that are updated many times between exchanges drift in a common direction until their gradients pull them back;
    every worker makes all of that move by itself. So along the direction in which the rows of a range changed most,
    the part on which the workers agree counts once. In all other directions their changes are nearly independent, and
    are added up.
    """
    total = _sum(ranges[-1].stop, deltas)
    for rows in ranges:
        direction = _main_direction(total[rows][:_LEADING_ROWS])
        along = total[rows] @ direction
        squares = sum(_square_along(delta, rows, direction) for delta in deltas)
        factor = min(1.0, squares / max(float(np.square(along).sum()), 1e-30))
        total[rows] -= np.float32(1 - factor) * np.outer(along, direction)
    return total


@dataclass(frozen=True)
class RowStatistics:
    """What a rule can use, for each row of a block."""

    workers: int
    changed_by: FloatArray
    """The number of workers that have changed the row."""
    squares: FloatArray
    """The sum over the workers of the squared length of their deltas."""
    total: FloatArray
    """The sum of the deltas."""


def _agreement(rows: RowStatistics) -> FloatArray:
    """Return 1 where deltas are orthogonal, 1/W where W workers have the same delta."""
    length = _squares(rows.total)
    factor: FloatArray = np.minimum(1, rows.squares / np.maximum(length, np.float32(1e-30)))
    return factor


RULES: dict[str, Callable[[RowStatistics], FloatArray]] = {
    "mean": lambda rows: np.full(len(rows.changed_by), 1 / rows.workers, np.float32),
    "touched": lambda rows: np.reciprocal(np.maximum(rows.changed_by, 1)),
    "agreement": _agreement,
    "sum": lambda rows: np.ones(len(rows.changed_by), np.float32),
}
"""For each rule, the factor by which the sum of the deltas of each row is multiplied."""


def _main_direction(rows: FloatArray) -> FloatArray:
    """Return the direction in which rows are longest together, by the power method; 0 if all rows are 0."""
    direction = rows[np.argmax(_squares(rows))]
    for _ in range(8):  # precise enough for the purpose
        direction = direction / max(float(np.linalg.norm(direction)), 1e-30)
        direction = rows.T @ (rows @ direction)
    longest: FloatArray = direction / max(float(np.linalg.norm(direction)), 1e-30)
    return longest


def _square_along(delta: BlockDeltas, rows: slice, direction: FloatArray) -> float:
    """Return the sum of squares of a worker's deltas of some rows along a direction."""
    begin, end = np.searchsorted(delta.rows, [rows.start, rows.stop])
    return float(np.square(delta.values[begin:end].astype(np.float32) @ direction).sum())


def _sum(rows: int, deltas: Sequence[BlockDeltas]) -> FloatArray:
    total: RowArray = np.zeros((rows, deltas[0].values.shape[1]), deltas[0].values.dtype)
    _add(total, deltas)
    return total.astype(np.float32)


def _add(rows: RowArray, deltas: Sequence[BlockDeltas]) -> None:
    apply_deltas(rows, [delta.rows for delta in deltas], [delta.values for delta in deltas])


def _squares(rows: RowArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->i", rows, rows, dtype=np.float32)
    return squares
