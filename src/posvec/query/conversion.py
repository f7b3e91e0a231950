"""Conversion of word vectors to objects of gensim, spaCy and PyTorch, which are imported when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posvec.errors import ConfigError, PosvecError
from posvec.query.one_head import one_head
from posvec.system.extras import require_extra

if TYPE_CHECKING:
    from posvec.vectors import WordVectors


def to_gensim(vectors: WordVectors) -> Any:
    """Convert word vectors to gensim's KeyedVectors, or to its FastTextKeyedVectors if they have subwords.

    Compat: gensim has a row for every bucket; buckets of n-grams that no word of the vocabulary has are zeros. gensim
    divides the sum of an out-of-vocabulary word by the number of all its n-grams, posvec by the number of those that
    are known. The vector of a word with some unknown n-grams is therefore shorter in gensim, in the same direction.
    With two heads, the vector of any out-of-vocabulary word has another length in gensim, and the same direction.

    Parameters
    ----------
    vectors
        The word vectors to convert.

    Returns
    -------
    gensim.models.KeyedVectors or gensim.models.fasttext.FastTextKeyedVectors
        A copy of the vectors, with the words and their counts.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.gensim import to_gensim
    >>> type(to_gensim(posvec.load("model").vectors)).__name__  # doctest: +SKIP
    'FastTextKeyedVectors'
    """
    models = require_extra("gensim.models", "gensim")
    table, rows, size = vectors.table, vectors.rows, len(vectors)
    if rows.config.subwords:
        keyed = models.fasttext.FastTextKeyedVectors(
            vectors.vector_size, rows.config.min_n, rows.config.max_n, rows.config.buckets
        )
        input_vectors = one_head(vectors).input_vectors
        keyed.vectors_vocab = np.array(input_vectors[:size])
        keyed.vectors_ngrams = np.zeros((rows.config.buckets, vectors.vector_size), np.float32)
        keyed.vectors_ngrams[rows.bucket_ids] = input_vectors[size:]
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
    """Make an empty spaCy pipeline whose vocabulary has a copy of the vectors.

    If all words are lower-case, spaCy looks tokens up by their lower-case form, so that "Cat" finds cat.

    Parameters
    ----------
    vectors
        The word vectors to convert.
    lang
        spaCy's short name of the language, for example ``en`` or ``de``; ``xx`` for several.

    Returns
    -------
    spacy.language.Language
        The pipeline.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.spacy import to_spacy
    >>> to_spacy(posvec.load("model").vectors)("the cat")[1].has_vector  # doctest: +SKIP
    True
    """
    spacy = require_extra("spacy", "spacy")
    try:
        pipeline = spacy.blank(lang)
    except ImportError as error:
        raise ConfigError(
            f"spaCy does not know the language {lang!r}; give its short name, for example en, or xx for several"
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
    """Make a ``spacy.vocab.Vocab`` with a copy of the vectors; see :func:`to_spacy` for the parameters.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.spacy import to_spacy_vocab
    >>> to_spacy_vocab(posvec.load("model").vectors)["cat"].has_vector  # doctest: +SKIP
    True
    """
    return to_spacy(vectors, lang).vocab


def to_torch_embedding(
    vectors: WordVectors,
    freeze: bool = True,
    words: Sequence[str] | None = None,
    padding: bool = False,
    unknown: bool = False,
) -> Any:
    """Make a ``torch.nn.Embedding`` with a copy of the vectors.

    Parameters
    ----------
    vectors
        The word vectors to convert.
    freeze
        Whether the embedding is excluded from training.
    words
        The words of the rows, by default the vocabulary. Words that have only n-gram vectors are allowed.
    padding
        Whether to append a row of zeros; its index is ``embedding.padding_idx``.
    unknown
        Whether to append a row for unknown words, the mean of all words; it comes last.

    Returns
    -------
    torch.nn.Embedding
        The embedding; row i belongs to word i.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.torch import to_torch_embedding
    >>> to_torch_embedding(posvec.load("model").vectors, padding=True)  # doctest: +SKIP
    Embedding(13, 16, padding_idx=12)
    """
    torch = require_extra("torch", "torch")
    if isinstance(words, str):
        raise PosvecError(f"words must be a list of words, not the string {words!r}; use [{words!r}]")
    if words is not None and not len(words):
        raise PosvecError(
            "an embedding needs at least one word; give some, or leave words out to use the whole vocabulary"
        )
    table = vectors.table if words is None else np.stack([vectors[word] for word in words])
    weights = torch.zeros(len(table) + padding + unknown, table.shape[1])
    weights[: len(table)].numpy()[:] = table  # through NumPy, because torch warns about read-only tables
    if unknown:
        weights[-1] = weights[: len(table)].mean(0)
    return torch.nn.Embedding.from_pretrained(weights, freeze, padding_idx=len(table) if padding else None)
