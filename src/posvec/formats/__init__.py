"""Files of word vectors: load, write and convert the formats of other programs."""

from posvec.formats.conversion import convert, load_model_or_vectors, load_vectors, write_vectors
from posvec.formats.registry import FORMATS, Format

__all__ = ["FORMATS", "Format", "convert", "load_model_or_vectors", "load_vectors", "write_vectors"]

load, write = load_model_or_vectors, write_vectors  # Compat: the earlier names
