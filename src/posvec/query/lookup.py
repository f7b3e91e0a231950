"""Lookup of vectors by word, the interface that all queries build on, and the unit vectors and means they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.query.parsing import WeightedItems, WordOrVector, check_same_length, parse_number
from posvec.system.arrays import (
    DoubleArray,
    FloatArray,
    IndexArray,
    is_plain_norm,
    row_norms,
    unit_rows,
    unit_vector,
)
from posvec.system.mapping import check_mapped

_EXTREME_ROWS = 4096  # whose cosines are computed at a time


class VectorLookup(ABC):
    """Words with a table of their vectors; there may be vectors of other words, too."""

    @property
    @abstractmethod
    def index_to_key(self) -> list[str]: ...

    @property
    @abstractmethod
    def key_to_index(self) -> dict[str, int]: ...

    @property
    @abstractmethod
    def vector_size(self) -> int: ...

    @property
    @abstractmethod
    def table(self) -> FloatArray: ...

    @abstractmethod
    def has_vector(self, word: str) -> bool: ...

    @abstractmethod
    def get_vector(self, word: str, norm: bool = False) -> FloatArray: ...

    @abstractmethod
    def get_vectors(self, words: Sequence[str], norm: bool = False) -> FloatArray: ...

    @cached_property
    def norms(self) -> FloatArray:
        """The lengths of all word vectors, (V,); 1 for a zero vector, so that its cosine with anything is 0."""
        check_mapped(self.table)
        norms = row_norms(self.table)
        if not np.isfinite(norms).all():
            raise not_finite_error(self.index_to_key[int(np.flatnonzero(~np.isfinite(norms))[0])])
        norms[norms == 0] = 1
        return norms

    @cached_property
    def _extreme_ids(self) -> IndexArray:
        """The vectors that are so long or so short that products with them would overflow or lose their digits."""
        return np.flatnonzero(~is_plain_norm(self.norms))

    def get_mean_vector(
        self,
        keys: Sequence[WordOrVector] | FloatArray,
        weights: Sequence[float] | NDArray[Any] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> FloatArray:
        """Return the weighted mean of words and vectors.

        Parameters
        ----------
        keys
            Words and vectors; at least one.
        weights
            A weight for each of the keys, 1 by default. The sum is divided by the sum of their absolute values.
        pre_normalize
            Whether to scale the vectors of words to length 1. Vectors among the keys are used as they are.
        post_normalize
            Whether to scale the mean to length 1.
        ignore_missing
            Whether to skip words that have no vector, instead of raising an error.

        Returns
        -------
        numpy.ndarray
            The mean, (D,); zeros if no key has a vector.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.get_mean_vector(["cat", "dog"], weights=[2, 1]).shape
        (32,)
        """
        if isinstance(keys, str) or not len(keys):
            raise PosvecError("get_mean_vector needs a list of words or vectors; give at least one")
        weights = np.ones(len(keys)) if weights is None else weights
        check_same_length(keys, weights)
        items = [
            (key, parse_number("a weight", weight))
            for key, weight in zip(keys, weights, strict=True)
            if not (ignore_missing and isinstance(key, str) and not self.has_vector(key))
        ]
        total, exponent = self._weighted_sum(items, pre_normalize)
        if post_normalize:
            return unit_vector(total)
        largest = math.frexp(max((abs(weight) for _, weight in items), default=0.0))[1]
        divisor = sum(math.ldexp(abs(weight), -largest) for _, weight in items) or 1.0
        with np.errstate(over="ignore", under="ignore"):
            mean: FloatArray = np.ldexp(total / divisor, exponent - largest).astype(np.float32)
        if not np.isfinite(mean).all():
            raise PosvecError("the mean of the vectors is too large for float32; scale the vectors down")
        return mean

    def get_mean_vector_batch(self, lists: Sequence[Sequence[WordOrVector]], **options: Any) -> FloatArray:
        """Return :meth:`get_mean_vector` of each list, (n, D).

        Parameters
        ----------
        lists
            A list of words and vectors for each mean.
        **options
            Options of :meth:`get_mean_vector`, the same for all lists.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.get_mean_vector_batch([["cat", "dog"], ["house"]]).shape
        (2, 32)
        """
        means = [self.get_mean_vector(keys, **options) for keys in lists]
        return np.array(means, np.float32).reshape(-1, self.vector_size)

    def _cosines(self, queries: FloatArray, block: slice) -> FloatArray:
        """The cosines of a block of the vocabulary with unit vectors, (words, queries)."""
        check_mapped(self.table)
        norms = self.norms[block, None]
        with np.errstate(over="ignore", invalid="ignore"):
            cosines: FloatArray = self.table[block] @ queries.T
        cosines /= norms
        first, last = np.searchsorted(self._extreme_ids, [block.start, block.stop])
        for begin in range(int(first), int(last), _EXTREME_ROWS):
            ids = self._extreme_ids[begin : min(begin + _EXTREME_ROWS, int(last))]
            cosines[ids - block.start] = unit_rows(self.table[ids]) @ queries.T
        return cosines

    def _unit_vectors(self, items: Sequence[WordOrVector] | FloatArray) -> FloatArray:
        vectors = [unit_vector(self._vector_of(item)) for item in items]
        return np.array(vectors, np.float32).reshape(-1, self.vector_size)

    def _weighted_sum(self, items: WeightedItems, normalize: bool = True) -> tuple[DoubleArray, int]:
        """A sum of items times their weights, as a vector and the exponent of a power of two to multiply it by.

        Weights and vectors may be any finite numbers: their products and sums cannot overflow.
        """
        total, highest = np.zeros(self.vector_size), None
        for item, weight in items:
            vector = self._vector_of(item, normalize).astype(np.float64)
            fraction, of_weight = math.frexp(weight)
            of_vector = math.frexp(float(np.abs(vector).max()))[1]
            exponent = of_weight + of_vector
            if not weight or not vector.any():
                continue
            if highest is None or exponent > highest:
                total, highest = np.ldexp(total, (exponent if highest is None else highest) - exponent), exponent
            total += np.ldexp(fraction * np.ldexp(vector, -of_vector), exponent - highest)
        return total, highest or 0

    def _vector_of(self, item: WordOrVector, norm: bool = True) -> FloatArray | DoubleArray:
        if isinstance(item, str):
            vector = self.get_vector(item, norm)
            if not np.isfinite(vector).all():
                raise not_finite_error(item)
            return vector
        if not isinstance(item, np.ndarray) or item.shape != (self.vector_size,) or item.dtype.kind not in "fiu":
            found = f"an array of shape {item.shape}" if isinstance(item, np.ndarray) else repr(item)
            raise PosvecError(f"a query consists of words and vectors of {self.vector_size} numbers, not of {found}")
        with np.errstate(over="ignore"):
            numbers: DoubleArray = item.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise PosvecError("the query vector has a value that is not finite; replace it by a number")
        return numbers


def not_finite_error(word: str) -> PosvecError:
    """Return the error for a word whose vector has infinite or undefined numbers."""
    return PosvecError(f"the vector of {word!r} is not finite; train the model again or restore it from a copy")
