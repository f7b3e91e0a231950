"""Word similarity: how the cosines of pairs of words agree with what people say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from posvec.errors import CorpusError, PosvecError
from posvec.evaluation.lines import as_paths, told
from posvec.evaluation.lookup import Lookup, Unknown
from posvec.evaluation.questions import read_pairs
from posvec.evaluation.results import Result, Table
from posvec.system.files import find_files
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    from posvec.model import Model

Values = NDArray[np.float64]


@dataclass(frozen=True)
class PairFile:
    """The correlation of cosines with the scores of one file, over the pairs whose words both have a vector."""

    name: str
    spearman: float
    pearson: float
    coverage: float
    pairs: int
    """Of the file, covered or not."""
    covered: int
    from_subwords: int
    """Covered pairs with a word that is not in the vocabulary."""
    invalid_lines: int
    scores: Values = field(repr=False, compare=False)
    """What people say, of every pair."""
    cosines: Values = field(repr=False, compare=False)
    """What the model says, NaN for pairs that are not covered."""


@dataclass(frozen=True)
class SimilarityResult(Result):
    """One :class:`PairFile` for each file."""

    files: tuple[PairFile, ...]
    case_fold: bool
    oov: str

    def tables(self) -> list[Table]:
        return [
            Table(
                "Similarity" + told(sum(file.invalid_lines for file in self.files)),
                ("file", "Spearman", "Pearson", "pairs", "by subwords", "covered"),
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
    oov: Unknown = "subwords",
    skip_invalid: bool = False,
) -> SimilarityResult:
    """Correlate cosines with the scores of pair files (see :func:`posvec.evaluation.questions.read_pairs`).

    A folder stands for the files in it and below. Words outside the vocabulary get their vectors from n-grams, if the
    model has them; with ``oov="skip"`` their pairs are left out, as are those of words without any vector.
    """
    paths = [file for path in as_paths(pairs) for file in find_files(path)]
    if not paths:
        raise CorpusError("similarity needs a file of pairs of words; name at least one")
    lookup = Lookup(model, None, case_fold, oov)
    return SimilarityResult(tuple(_evaluate(lookup, path, skip_invalid) for path in paths), case_fold, oov)


def spearman(one: Values, other: Values) -> float:
    """The correlation of ranks; equal values share the mean of their ranks."""
    return pearson(_ranks(one), _ranks(other))


def pearson(one: Values, other: Values) -> float:
    """The correlation of values; 0 where all of one side are equal, which tells nothing about the other."""
    one, other = one - one.mean(), other - other.mean()
    # Not the root of the product, which can vanish where neither does.
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
            "give pairs in the language of the model"
        )
    places, ones, others = np.array(known).T
    cosines[places] = np.einsum("ij,ij->i", lookup.unit(ones), lookup.unit(others), dtype=np.float64)
    made = sum(lookup.is_made(one) or lookup.is_made(other) for _, one, other in known)
    return PairFile(
        path.stem,
        spearman(scores[places], cosines[places]),
        pearson(scores[places], cosines[places]),
        len(known) / len(pairs),
        len(pairs),
        len(known),
        made,
        invalid,
        scores,
        cosines,
    )


def _ranks(values: Values) -> Values:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Values = (np.cumsum(counts) - (counts - 1) / 2)[which.reshape(-1)]
    return ranks
