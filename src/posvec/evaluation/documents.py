"""Texts as bags of words with vectors, and their nearest neighbours by two soft measures.

Soft Cosine Measure (Novotný 2018, Implementation Notes for the Soft Cosine Measure): the cosine of two bags of words x
and y in a space where words are not orthogonal but as similar as S says, x'Sy / sqrt(x'Sx y'Sy).

Word Mover's Distance (Kusner et al. 2015): the least total distance that the words of one text must travel to become
those of the other, each word weighing its share of its text.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from posvec.corpus.tokenizers import get_tokenizer
from posvec.evaluation.lookup import Lookup, Rows
from posvec.query.exact import top_indices
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra
from posvec.system.threads import map_in_order
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

EXTRA = "classification"
NONZERO_LIMIT = 100  # nonzero similarities of a term, itself included (the paper's C)

_BLOCK = 512


@dataclass(frozen=True)
class Documents:
    """Texts, each a row of counts of terms; only words that have a vector are terms."""

    counts: Any
    """(texts, terms), a sparse matrix in compressed rows."""
    vectors: FloatArray
    """(terms, D), each of length 1."""
    coverage: float
    """The share of words of the texts, repetitions counted, that are terms."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which texts have terms at all."""
        known: NDArray[np.bool_] = np.diff(self.counts.indptr) > 0
        return known

    def means(self) -> FloatArray:
        """(texts, D), the mean of each text's unit vectors; zeros where it has none."""
        totals = np.maximum(self.counts.sum(1), 1)
        means: FloatArray = np.asarray(self.counts @ self.vectors / totals.reshape(-1, 1), np.float32)
        return means


def make_documents(model: Model | WordVectors, texts: Sequence[str]) -> Documents:
    """The texts in the words of a model, cut as its corpus was; out-of-vocabulary words through their subwords."""
    sparse = require_extra("scipy.sparse", EXTRA)
    foreign = isinstance(model, WordVectors)
    tokenizer = get_tokenizer("word" if isinstance(model, WordVectors) else model.config.text.tokenizer)
    # Vectors from elsewhere can have words in any case, and texts are cut into lower case for them.
    lookup = Lookup(model, None, case_fold=foreign, oov="subwords")
    words = 0
    rows, places = [], []
    for place, text in enumerate(texts):
        tokens = [token for line in tokenizer.split(text.encode()) for token in line]
        known = [row for row in map(lookup.row, tokens) if row is not None]
        words += len(tokens)
        rows += known
        places += [place] * len(known)
    used, terms = np.unique(np.array(rows, np.intp), return_inverse=True)
    ones = np.ones(len(rows))
    counts = sparse.csr_array((ones, (np.array(places, np.intp), terms.reshape(-1))), (len(texts), len(used)))
    counts.sum_duplicates()
    return Documents(counts, lookup.unit(used), len(rows) / max(words, 1))


def term_similarity(vectors: FloatArray, nonzero_limit: int = NONZERO_LIMIT) -> Any:
    """S, (terms, terms), sparse and symmetric: the squares of positive cosines, 1 on the diagonal.

    Deviation: of the most similar terms of each term those stay that have it among their own, so that no row has more
    than ``nonzero_limit`` nonzeros; the paper gives them away in the order of idf until a row is full.
    """
    sparse = require_extra("scipy.sparse", EXTRA)
    terms = len(vectors)

    def nearest(begin: int) -> tuple[Rows, FloatArray]:
        cosines = np.maximum(vectors[begin : begin + _BLOCK] @ vectors.T, 0)
        lines = np.arange(len(cosines))
        cosines[lines, begin + lines] = 2  # itself before all others, be they equal to it
        limit = min(nonzero_limit, terms)
        columns = np.argpartition(-cosines, limit - 1, axis=1)[:, :limit]
        return columns, np.minimum(np.take_along_axis(cosines, columns, 1), 1) ** 2

    blocks = list(map_in_order(nearest, range(0, terms, _BLOCK)))
    columns = np.concatenate([columns for columns, _ in blocks])
    values = np.concatenate([values for _, values in blocks])
    lines = np.repeat(np.arange(terms), columns.shape[1])
    directed = sparse.csr_array((values.reshape(-1), (lines, columns.reshape(-1))), (terms, terms))
    similarities = directed.minimum(directed.T).tocsr()
    similarities.eliminate_zeros()
    return similarities


def soft_cosine_neighbors(documents: Documents, similarities: Any, train: Rows, test: Rows, k: int) -> list[Rows]:
    """Of each test text, the k training texts (places in ``train``) of the highest Soft Cosine Measure, best first.

    Terms weigh tf-idf, idf being that of the training texts. Training texts without any similarity are left out.
    """
    train_counts = documents.counts[train]
    frequencies = np.bincount(train_counts.indices, minlength=len(documents.vectors))
    idf = np.log((1 + len(train)) / (1 + frequencies)) + 1
    weighted = (documents.counts * idf).tocsr()
    trained = weighted[train]
    trained_norms = _soft_norms(trained, similarities)

    def nearest(block: Rows) -> list[Rows]:
        products = ((weighted[block] @ similarities) @ trained.T).toarray() / trained_norms
        # The norm of the test text is the same for all: it changes no order.
        found = []
        for line in products.astype(np.float32):
            order = top_indices(line, k)
            found.append(order[line[order] > 0])
        return found

    blocks = [test[begin : begin + _BLOCK] for begin in range(0, len(test), _BLOCK)]
    return [order for block in map_in_order(nearest, blocks) for order in block]


def word_mover_neighbors(documents: Documents, train: Rows, test: Rows, k: int) -> list[Rows]:
    """Of each test text, the k training texts (places in ``train``) of the least Word Mover's Distance, nearest first.

    Exact distances are computed in the order of their lower bound, until that exceeds the k-th nearest found: the
    relaxed distance, in which each word of one text travels to its nearest in the other.
    """
    solve = require_extra("ot", EXTRA).emd2
    known = np.flatnonzero(documents.known[train])  # nothing can travel to a text without words
    trained = documents.counts[train[known]]
    terms, begins = trained.indices, trained.indptr[:-1]
    shares = trained.data / np.repeat(trained.sum(1), np.diff(trained.indptr))

    def nearest(text: int) -> Rows:
        line = documents.counts[[text]]
        if not line.nnz or not len(known):
            return np.empty(0, np.intp)
        weights = line.data / line.data.sum()
        distances = _distances(documents.vectors[line.indices], documents.vectors)
        there = weights @ np.minimum.reduceat(distances[:, terms], begins, axis=1)
        back = np.add.reduceat(shares * distances.min(0)[terms], begins)
        bounds = np.maximum(there, back)
        found: list[tuple[float, int]] = []
        for place in np.argsort(bounds, kind="stable").tolist():
            if len(found) >= k and bounds[place] > found[k - 1][0]:
                break
            its = slice(trained.indptr[place], trained.indptr[place + 1])
            ground = np.ascontiguousarray(distances[:, terms[its]])
            bisect.insort(found, (float(solve(weights, shares[its] / shares[its].sum(), ground)), place))
        return known[[place for _, place in found[:k]]]

    return list(map_in_order(nearest, test.tolist()))


def _soft_norms(weighted: Any, similarities: Any) -> NDArray[np.float64]:
    squares = [
        (weighted[begin : begin + _BLOCK] @ similarities * weighted[begin : begin + _BLOCK]).sum(1)
        for begin in range(0, weighted.shape[0], _BLOCK)
    ]
    norms: NDArray[np.float64] = np.sqrt(np.maximum(np.concatenate(squares), 0))
    norms[norms == 0] = 1
    return norms


def _distances(one: FloatArray, other: FloatArray) -> NDArray[np.float64]:
    """Euclidean, (len(one), len(other))."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * (one @ other.T)
    distances: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0), dtype=np.float64)
    return distances
