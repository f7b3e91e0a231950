"""The heads of a model: which features of a word come from its own row alone, and which from its n-grams as well.

A model with ``word_dim`` = W, 0 < W < D, has two heads, whose features stand side by side in every vector:

    features [0, W)  the word head      a word has one row, its own
    features [W, D)  the spelling head  a word has its own row and those of its n-grams

Each head has a score and a loss of its own, and the loss of the model is their sum. They have no parameter in common,
so the gradient of the sum is that of two models, each of one head, which are trained on the same masked words, contexts
and negatives. If both heads had a single score, the spelling head would explain the errors first, and the word head
would learn nothing.

All other models have one head, with all features: n-grams belong to it unless ``subwords`` is false. The first D'
features are positional, whatever their head.
"""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """A range of features, of which the first are positional."""

    name: str
    """``word`` if words have their own row alone, else ``spelling``."""
    begin: int
    end: int
    positional_end: int
    """The features from ``begin`` to here are weighted by position."""

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.end - self.begin

    @property
    def positional_dim(self) -> int:
        """The number of positional features."""
        return self.positional_end - self.begin

    @property
    def features(self) -> slice:
        """The features among those of a vector."""
        return slice(self.begin, self.end)

    @property
    def positional(self) -> slice:
        """The positional features, among those of a vector and among those of a positional vector."""
        return slice(self.begin, self.positional_end)


def split_heads(dim: int, word_dim: int, positional_dim: int, subwords: bool) -> tuple[Head, ...]:
    """Return the heads of a model, the word head first.

    Examples
    --------
    >>> for head in split_heads(dim=300, word_dim=144, positional_dim=200, subwords=True):
    ...     print(head.name, head.features, head.positional)
    word slice(0, 144, None) slice(0, 144, None)
    spelling slice(144, 300, None) slice(144, 200, None)
    """
    if not subwords:
        return (Head("word", 0, dim, positional_dim),)
    bounds = [("word", 0, word_dim), ("spelling", word_dim, dim)]
    return tuple(
        Head(name, begin, end, min(max(positional_dim, begin), end)) for name, begin, end in bounds if begin < end
    )
