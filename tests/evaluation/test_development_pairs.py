"""The development pairs of the benchmarks are well-formed: a typing error in them would lower every accuracy."""

from __future__ import annotations

from pathlib import Path

import pytest

from posvec.evaluation.questions import read_questions

FILES = sorted((Path(__file__).parents[2] / "benchmarks" / "development").glob("*.txt"))


def test_the_relations_of_every_group_are_there() -> None:
    assert {file.name[0] for file in FILES} == set("DIEL")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pairs_are_lower_case_and_begin_with_different_words(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines]
    words = [word for word, _ in pairs]
    assert 25 <= len(words) == len(set(words)) <= 60
    for word, answers in pairs:
        accepted = answers.split("/")
        assert word not in accepted
        assert len(set(accepted)) == len(accepted)
        assert all(known.isalpha() and known.islower() for known in (word, *accepted))
    (section,), skipped = read_questions(file)
    assert skipped == 0
    assert section.kind == ("syntactic" if file.name[0] in "DI" else "semantic")
    assert len(section.questions) == len(words) * (len(words) - 1)
