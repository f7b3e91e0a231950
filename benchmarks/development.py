"""Accuracy on the development pairs by group and relation: derivational, inflectional, encyclopedic, lexical.

    python benchmarks/development.py MODEL... [--pairs benchmarks/development] [--restrict-vocab 200000]

MODEL is the folder of a model or a file of word vectors. Each ordered pair of lines in a file of pairs is a question,
answered by 3CosAdd. A group's accuracy is the mean over its relations, whatever their number of questions.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import posvec
from posvec.errors import PosvecError
from posvec.evaluation import analogy
from posvec.evaluation.lookup import word_vectors
from reporting import HERE, table

PAIRS = HERE / "development"
GROUPS = {"D": "derivational", "I": "inflectional", "E": "encyclopedic", "L": "lexical"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--restrict-vocab", type=int, default=200_000)
    arguments = parser.parse_args()
    results = [evaluate(model, arguments.pairs, arguments.restrict_vocab) for model in arguments.models]
    print(report([model.name for model in arguments.models], results))


def evaluate(path: Path, pairs: Path, restrict_vocab: int) -> analogy.AnalogyResult:
    """The accuracy of a model, or of the vectors in a file."""
    try:
        vectors = word_vectors(posvec.load(path)) if path.is_dir() else posvec.load_vectors(path)
        return analogy.evaluate(vectors, pairs, restrict_vocab=restrict_vocab)
    except PosvecError as error:
        raise SystemExit(f"{path}: {error}") from None


def group_accuracy(result: analogy.AnalogyResult, letter: str) -> float | None:
    """The mean accuracy of the relations of a group; None if no question of the group was asked."""
    known = [section.accuracy for section in result.sections if section.name.startswith(letter)]
    asked = [accuracy for accuracy in known if accuracy is not None]
    return statistics.mean(asked) if asked else None


def report(names: Sequence[str], results: Sequence[analogy.AnalogyResult]) -> str:
    """A table with a row for each group, followed by its relations, and a column for each model."""

    def rows() -> Iterator[list[str]]:
        for letter, group in GROUPS.items():
            yield [f"**{group}**", *(_percent(group_accuracy(result, letter)) for result in results)]
            for sections in zip(*(result.sections for result in results), strict=True):
                if sections[0].name.startswith(letter):
                    yield [sections[0].name, *(_percent(section.accuracy) for section in sections)]

    return table(["relation", *names], rows())


def _percent(accuracy: float | None) -> str:
    return "–" if accuracy is None else f"{100 * accuracy:.1f}"


if __name__ == "__main__":
    main()
