"""Batches: a text is divided into columns of equal length, which are processed in parallel from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posvec.language_model.data import TokenIds
from posvec.language_model.softmax import IGNORED


@dataclass(frozen=True)
class BatchedText:
    """The tokens of a text in columns, and the tokens to predict.

    The text continues from the end of each column at the beginning of the next. Every token is predicted exactly once
    from the token before it: the first token of the text from <eos>, and the first token of another column from the
    last token of the previous column. Targets that pad the last column are ignored.

    Attributes
    ----------
    inputs, targets
        Token ids, (rows, batch).
    extra
        Features that are concatenated with the vector of each input, (rows, batch, features), or None.
    """

    inputs: Tensor
    targets: Tensor
    extra: Tensor | None = None

    @staticmethod
    def of(ids: TokenIds, batch: int, eos: int, extra: np.ndarray | None = None) -> BatchedText:
        """Divide a text into ``batch`` columns."""
        rows = -(-len(ids) // batch)
        inputs = np.full(rows * batch, eos)
        targets = np.full(rows * batch, IGNORED)
        inputs[1 : len(ids)] = ids[:-1]
        targets[: len(ids)] = ids
        features = None
        if extra is not None:
            padded = np.zeros((rows * batch, extra.shape[1]), extra.dtype)
            padded[: len(ids)] = extra
            features = torch.from_numpy(padded.reshape(batch, rows, -1)).transpose(0, 1).contiguous()
        return BatchedText(_as_columns(inputs, batch), _as_columns(targets, batch), features)

    def steps(self, steps: int) -> int:
        """Return the number of segments of ``steps`` rows."""
        return -(-len(self.inputs) // steps)

    def segments(self, steps: int, device: torch.device, first: int = 0) -> Iterator[Segment]:
        """Yield segments of ``steps`` rows, starting with the segment number ``first``."""
        for row in range(first * steps, len(self.inputs), steps):
            rows = slice(row, row + steps)
            yield Segment(
                self.inputs[rows].to(device),
                self.targets[rows].flatten().to(device),
                None if self.extra is None else self.extra[rows].to(device),
            )


@dataclass(frozen=True)
class Segment:
    """Consecutive rows of a batched text: the input of one step of truncated back-propagation through time."""

    inputs: Tensor
    targets: Tensor
    extra: Tensor | None

    @property
    def tokens(self) -> int:
        """The number of tokens to predict."""
        return int((self.targets != IGNORED).sum())


def _as_columns(values: TokenIds, batch: int) -> Tensor:
    return torch.from_numpy(values.reshape(batch, -1).T.copy())
