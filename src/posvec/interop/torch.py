"""PyTorch: word vectors as the weights of an ``nn.Embedding``."""

from __future__ import annotations

from posvec.query.conversion import to_torch_embedding as to_torch_embedding
