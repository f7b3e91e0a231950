"""Texts as bags of words with vectors, and their nearest neighbours by two measures that use word similarity.

Soft Cosine Measure (Novotný 2018, Implementation Notes for the Soft Cosine Measure): the cosine of two bags of words x
and y in a space where words are not orthogonal but have the similarities S, x'Sy / sqrt(x'Sx y'Sy).

Word Mover's Distance (Kusner et al. 2015): the minimum total distance by which the words of one text must be moved to
become those of the other text, where each word is weighted by its relative frequency in its text.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.tokenizers import get_tokenizer
from posvec.errors import PosvecError
from posvec.evaluation.lookup import Lookup
from posvec.query.exact import top_indices
from posvec.system.arrays import DoubleArray, FloatArray, IndexArray
from posvec.system.extras import require_extra
from posvec.system.threads import map_in_order
from posvec.system.utf8 import has_utf8
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

EXTRA = "classification"
NONZERO_LIMIT = 100  # nonzero similarities of a term, itself included (C in the paper)

_CHUNK = 512


@dataclass(frozen=True)
class Documents:
    """Texts as rows of term counts, where a term is a word that has a vector.

    Attributes
    ----------
    counts
        A sparse matrix in compressed rows, (texts, terms).
    vectors
        The vectors of the terms, scaled to length 1, (terms, D).
    coverage
        The fraction of the tokens of all texts that are terms.

    Examples
    --------
    >>> import numpy as np, posvec
    >>> from posvec.evaluation import documents
    >>> vectors = posvec.WordVectors.from_table(["cat", "dog", "sea"], np.array([[2, 0], [1, 1], [0, 1]]))
    >>> texts = documents.make_documents(vectors, ["cat", "unknown"])
    >>> texts.known.tolist(), texts.means().tolist()
    ([True, False], [[1.0, 0.0], [0.0, 0.0]])
    """

    counts: Any
    vectors: FloatArray
    coverage: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each text has at least one term."""
        known: NDArray[np.bool_] = np.diff(self.counts.indptr) > 0
        return known

    def means(self) -> FloatArray:
        """The mean of the unit vectors of each text, (texts, D); zeros if a text has no term."""
        totals = np.maximum(self.counts.sum(1), 1)
        means: FloatArray = np.asarray(self.counts @ self.vectors / totals.reshape(-1, 1), np.float32)
        return means


def make_documents(model: Model | WordVectors, texts: Sequence[str]) -> Documents:
    """Tokenize texts like the corpus of the model and count their terms; out-of-vocabulary words use their subwords.

    Examples
    --------
    >>> import numpy as np, posvec
    >>> from posvec.evaluation import documents
    >>> vectors = posvec.WordVectors.from_table(["cat", "dog", "sea"], np.array([[2, 0], [1, 1], [0, 1]]))
    >>> texts = documents.make_documents(vectors, ["cat dog cat", "sea unknown"])
    >>> texts.counts.toarray().tolist(), texts.coverage
    ([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 0.8)
    """
    sparse = require_extra("scipy.sparse", EXTRA)
    foreign = isinstance(model, WordVectors)
    tokenizer = get_tokenizer("word" if isinstance(model, WordVectors) else model.config.text.tokenizer)
    # The words of imported vectors can be in any case, whereas the default tokenizer folds texts to lower case.
    lookup = Lookup(model, None, case_fold=foreign, oov="subwords")
    tokens = 0
    rows, text_indices = [], []
    for text_index, text in enumerate(texts):
        if not has_utf8(text):
            raise PosvecError(f"the text {text[:80]!r} is not UTF-8; convert it, or remove the bytes that are not")
        words = [token for line in tokenizer.split(text.encode()) for token in line]
        known = [row for row in map(lookup.row, words) if row is not None]
        tokens += len(words)
        rows += known
        text_indices += [text_index] * len(known)
    used, terms = np.unique(np.array(rows, np.intp), return_inverse=True)
    ones = np.ones(len(rows))
    counts = sparse.csr_array((ones, (np.array(text_indices, np.intp), terms.reshape(-1))), (len(texts), len(used)))
    counts.sum_duplicates()
    return Documents(counts, lookup.unit_vectors(used), len(rows) / max(tokens, 1))


def term_similarity(vectors: FloatArray, nonzero_limit: int = NONZERO_LIMIT) -> Any:
    """The matrix S, (terms, terms), sparse and symmetric: the squares of positive cosines, 1 on the diagonal.

    Deviation: two terms keep their similarity only if each is among the ``nonzero_limit`` most similar terms of the
    other, so that no row has more than ``nonzero_limit`` nonzeros. The paper fills rows in the order of idf instead.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.evaluation.documents import term_similarity
    >>> term_similarity(np.array([[1, 0], [0.6, 0.8], [-1, 0]])).toarray().round(2).tolist()
    [[1.0, 0.36, 0.0], [0.36, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    sparse = require_extra("scipy.sparse", EXTRA)
    terms = len(vectors)

    def nearest(begin: int) -> tuple[IndexArray, FloatArray]:
        cosines = np.maximum(vectors[begin : begin + _CHUNK] @ vectors.T, 0)
        lines = np.arange(len(cosines))
        cosines[lines, begin + lines] = 2  # a term comes before other terms with the same vector
        limit = min(nonzero_limit, terms)
        columns = np.argpartition(-cosines, limit - 1, axis=1)[:, :limit]
        return columns, np.minimum(np.take_along_axis(cosines, columns, 1), 1) ** 2

    chunks = list(map_in_order(nearest, range(0, terms, _CHUNK)))
    columns = np.concatenate([columns for columns, _ in chunks])
    values = np.concatenate([values for _, values in chunks])
    lines = np.repeat(np.arange(terms), columns.shape[1])
    directed = sparse.csr_array((values.reshape(-1), (lines, columns.reshape(-1))), (terms, terms))
    similarities = directed.minimum(directed.T).tocsr()
    similarities.eliminate_zeros()
    return similarities


def soft_cosine_neighbors(
    documents: Documents, similarities: Any, train: IndexArray, test: IndexArray, k: int
) -> list[IndexArray]:
    """For each test text, the k training texts with the highest Soft Cosine Measure, as indices into ``train``.

    The best text comes first. Terms are weighted by tf-idf, with the idf of the training texts. Training texts with a
    similarity of 0 are left out.

    Examples
    --------
    >>> import numpy as np, posvec
    >>> from posvec.evaluation import documents
    >>> vectors = posvec.WordVectors.from_table(["cat", "dog", "sea"], np.array([[2, 0], [1, 1], [0, 1]]))
    >>> texts = documents.make_documents(vectors, ["cat", "sea", "dog cat"])
    >>> similarities = documents.term_similarity(texts.vectors)
    >>> documents.soft_cosine_neighbors(texts, similarities, np.array([0, 1]), np.array([2]), k=2)[0].tolist()
    [0, 1]
    """
    train_counts = documents.counts[train]
    frequencies = np.bincount(train_counts.indices, minlength=len(documents.vectors))
    idf = np.log((1 + len(train)) / (1 + frequencies)) + 1
    weighted = (documents.counts * idf).tocsr()
    train_weighted = weighted[train]
    train_norms = _soft_norms(train_weighted, similarities)

    def nearest(chunk: IndexArray) -> list[IndexArray]:
        products = ((weighted[chunk] @ similarities) @ train_weighted.T).toarray() / train_norms
        # Dividing by the norm of the test text would not change the order.
        found = []
        for line in products.astype(np.float32):
            order = top_indices(line, k)
            found.append(order[line[order] > 0])
        return found

    chunks = [test[begin : begin + _CHUNK] for begin in range(0, len(test), _CHUNK)]
    return [order for chunk in map_in_order(nearest, chunks) for order in chunk]


def word_mover_neighbors(documents: Documents, train: IndexArray, test: IndexArray, k: int) -> list[IndexArray]:
    """For each test text, the k training texts with the least Word Mover's Distance, as indices into ``train``.

    The nearest text comes first. Exact distances are computed in the order of a lower bound, the relaxed distance, in
    which each word of one text moves to its nearest word in the other. The search stops when the lower bound exceeds
    the k-th smallest exact distance so far.

    Examples
    --------
    >>> import numpy as np, posvec
    >>> from posvec.evaluation import documents
    >>> vectors = posvec.WordVectors.from_table(["cat", "dog", "sea"], np.array([[2, 0], [1, 1], [0, 1]]))
    >>> texts = documents.make_documents(vectors, ["sea", "cat", "dog cat"])
    >>> documents.word_mover_neighbors(texts, np.array([0, 1]), np.array([2]), k=2)[0].tolist()
    [1, 0]
    """
    solve = require_extra("ot", EXTRA).emd2
    known = np.flatnonzero(documents.known[train])  # the distance to a text without terms is undefined
    train_counts = documents.counts[train[known]]
    terms, begins = train_counts.indices, train_counts.indptr[:-1]
    train_weights = train_counts.data / np.repeat(train_counts.sum(1), np.diff(train_counts.indptr))

    def nearest(text: int) -> IndexArray:
        line = documents.counts[[text]]
        if not line.nnz or not len(known):
            return np.empty(0, np.intp)
        weights = line.data / line.data.sum()
        distances = _distances(documents.vectors[line.indices], documents.vectors)
        to_train = weights @ np.minimum.reduceat(distances[:, terms], begins, axis=1)
        from_train = np.add.reduceat(train_weights * distances.min(0)[terms], begins)
        bounds = np.maximum(to_train, from_train)
        found: list[tuple[float, int]] = []
        for candidate in np.argsort(bounds, kind="stable").tolist():
            if len(found) >= k and bounds[candidate] > found[k - 1][0]:
                break
            entries = slice(train_counts.indptr[candidate], train_counts.indptr[candidate + 1])
            candidate_weights = train_weights[entries]
            ground = np.ascontiguousarray(distances[:, terms[entries]])
            distance = float(solve(weights, candidate_weights / candidate_weights.sum(), ground))
            bisect.insort(found, (distance, candidate))
        return known[[candidate for _, candidate in found[:k]]]

    return list(map_in_order(nearest, test.tolist()))


def _soft_norms(weighted: Any, similarities: Any) -> DoubleArray:
    squares = [
        (weighted[begin : begin + _CHUNK] @ similarities * weighted[begin : begin + _CHUNK]).sum(1)
        for begin in range(0, weighted.shape[0], _CHUNK)
    ]
    norms: DoubleArray = np.sqrt(np.maximum(np.concatenate(squares), 0))
    norms[norms == 0] = 1
    return norms


def _distances(one: FloatArray, other: FloatArray) -> DoubleArray:
    """Euclidean distances, (len(one), len(other))."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * (one @ other.T)
    distances: DoubleArray = np.sqrt(np.maximum(squares, 0), dtype=np.float64)
    return distances
