"""How the changes that workers made to the same rows become one change: the rules, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posvec._kernel import add_up
from posvec.distributed.plan import Block
from posvec.system.arrays import FloatArray, RowArray

_UNITS = np.iinfo(np.int16)
_LEADING = 512  # rows of a part, the busiest: enough to tell where all of them go


@dataclass(frozen=True)
class Changes:
    """What a worker did to the rows of a block: those that it touched, and how far each has moved."""

    places: NDArray[np.uint32]
    """Those rows in the block, in ascending order."""
    moved: RowArray

    @property
    def bytes(self) -> int:
        return self.moved.nbytes + self.places.nbytes


def exchange(block: Block, values: RowArray, changes: Sequence[Changes], rule: str) -> None:
    """Move the rows of a block, as they were after the last exchange, by what all workers did to them."""
    if rule == "sum" or (rule == "steady" and not block.hot):
        _add(values, changes)
        return
    moved = steady(changes, block.places) if rule == "steady" else combine(len(values), changes, rule)
    moved += values
    values[:] = moved if values.dtype == np.float32 else np.rint(moved).clip(_UNITS.min, _UNITS.max)


def combine(rows: int, changes: Sequence[Changes], rule: str) -> FloatArray:
    """How far rows move after all, whatever the block that they are of."""
    total = _sum(rows, changes)
    squares, touched = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    for change in changes:
        squares[change.places] += _squares(change.moved)
        touched[change.places] += 1
    total *= RULES[rule](Tally(len(changes), touched, squares, total))[:, None]
    return total


def steady(changes: Sequence[Changes], places: Sequence[slice]) -> FloatArray:
    """The sum of the workers' changes to all rows of a block, kept from going too far.

    Rows that are updated many times between exchanges drift together in one direction until something pulls them back;
    every worker goes all that way by itself. So along the direction in which the rows of a part moved most, what the
    workers agree on counts once. In all other directions changes are as good as independent, and add up.
    """
    total = _sum(places[-1].stop, changes)
    for place in places:
        direction = _main_direction(total[place][:_LEADING])
        along = total[place] @ direction
        squares = sum(_square_along(change, place, direction) for change in changes)
        share = min(1.0, squares / max(float(np.square(along).sum()), 1e-30))
        total[place] -= np.float32(1 - share) * np.outer(along, direction)
    return total


@dataclass(frozen=True)
class Tally:
    """All that a rule can go by, for each row of a block."""

    workers: int
    touched: FloatArray
    """How many workers have changed it."""
    squares: FloatArray
    """The sum over workers of the squared length of their change."""
    total: FloatArray
    """The sum of the changes."""


def _agreement(tally: Tally) -> FloatArray:
    """1 where changes are at right angles, 1/W where W workers all found the same: what they agree on counts once."""
    length = _squares(tally.total)
    share: FloatArray = np.minimum(1, tally.squares / np.maximum(length, np.float32(1e-30)))
    return share


RULES: dict[str, Callable[[Tally], FloatArray]] = {
    "mean": lambda tally: np.full(len(tally.touched), 1 / tally.workers, np.float32),
    "touched": lambda tally: np.reciprocal(np.maximum(tally.touched, 1)),
    "agreement": _agreement,
    "sum": lambda tally: np.ones(len(tally.touched), np.float32),
}
"""The share of the sum of all changes that each row moves by."""


def _main_direction(rows: FloatArray) -> FloatArray:
    """The direction in which rows are longest, all together, by the power method: of length 1, or 0 if they are."""
    direction = rows[np.argmax(_squares(rows))]
    for _ in range(8):  # near enough: nothing depends on the last digits
        direction = direction / max(float(np.linalg.norm(direction)), 1e-30)
        direction = rows.T @ (rows @ direction)
    longest: FloatArray = direction / max(float(np.linalg.norm(direction)), 1e-30)
    return longest


def _square_along(change: Changes, rows: slice, direction: FloatArray) -> float:
    """How far a worker has moved some rows of a block along a direction: the sum of squares."""
    begin, end = np.searchsorted(change.places, [rows.start, rows.stop])
    return float(np.square(change.moved[begin:end].astype(np.float32) @ direction).sum())


def _sum(rows: int, changes: Sequence[Changes]) -> FloatArray:
    total: RowArray = np.zeros((rows, changes[0].moved.shape[1]), changes[0].moved.dtype)
    _add(total, changes)
    return total.astype(np.float32)


def _add(rows: RowArray, changes: Sequence[Changes]) -> None:
    add_up(rows, [change.places for change in changes], [change.moved for change in changes])


def _squares(rows: RowArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->i", rows, rows, dtype=np.float32)
    return squares
