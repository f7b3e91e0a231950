"""PyTorch: word vectors as the weights of an ``nn.Embedding``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posvec.errors import PosvecError
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors


def to_torch_embedding(
    vectors: WordVectors,
    freeze: bool = True,
    words: Sequence[str] | None = None,
    padding: bool = False,
    unknown: bool = False,
) -> Any:
    """An ``nn.Embedding`` with a copy of the vectors; ``freeze=False`` lets them be trained further.

    Row i belongs to word i of the vocabulary, or of ``words``, which may have some that only subwords know. Behind them
    comes, where asked for, a row of zeros for ``padding`` (``embedding.padding_idx`` is its number) and then one for
    ``unknown`` words, the mean of all others.
    """
    torch = require_extra("torch", "torch")
    if isinstance(words, str):
        raise PosvecError(f"words is a list of words, not the string {words!r}; write [{words!r}]")
    if words is not None and not len(words):
        raise PosvecError(
            "an embedding needs at least one word; give some, or leave words out for the whole vocabulary"
        )
    table = vectors.table if words is None else np.stack([vectors[word] for word in words])
    weights = torch.zeros(len(table) + padding + unknown, table.shape[1])
    weights[: len(table)].numpy()[:] = table  # by numpy, which may read tables that torch must not write
    if unknown:
        weights[-1] = weights[: len(table)].mean(0)
    return torch.nn.Embedding.from_pretrained(weights, freeze, padding_idx=len(table) if padding else None)
