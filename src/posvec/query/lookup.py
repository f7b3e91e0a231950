"""Lookup of vectors by word, the interface that all queries build on, and the unit vectors and means they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.errors import PosvecError
from posvec.query.parsing import WeightedItems, WordOrVector, check_same_length
from posvec.system.arrays import FloatArray, unit_vector


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
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", self.table, self.table))
        if not np.isfinite(norms).all():
            word = self.index_to_key[int(np.flatnonzero(~np.isfinite(norms))[0])]
            raise PosvecError(f"the vector of {word!r} is not finite; train the model again or restore it from a copy")
        norms[norms == 0] = 1
        return norms

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
        (16,)
        """
        if isinstance(keys, str) or not len(keys):
            raise PosvecError("get_mean_vector needs a list of words or vectors; give at least one")
        weights = np.ones(len(keys)) if weights is None else weights
        check_same_length(keys, weights)
        items = [
            (key, float(weight))
            for key, weight in zip(keys, weights, strict=True)
            if not (ignore_missing and isinstance(key, str) and not self.has_vector(key))
        ]
        mean = self._weighted_sum(items, pre_normalize) / np.float32(sum(abs(weight) for _, weight in items) or 1)
        return unit_vector(mean) if post_normalize else mean

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
        (2, 16)
        """
        means = [self.get_mean_vector(keys, **options) for keys in lists]
        return np.array(means, np.float32).reshape(-1, self.vector_size)

    def _cosines(self, queries: FloatArray, block: slice) -> FloatArray:
        """The cosines of a block of the vocabulary with unit vectors, (words, queries)."""
        cosines: FloatArray = self.table[block] @ queries.T
        cosines /= self.norms[block, None]
        return cosines

    def _unit_vectors(self, items: Sequence[WordOrVector] | FloatArray) -> FloatArray:
        vectors = [unit_vector(self._vector_of(item)) for item in items]
        return np.array(vectors, np.float32).reshape(-1, self.vector_size)

    def _weighted_sum(self, items: WeightedItems, normalize: bool = True) -> FloatArray:
        total = np.zeros(self.vector_size, np.float32)
        for item, weight in items:
            total += np.float32(weight) * self._vector_of(item, normalize)
        return total

    def _vector_of(self, item: WordOrVector, norm: bool = True) -> FloatArray:
        if isinstance(item, str):
            return self.get_vector(item, norm)
        if not isinstance(item, np.ndarray) or item.shape != (self.vector_size,):
            found = f"an array of shape {item.shape}" if isinstance(item, np.ndarray) else repr(item)
            raise PosvecError(f"a query consists of words and vectors of {self.vector_size} numbers, not of {found}")
        if not np.isfinite(item).all():
            raise PosvecError("the query vector has a value that is not finite; replace it by a number")
        return np.asarray(item, np.float32)
