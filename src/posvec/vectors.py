"""Word vectors: what they are made of, the index of their neighbours, and conversion to other libraries.

Lookup by word and the other queries are in :mod:`posvec.query`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.config import SubwordConfig
from posvec.corpus.sources import ProgressCallback
from posvec.errors import ConfigError, PosvecError
from posvec.query.comparisons import ComparisonQueries
from posvec.query.head_weights import DEFAULT_SPELLING, check_spelling
from posvec.query.neighbors import Neighbor, NeighborQueries
from posvec.query.subword_lookup import SubwordContribution, SubwordLookup
from posvec.storage.folders import Folder
from posvec.storage.tables import VectorTable
from posvec.subwords import SubwordRows, build_rows
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.query.approximate import NeighborIndex

__all__ = ["Neighbor", "SubwordContribution", "WordVectors"]


class WordVectors(SubwordLookup, NeighborQueries, ComparisonQueries):
    """Word vectors u_w, each the mean of the word's rows: its own and those of its n-grams.

    ``word in vectors`` tests whether a word is in the vocabulary. ``vectors[word]`` also answers for other words that
    have known n-grams; ``vectors.oov(word)`` tests that.

    A model has its word vectors as ``model.vectors``; :func:`posvec.load_vectors` reads them from files of other
    programs, and :meth:`from_table` makes them from an array.

    Examples
    --------
    >>> import posvec
    >>> vectors = posvec.load("model").vectors
    >>> vectors["cat"].shape
    (32,)
    >>> "cats" in vectors, vectors.oov("cats")
    (False, True)
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        rows: SubwordRows,
        input_vectors: VectorTable,
        origin: Folder | None = None,
        word_head: VectorTable | None = None,
        spelling: float | None = DEFAULT_SPELLING,
        word_head_outputs: VectorTable | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        """The words, in the order of ``table``, and their counts."""
        self.rows = rows
        """Which rows of ``input_vectors`` make up each word."""
        self.input_vectors = input_vectors
        """u, (V + n-gram rows, D - W)."""
        self.word_head: VectorTable = np.empty((len(vocabulary), 0), np.float32) if word_head is None else word_head
        """The features of u that come from words' own rows alone, (V, W); W = 0 in models with one head."""
        self.word_head_outputs = word_head_outputs
        """The output vectors of the words, (V, at least W), whose first W features belong to the word head; None if
        they are not known, or if there is one head."""
        self.spelling = check_spelling(spelling)
        """The weight of the spelling head relative to the word head, see :mod:`posvec.query.head_weights`; None for
        features that are neither scaled nor weighted."""
        self.origin = origin
        """The saved model that the vectors were loaded from, if any."""

    @staticmethod
    def from_table(
        words: Sequence[str], table: NDArray[Any], counts: Sequence[int] | NDArray[np.int64] | None = None
    ) -> WordVectors:
        """Make word vectors without subwords from an array.

        Parameters
        ----------
        words
            The words; their order is kept.
        table
            A row for each word. A float32 array is not copied.
        counts
            How often each word occurs in a corpus; 1 for every word if unknown.

        Returns
        -------
        WordVectors
            The vectors.

        Raises
        ------
        PosvecError
            If the words are not distinct strings, or if the array or the counts do not fit them.

        Examples
        --------
        >>> import numpy as np
        >>> from posvec import WordVectors
        >>> WordVectors.from_table(["cat", "dog"], np.array([[1, 0], [0, 1]]))
        <vectors of 2 words, D=2>
        """
        vocabulary = _plain_vocabulary(list(words), counts)
        if not isinstance(table, np.ndarray) or table.ndim != 2 or len(table) != len(vocabulary) or not table.shape[1]:
            found = f"shape {np.shape(table)}" if hasattr(table, "shape") else f"a {type(table).__name__}"
            raise PosvecError(
                f"{len(vocabulary):,} words need an array with {len(vocabulary):,} rows, one vector each, not {found}"
            )
        if table.dtype.kind not in "fiu":
            raise PosvecError(f"vectors must be numbers, not {table.dtype}; convert the array to float32")
        rows = build_rows(vocabulary, SubwordConfig(subwords=False))
        return WordVectors(vocabulary, rows, np.asarray(table, np.float32))

    @cached_property
    def unweighted(self) -> WordVectors:
        """The features of both heads as training has made them, neither scaled nor weighted."""
        return self.with_spelling(None) if self.word_dim and self.spelling is not None else self

    def with_spelling(self, weight: float | None) -> WordVectors:
        """Return the same vectors with another weight of spelling against meaning.

        Parameters
        ----------
        weight
            The weight of the features that come from n-grams, relative to those of the words themselves: 0 for meaning
            alone; the larger, the more similar are words that are spelt alike. None for ``unweighted`` vectors.

        Returns
        -------
        WordVectors
            The vectors.

        Raises
        ------
        ConfigError
            If the weight is not a number from 0, or if the vectors have one head only.

        Examples
        --------
        >>> import posvec
        >>> model = posvec.train("corpus.txt", dim=32, epochs=1, threads=1)
        >>> model.vectors.with_spelling(0.5).spelling
        0.5
        """
        if not self.word_dim:
            raise ConfigError(
                "these vectors have no features of meaning and spelling apart, so spelling cannot be weighted; train a "
                "model with two heads (the default, model=two-heads)"
            )
        return WordVectors(
            self.vocabulary,
            self.rows,
            self.input_vectors,
            self.origin,
            self.word_head,
            weight,
            self.word_head_outputs,
        )

    def __repr__(self) -> str:
        return f"<vectors of {len(self):,} words, D={self.vector_size}>"

    # ---- other libraries ----------------------------------------------------------------------------------------

    def to_gensim(self) -> Any:
        """Convert to gensim's KeyedVectors, or FastTextKeyedVectors; see :func:`posvec.interop.gensim.to_gensim`."""
        from posvec.query.conversion import to_gensim

        return to_gensim(self)

    def to_spacy_vocab(self, lang: str = "en") -> Any:
        """Make a ``spacy.vocab.Vocab`` with these vectors; see :func:`posvec.interop.spacy.to_spacy_vocab`."""
        from posvec.query.conversion import to_spacy_vocab

        return to_spacy_vocab(self, lang)

    def to_torch_embedding(
        self,
        freeze: bool = True,
        words: Sequence[str] | None = None,
        padding: bool = False,
        unknown: bool = False,
    ) -> Any:
        """Make a ``torch.nn.Embedding`` of these vectors; see :func:`posvec.interop.torch.to_torch_embedding`."""
        from posvec.query.conversion import to_torch_embedding

        return to_torch_embedding(self, freeze, words, padding, unknown)

    # ---- approximate neighbours -------------------------------------------------------------------------------

    def build_index(
        self, connectivity: int = 16, effort: int = 128, threads: int = 0, progress: ProgressCallback | None = None
    ) -> NeighborIndex:
        """Build an approximate nearest-neighbour index for ``most_similar(..., index=index)``.

        It is worth building for very large vocabularies. :meth:`NeighborIndex.save` saves it beside the model.

        Parameters
        ----------
        connectivity
            Links from each word to others. More links find more of the true neighbours and take more time and memory.
        effort
            Candidates examined while building and searching. A higher number finds more neighbours and takes longer.
        threads
            Threads to use; 0 for one per core.
        progress
            Called with the fraction of words indexed so far.

        Returns
        -------
        NeighborIndex
            The index.

        Examples
        --------
        >>> import posvec
        >>> vectors = posvec.load("model").vectors
        >>> vectors.build_index()
        <index of neighbours of 12 words>
        """
        from posvec.query.approximate import NeighborIndex

        return NeighborIndex.build(self, connectivity, effort, threads, progress)

    def open_index(self) -> NeighborIndex:
        """Open the index saved beside the model that these vectors were loaded from; the file is memory-mapped."""
        from posvec.query.approximate import NeighborIndex

        return NeighborIndex.open(self)


def _plain_vocabulary(words: list[str], counts: Sequence[int] | NDArray[np.int64] | None) -> Vocabulary:
    for word in words:
        if not isinstance(word, str):
            raise PosvecError(f"words must be strings, not {word!r}; convert it")
    if not words:
        raise PosvecError("there are no words; give at least one")
    numbers = np.ones(len(words), np.int64) if counts is None else np.asarray(counts, np.int64)
    if numbers.shape != (len(words),) or (numbers < 0).any():
        raise PosvecError(f"counts must be {len(words):,} numbers, one for each word, and not negative")
    vocabulary = Vocabulary(words, numbers, int(numbers.sum()))
    if len(vocabulary.index) < len(words):
        duplicate = next(word for i, word in enumerate(words) if vocabulary.index[word] != i)
        raise PosvecError(f"the word {duplicate!r} occurs twice; keep one of its vectors")
    return vocabulary
