"""gensim: conversion to and from its KeyedVectors and, with subwords, its FastTextKeyedVectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec.config import SubwordConfig
from posvec.errors import PosvecError
from posvec.query.conversion import to_gensim
from posvec.subwords import build_rows
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

__all__ = ["from_gensim", "to_gensim"]


def from_gensim(source: Any) -> WordVectors:
    """Convert gensim's word vectors to posvec's.

    Parameters
    ----------
    source
        KeyedVectors, FastTextKeyedVectors, Word2Vec or FastText. All buckets of FastText are kept, trained or not, so
        that out-of-vocabulary words keep their vectors.

    Returns
    -------
    WordVectors
        The vectors, with word counts if gensim has them.

    Raises
    ------
    PosvecError
        If the source is something else, has no words, or has keys that are not strings.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.gensim import from_gensim
    >>> keyed = posvec.load("model").vectors.to_gensim()  # doctest: +SKIP
    >>> from_gensim(keyed)  # doctest: +SKIP
    <vectors of 12 words, D=16>
    """
    models = require_extra("gensim.models", "gensim")
    keyed = getattr(source, "wv", source)
    if not isinstance(keyed, models.KeyedVectors):
        raise PosvecError(
            f"from_gensim takes KeyedVectors, FastTextKeyedVectors, Word2Vec or FastText, not a {type(source).__name__}"
        )
    words, counts = _words(keyed), _counts(keyed)
    if isinstance(keyed, models.fasttext.FastTextKeyedVectors) and keyed.bucket:
        return _with_subwords(words, counts, keyed)
    return WordVectors.from_table(words, np.asarray(keyed.vectors, np.float32), counts)


def _words(keyed: Any) -> list[str]:
    words = list(keyed.index_to_key)
    if not words:
        raise PosvecError("these gensim vectors have no words yet; train them or add some first")
    for word in words:
        if not isinstance(word, str):
            raise PosvecError(f"words must be strings, but these gensim vectors have the key {word!r}; rename it")
    return words


def _counts(keyed: Any) -> NDArray[np.int64] | None:
    """The counts of the words, if gensim has them; zeros mean that it does not."""
    counts = keyed.expandos.get("count")
    return np.asarray(counts, np.int64) if counts is not None and np.all(np.asarray(counts) > 0) else None


def _with_subwords(words: list[str], counts: NDArray[np.int64] | None, keyed: Any) -> WordVectors:
    counts = np.ones(len(words), np.int64) if counts is None else counts
    vocabulary = Vocabulary(words, counts, int(counts.sum()))
    config = SubwordConfig(True, max(1, keyed.min_n), keyed.max_n, keyed.bucket)
    rows = build_rows(vocabulary, config, np.arange(keyed.bucket, dtype=np.uint32))
    return WordVectors(vocabulary, rows, np.concatenate([keyed.vectors_vocab, keyed.vectors_ngrams], dtype=np.float32))
