"""Ordered pairs of different items, made one at a time, and drawn at random if there are too many.

n items have n(n - 1) pairs: 100,000 items, a file of 1 MB, have 10 billion. None of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

import numpy as np

from posvec.system.arrays import IndexArray

Item = TypeVar("Item")
Made = TypeVar("Made")

SEED = 1


class Crossed(Sequence[Made], Generic[Item, Made]):
    """What a function makes of every ordered pair of different items, or of a random sample of the pairs.

    The first item varies slowest. A sample has the same pairs in each run: one from each of equally long parts of all
    pairs, so that each item is first, and about as often second, in the same number of pairs.

    Parameters
    ----------
    make
        Makes an element of the first and the second item of a pair.
    items
        The items.
    limit
        The size of the sample, if there are more pairs; None means all pairs.

    Examples
    --------
    >>> from posvec.evaluation.crossing import Crossed
    >>> list(Crossed(str.__add__, ["a", "b", "c"]))
    ['ab', 'ac', 'ba', 'bc', 'ca', 'cb']
    >>> len(Crossed(str.__add__, ["a", "b", "c"], limit=4))
    4
    """

    def __init__(self, make: Callable[[Item, Item], Made], items: Sequence[Item], limit: int | None = None) -> None:
        self._make, self._items = make, items
        self.item_count = len(items)
        self.pairs = len(items) * (len(items) - 1)
        self._chosen = _sample(self.pairs, limit) if limit is not None and limit < self.pairs else None

    def limited(self, limit: int) -> Crossed[Item, Made]:
        """Return the same elements, or a sample of this size if there are more."""
        return Crossed(self._make, self._items, limit)

    def __len__(self) -> int:
        return self.pairs if self._chosen is None else len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> Made: ...

    @overload
    def __getitem__(self, index: slice) -> list[Made]: ...

    def __getitem__(self, index: int | slice) -> Made | list[Made]:
        indices = range(len(self))[index]
        return [self._element(i) for i in indices] if isinstance(indices, range) else self._element(indices)

    def __iter__(self) -> Iterator[Made]:
        return map(self._element, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == each for one, each in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} of the {self.pairs:,} pairs of {len(self._items):,} items>"

    def _element(self, index: int) -> Made:
        pair = index if self._chosen is None else int(self._chosen[index])
        first, second = divmod(pair, len(self._items) - 1)
        return self._make(self._items[first], self._items[second + (second >= first)])


def largest_sample(sizes: Sequence[int], limit: int) -> int:
    """Return the largest number of elements that each of several groups may keep, so that all keep at most ``limit``.

    Examples
    --------
    >>> from posvec.evaluation.crossing import largest_sample
    >>> largest_sample([10, 1000, 2000], 210), largest_sample([10, 20], 210)
    (100, 210)
    """
    left = limit
    for number, size in enumerate(ordered := sorted(sizes)):
        if (equal := left // (len(ordered) - number)) < size:
            return equal
        left -= size
    return limit


def _sample(size: int, count: int) -> IndexArray:
    """Draw one index from each of ``count`` equally long parts of ``size``, in order."""
    edges = np.array([size * part // count for part in range(count + 1)], np.int64)
    # The bits of a bit generator, unlike the numbers of a Generator, are the same in all versions of NumPy.
    drawn = np.random.PCG64(SEED).random_raw(count) % np.diff(edges).astype(np.uint64)
    return edges[:-1] + drawn.astype(np.int64)
