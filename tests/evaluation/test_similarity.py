"""Similarity: correlations against SciPy and gensim, coverage, subwords, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec import CorpusError, PosvecError, WordVectors
from posvec.evaluation import similarity


def vectors(count: int = 60, seed: int = 0) -> WordVectors:
    table = np.random.default_rng(seed).normal(size=(count, 6)).astype(np.float32)
    return WordVectors.from_table([f"word{i}" if i % 7 else f"Word{i}" for i in range(count)], table)


def write_pairs(path: Path, count: int = 200, seed: int = 0) -> Path:
    random = np.random.default_rng(seed)
    lines = [f"word{i}\tWORD{j}\t{random.integers(1, 10)}" for i, j in random.integers(70, size=(count, 2)) if i != j]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("levels", [3, 10, 10_000])
@pytest.mark.parametrize("count", [2, 3, 50, 1000])
def test_correlations_are_scipy_s_with_ties_and_without(levels: int, count: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(levels + count)
    one = random.integers(levels, size=count).astype(float)
    other = one + random.integers(levels, size=count)
    if len(set(one)) == 1 or len(set(other)) == 1:
        one[0] += 1
        other[0] += 1
    assert similarity.spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-12)
    assert similarity.pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, abs=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e200, 1e307])
def test_correlations_do_not_depend_on_the_scale_of_the_scores(factor: float) -> None:
    one, other = np.random.default_rng(1).normal(size=(2, 50))
    for measure in (similarity.pearson, similarity.spearman):
        assert measure(one * factor, other) == pytest.approx(measure(one, other), rel=1e-12)


def test_the_correlation_with_a_constant_is_zero() -> None:
    assert similarity.spearman(np.ones(5), np.arange(5.0)) == 0
    assert similarity.pearson(np.arange(5.0), np.ones(5)) == 0


def test_correlations_and_coverage_are_gensim_s(tmp_path: Path) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    path = write_pairs(tmp_path / "pairs.tsv")
    ours = vectors()
    theirs = keyedvectors.KeyedVectors(6)
    theirs.add_vectors(ours.index_to_key, ours.table)
    pearson, spearman, missing = theirs.evaluate_word_pairs(str(path))
    (found,) = similarity.evaluate(ours, path).files
    assert found.spearman == pytest.approx(spearman[0], abs=1e-6)
    assert found.pearson == pytest.approx(pearson[0], abs=1e-6)
    assert found.coverage == pytest.approx(1 - missing / 100) == found.covered / found.pairs
    assert 0 < missing < 100
    assert np.isnan(found.cosines).sum() == found.pairs - found.covered


def test_case_matters_without_case_fold(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("word1 word2 1\nword2 word3 2\nword1 word7 3\nWord7 word4 4\n")
    (folded,) = similarity.evaluate(vectors(), path).files
    (exact,) = similarity.evaluate(vectors(), path, case_fold=False).files
    assert (folded.covered, exact.covered) == (4, 3)


def test_several_files_are_one_table(tmp_path: Path) -> None:
    files = [write_pairs(tmp_path / f"set{i}.txt", seed=i) for i in range(3)]
    result = similarity.evaluate(vectors(), files)
    assert [row[0] for row in result.tables()[0].rows] == ["set0", "set1", "set2"]
    assert similarity.evaluate(vectors(), tmp_path) == result
    assert result.files[1] == similarity.evaluate(vectors(), files[1]).files[0]
    assert set(result.to_dict()["files"][0]) >= {"spearman", "pearson", "coverage"}
    assert "cosines" not in result.to_dict()["files"][0]


def test_files_without_two_covered_pairs_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("katze hund 1\nword1 maus 2\n")
    with pytest.raises(PosvecError, match=r"^none of the 2 pairs of .*pairs\.txt has a vector for both words"):
        similarity.evaluate(vectors(), path)
    path.write_text("katze hund 1\nword1 word2 2\n")
    with pytest.raises(PosvecError, match=r"^only one of the 2 pairs"):
        similarity.evaluate(vectors(), path)
    with pytest.raises(CorpusError, match=r"name at least one"):
        similarity.evaluate(vectors(), [])


def test_the_command_composes_vectors_of_subwords_unless_oov_is_skip(
    corpus: Path, small: dict[str, object], tmp_path: Path, posvec_command: Callable[..., object]
) -> None:
    posvec.train(corpus, "subword", **small).save(tmp_path / "model")  # type: ignore[arg-type]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("one,other,score\nkaran,lotek,1\nmimol,nebis,2.5\nKarans,lotek,2\nbroken\n")
    refused = posvec_command("evaluate", "similarity", tmp_path / "model", pairs)
    assert refused.code == 1
    assert "pairs.csv, line 5: 1 field instead of three" in refused.err
    command = ("evaluate", "similarity", tmp_path / "model", pairs, "--skip-invalid")
    (file,) = json.loads(posvec_command(*command, "--json").out)["files"]
    assert (file["pairs"], file["covered"], file["from_subwords"], file["invalid_lines"]) == (3, 3, 1, 1)
    (file,) = json.loads(posvec_command(*command, "--oov", "skip", "--json").out)["files"]
    assert (file["covered"], file["from_subwords"]) == (2, 0)
    assert "Similarity; 1 malformed line skipped" in posvec_command(*command).out
    assert posvec_command(*command, "-o", tmp_path / "out.csv").out == ""
    assert (tmp_path / "out.csv").read_text().startswith("file,Spearman,Pearson,pairs,from subwords,coverage\npairs,")
