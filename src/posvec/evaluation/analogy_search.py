"""The answers of a model to analogy questions.

3CosAdd answers with the word d that maximizes cos(d, b - a + c), 3CosMul with the word that maximizes
cos(d, b) cos(d, c) / (cos(d, a) + eps), where cosines are shifted to 0..1 (Levy and Goldberg 2014). The words a, b and
c themselves are excluded. The word vectors have length 1, and the length of b - a + c does not affect which d is best,
so both scores are sums over the words of the question (for 3CosMul, sums of logarithms):

    score(d) = plus[b, d] + plus[c, d] + minus[a, d]

A test set has many questions but few distinct words. One matrix product per chunk of candidates gives plus and minus
for all of them, so a question costs only two additions per candidate.
"""

from __future__ import annotations

import threading
from typing import Literal

import numpy as np

from posvec.corpus.sources import ProgressCallback
from posvec.evaluation.lookup import Lookup
from posvec.system.arrays import FloatArray, IndexArray
from posvec.system.threads import map_in_order

AnalogyMethod = Literal["3cosadd", "3cosmul"]

CANDIDATE_CHUNK = 4096
"""Candidates per matrix product, few enough that the scores of a thousand words stay in the cache."""

MAX_SCORES = 8192 * CANDIDATE_CHUNK
"""Numbers per matrix product, 128 MiB: questions with more than 8,192 words get fewer candidates at a time."""

_EPSILON = np.float32(1e-6)  # Compat: the value in gensim; Levy and Goldberg use 1e-3


def best_answers(
    lookup: Lookup, questions: IndexArray, method: AnalogyMethod, progress: ProgressCallback | None
) -> IndexArray:
    """Return the row of the best answer to each question, -1 if there is none.

    Parameters
    ----------
    lookup
        The words and their vectors.
    questions
        Sorted triples of rows (a, b, c), (n, 3).
    method
        ``3cosadd`` or ``3cosmul``.
    progress
        Called with the fraction of candidates compared so far.

    Returns
    -------
    ndarray
        The row of each answer, that of the most frequent case variant of the word, (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from posvec import WordVectors
    >>> from posvec.evaluation.lookup import Lookup
    >>> words = WordVectors.from_table(["man", "king", "woman", "queen"], np.array([[1, 0], [1, 1], [-1, 0], [-1, 1]]))
    >>> best_answers(Lookup(words), np.array([[0, 1, 2]]), "3cosadd", None).tolist()
    [3]
    """
    given = np.unique(questions)
    a, b, c = np.searchsorted(given, questions).T
    vectors = lookup.unit_vectors(given)
    variants = lookup.case_variants()
    given_index = np.full(len(lookup), -1)
    given_index[given] = np.arange(len(given))
    begins = np.flatnonzero(np.diff(a, prepend=-1) | np.diff(b, prepend=-1)).tolist()
    ends = [*begins[1:], len(questions)]
    step = max(1, min(CANDIDATE_CHUNK, MAX_SCORES // len(given)))
    stopped = threading.Event()

    def best_of_chunk(begin: int) -> tuple[IndexArray, FloatArray]:
        chunk = np.arange(begin, min(begin + step, len(lookup)))
        plus, minus = _score_terms(vectors @ lookup.unit_vectors(chunk).T, method)
        # The words of a question and their case variants are excluded: a term of minus infinity excludes a candidate.
        # Deviation: gensim considers only its five best candidates and finds no answer if all of them are excluded.
        words = given_index[variants[chunk]]
        (candidates,) = np.nonzero(words >= 0)
        plus[words[candidates], candidates] = minus[words[candidates], candidates] = -np.inf
        best = np.empty(len(questions), np.intp)
        scores = np.empty(len(questions), np.float32)
        for first, last in zip(begins, ends, strict=True):
            if stopped.is_set():
                break
            sums = plus[c[first:last]]
            sums += plus[b[first]] + minus[a[first]]
            best[first:last] = sums.argmax(1)
            scores[first:last] = sums[np.arange(last - first), best[first:last]]
        return best + begin, scores

    answers = np.full(len(questions), -1)
    highest = np.full(len(questions), -np.inf, np.float32)
    chunks = range(0, len(lookup), step)
    for done, (best, scores) in enumerate(map_in_order(best_of_chunk, chunks, stopped=stopped), 1):
        better = scores > highest  # strictly: of equal candidates the more frequent word wins
        answers[better], highest[better] = variants[best[better]], scores[better]
        if progress:
            progress(done / len(chunks))
    return answers


def _score_terms(cosines: FloatArray, method: AnalogyMethod) -> tuple[FloatArray, FloatArray]:
    """The terms plus and minus of the module's docstring."""
    if method == "3cosadd":
        return cosines, -cosines
    shifted = np.maximum((1 + cosines) / 2, np.finfo(np.float32).tiny)  # rounding can produce a cosine below -1
    return np.log(shifted), -np.log(shifted + _EPSILON)
