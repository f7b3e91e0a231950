"""Word similarity: the correlation of cosines with the similarity scores that people gave pairs of words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from posvec.errors import CorpusError, PosvecError
from posvec.evaluation.lines import as_paths, skipped_note
from posvec.evaluation.lookup import Lookup, UnknownWordPolicy
from posvec.evaluation.questions import read_pairs
from posvec.evaluation.results import Result, Table
from posvec.system.arrays import DoubleArray
from posvec.system.files import find_files
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class PairFile:
    """The correlations for one file, over its covered pairs: those in which both words have a vector.

    Attributes
    ----------
    name
        The name of the file without its extension.
    spearman, pearson
        The correlations of cosines and scores.
    coverage
        The fraction of pairs that are covered.
    pairs, covered
        The number of pairs in the file and of covered pairs.
    from_subwords
        The number of covered pairs with a word outside the vocabulary, whose vector comes from its n-grams.
    invalid_lines
        The number of malformed lines that were skipped.
    scores
        The scores of all pairs; not written to files.
    cosines
        The cosines of all pairs, NaN if a pair is not covered; not written to files.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import similarity
    >>> (file,) = similarity.evaluate(posvec.load("model"), "pairs.tsv").files
    >>> file.pairs, file.covered, file.from_subwords, file.scores.tolist()
    (4, 4, 0, [9.0, 1.5, 5.0, 8.5])
    """

    name: str
    spearman: float
    pearson: float
    coverage: float
    pairs: int
    covered: int
    from_subwords: int
    invalid_lines: int
    scores: DoubleArray = field(repr=False, compare=False)
    cosines: DoubleArray = field(repr=False, compare=False)


@dataclass(frozen=True)
class SimilarityResult(Result):
    """The correlations of a model with the scores of pair files.

    Attributes
    ----------
    files
        The correlations for each file.
    case_fold, oov
        The arguments of :func:`evaluate`.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import similarity
    >>> result = similarity.evaluate(posvec.load("model"), "pairs.tsv", oov="skip")
    >>> [file.name for file in result.files], result.oov
    (['pairs'], 'skip')
    """

    files: tuple[PairFile, ...]
    case_fold: bool
    oov: str

    def tables(self) -> list[Table]:
        """Return one table with a row for each file."""
        return [
            Table(
                "Similarity" + skipped_note(sum(file.invalid_lines for file in self.files)),
                ("file", "Spearman", "Pearson", "pairs", "from subwords", "coverage"),
                [
                    (file.name, file.spearman, file.pearson, file.pairs, file.from_subwords, file.coverage)
                    for file in self.files
                ],
            )
        ]


def evaluate(
    model: Model | WordVectors,
    pairs: str | Path | Iterable[str | Path],
    case_fold: bool = True,
    oov: UnknownWordPolicy = "subwords",
    skip_invalid: bool = False,
) -> SimilarityResult:
    """Correlate the cosines of word vectors with the similarity scores of pairs of words.

    Parameters
    ----------
    model
        A model or word vectors.
    pairs
        Files of pairs, see :func:`posvec.evaluation.questions.read_pairs`, folders of such files, or names of datasets.
    case_fold
        Treat words that differ only in case as the same word.
    oov
        With "subwords", words outside the vocabulary get vectors from their n-grams, if the model has them. With
        "skip", their pairs are left out. Pairs with a word that has no vector at all are always left out.
    skip_invalid
        Skip malformed lines instead of raising an error.

    Returns
    -------
    SimilarityResult
        The correlations for each file.

    Examples
    --------
    >>> import posvec
    >>> from posvec.evaluation import similarity
    >>> (file,) = similarity.evaluate(posvec.load("model"), "pairs.tsv").files
    >>> file.name, file.pairs, file.coverage
    ('pairs', 4, 1.0)
    >>> -1 <= file.spearman <= 1
    True
    """
    paths = [file for path in as_paths(pairs) for file in find_files(path)]
    if not paths:
        raise CorpusError("similarity needs a file of pairs of words; name at least one")
    lookup = Lookup(model, None, case_fold, oov)
    return SimilarityResult(tuple(_evaluate(lookup, path, skip_invalid) for path in paths), case_fold, oov)


def spearman(one: DoubleArray, other: DoubleArray) -> float:
    """Return Spearman's rank correlation; equal values get their mean rank.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.evaluation.similarity import spearman
    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0])), 6)
    1.0
    """
    return pearson(_ranks(one), _ranks(other))


def pearson(one: DoubleArray, other: DoubleArray) -> float:
    """Return Pearson's correlation, or 0 if all values of one side are equal, where it is undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from posvec.evaluation.similarity import pearson
    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([6.0, 4.0, 2.0])), 6)
    -1.0
    """
    one, other = _deviations(one), _deviations(other)
    # Not the root of the product, which can underflow to 0 although both factors are positive.
    norm = float(np.sqrt(one @ one) * np.sqrt(other @ other))
    return float(np.clip(one @ other / norm, -1, 1)) if norm > 0 else 0.0


def _evaluate(lookup: Lookup, path: Path, skip_invalid: bool) -> PairFile:
    pairs, invalid = read_pairs(path, skip_invalid)
    scores = np.array([pair.score for pair in pairs])
    cosines = np.full(len(pairs), np.nan)
    known = [
        (i, one, other)
        for i, pair in enumerate(pairs)
        if (one := lookup.row(pair.one)) is not None and (other := lookup.row(pair.other)) is not None
    ]
    if len(known) < 2:
        raise PosvecError(
            f"{'only one' if known else 'none'} of the {len(pairs):,} pairs of {path} has a vector for both words; "
            "use pairs in the language of the model"
        )
    covered, ones, others = np.array(known).T
    cosines[covered] = np.einsum("ij,ij->i", lookup.unit_vectors(ones), lookup.unit_vectors(others), dtype=np.float64)
    return PairFile(
        path.stem,
        spearman(scores[covered], cosines[covered]),
        pearson(scores[covered], cosines[covered]),
        len(known) / len(pairs),
        len(pairs),
        len(known),
        sum(lookup.is_composed(one) or lookup.is_composed(other) for _, one, other in known),
        invalid,
        scores,
        cosines,
    )


def _deviations(values: DoubleArray) -> DoubleArray:
    """The differences of values from their mean, scaled by a power of two, so that no sum of squares overflows."""
    exponent = int(np.frexp(np.abs(values).max(initial=0))[1])
    scaled = np.ldexp(values, -exponent)
    deviations: DoubleArray = scaled - scaled.mean()
    return deviations


def _ranks(values: DoubleArray) -> DoubleArray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: DoubleArray = (np.cumsum(counts) - (counts - 1) / 2)[inverse.reshape(-1)]
    return ranks
