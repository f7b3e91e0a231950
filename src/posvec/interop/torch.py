"""PyTorch: word vectors as the weights of an ``nn.Embedding``."""

from posvec.query.conversion import to_torch_embedding

__all__ = ["to_torch_embedding"]
