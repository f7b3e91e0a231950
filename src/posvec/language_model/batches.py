"""A text in columns that are read side by side, each next to the words that follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posvec.language_model.data import Ids
from posvec.language_model.softmax import IGNORED


@dataclass(frozen=True)
class Columns:
    """Words in and words to be predicted, both (rows, batch).

    The text is read on from column to column, and every token of it is predicted exactly once: the first from <eos>,
    the first of a column from the last of the one before. What is missing in the last column does not count.
    """

    inputs: Tensor
    targets: Tensor
    extra: Tensor | None = None
    """What stands beside the vector of each input, (rows, batch, features)."""

    @staticmethod
    def of(ids: Ids, batch: int, eos: int, extra: np.ndarray | None = None) -> Columns:
        rows = -(-len(ids) // batch)
        inputs = np.full(rows * batch, eos)
        targets = np.full(rows * batch, IGNORED)
        inputs[1 : len(ids)] = ids[:-1]
        targets[: len(ids)] = ids
        beside = None
        if extra is not None:
            padded = np.zeros((rows * batch, extra.shape[1]), extra.dtype)
            padded[: len(ids)] = extra
            beside = torch.from_numpy(padded.reshape(batch, rows, -1)).transpose(0, 1).contiguous()
        return Columns(_upright(inputs, batch), _upright(targets, batch), beside)

    def blocks(self, steps: int, device: torch.device, begin: int = 0) -> Iterator[Block]:
        """Stretches of ``steps`` rows, from the one numbered ``begin`` on."""
        for row in range(begin * steps, len(self.inputs), steps):
            rows = slice(row, row + steps)
            yield Block(
                self.inputs[rows].to(device),
                self.targets[rows].flatten().to(device),
                None if self.extra is None else self.extra[rows].to(device),
            )


@dataclass(frozen=True)
class Block:
    """Some rows of columns."""

    inputs: Tensor
    targets: Tensor
    extra: Tensor | None

    @property
    def tokens(self) -> int:
        return int((self.targets != IGNORED).sum())


def _upright(values: Ids, batch: int) -> Tensor:
    return torch.from_numpy(values.reshape(batch, -1).T.copy())
