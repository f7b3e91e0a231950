"""Word vectors as objects of gensim, spaCy and PyTorch; each library is imported when its function is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posvec.errors import ConfigError, PosvecError
from posvec.system.extras import require_extra

if TYPE_CHECKING:
    from posvec.vectors import WordVectors


def to_gensim(vectors: WordVectors) -> Any:
    """gensim's KeyedVectors, or its FastTextKeyedVectors where there are subwords; a copy, counts included.

    Compat: gensim has a row for every bucket, here of zeros where no word of the vocabulary has an n-gram in it, and
    divides by all n-grams of an unknown word, where posvec divides by those it knows. So a word that has n-grams of
    both sorts gets a shorter vector in gensim, of the same direction.
    """
    models = require_extra("gensim.models", "gensim")
    table, rows, size = vectors.table, vectors.rows, len(vectors)
    if rows.config.subwords:
        keyed = models.fasttext.FastTextKeyedVectors(
            vectors.vector_size, rows.config.min_n, rows.config.max_n, rows.config.buckets
        )
        keyed.vectors_vocab = np.array(vectors.input_vectors[:size])
        keyed.vectors_ngrams = np.zeros((rows.config.buckets, vectors.vector_size), np.float32)
        keyed.vectors_ngrams[rows.bucket_ids] = vectors.input_vectors[size:]
    else:
        keyed = models.KeyedVectors(vectors.vector_size)
    keyed.vectors = np.array(table)
    keyed.index_to_key = list(vectors.index_to_key)
    keyed.key_to_index = dict(vectors.key_to_index)
    keyed.next_index = size
    keyed.expandos["count"] = vectors.vocabulary.counts.copy()
    if rows.config.subwords:
        keyed.recalc_char_ngram_buckets()
    return keyed


def to_spacy(vectors: WordVectors, lang: str = "en") -> Any:
    """An empty pipeline of a language, such as en, de or xx for several, whose vocabulary has a copy of the vectors.

    Where all words are lower-case, tokens are looked up by their lower-case form: "Cat" finds cat.
    """
    spacy = require_extra("spacy", "spacy")
    try:
        pipeline = spacy.blank(lang)
    except ImportError as error:
        raise ConfigError(
            f"spaCy does not know the language {lang!r}; give its short name, such as en, or xx"
        ) from error
    words = vectors.index_to_key
    pipeline.vocab.vectors = spacy.vectors.Vectors(
        strings=pipeline.vocab.strings,
        data=np.array(vectors.table),
        keys=words,
        name="posvec",
        attr="LOWER" if all(word == word.lower() for word in words) else "ORTH",
    )
    return pipeline


def to_spacy_vocab(vectors: WordVectors, lang: str = "en") -> Any:
    """The vocabulary of that pipeline: a ``spacy.vocab.Vocab`` with vectors."""
    return to_spacy(vectors, lang).vocab


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
