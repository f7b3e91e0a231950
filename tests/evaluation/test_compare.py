"""Comparison of models: paired bootstrap, common questions, pooled seeds."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec import ConfigError, PosvecError, WordVectors
from posvec.evaluation import analogy, similarity
from posvec.evaluation.bootstrap import estimate, resample
from posvec.evaluation.compare import compare, seed_groups

WORDS = [f"{side}{i}" for i in range(30) for side in ("a", "b")]


def vectors(noise: float, seed: int = 0, words: int = 60) -> WordVectors:
    """Pairs of words that differ by the same vector plus noise."""
    random = np.random.default_rng(seed)
    clean = np.random.default_rng(99).normal(size=(30, 1, 8)) + np.random.default_rng(98).normal(size=(1, 2, 8))
    table = clean.reshape(60, 8) + noise * random.normal(size=(60, 8))
    return WordVectors.from_table(WORDS[:words], table[:words].astype(np.float32))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.txt"
    random = np.random.default_rng(5)
    lines = [f"a{i} b{i} a{j} b{j}" for i, j in random.integers(30, size=(400, 2)) if i != j]
    path.write_text(": world\n" + "\n".join(lines[:200]) + "\n: gram1\n" + "\n".join(lines[200:]) + "\n")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.txt"
    clean = vectors(0)
    drawn = np.random.default_rng(6).choice(WORDS, size=(150, 2))
    path.write_text("".join(f"{one} {other} {clean.similarity(one, other):.3f}\n" for one, other in drawn))
    return path


def test_an_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        values = random.random(100) < 0.3
        found = estimate(values.mean(), resample(lambda items, v=values: v[items].mean(), 100, 300))
        assert found.low <= found.value <= found.high
        covered += found.low <= 0.3 <= found.high
    assert 0.88 < covered / 200 < 0.99


def test_intervals_have_the_width_of_the_normal_approximation() -> None:
    right = np.arange(2000) % 4 == 0
    found = estimate(right.mean(), resample(lambda items: right[items].mean(), 2000, 2000))
    error = np.sqrt(0.25 * 0.75 / 2000)
    assert found.low == pytest.approx(0.25 - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(0.25 + 1.96 * error, abs=0.15 * error)


def test_values_and_differences_are_those_of_the_single_measures(questions: Path, pairs: Path) -> None:
    models = {"good": vectors(0.3), "bad": vectors(0.9)}
    result = compare(models, questions, [pairs])
    assert [(row.measure, row.group) for row in result.rows] == [
        (measure, group)
        for measure in ("questions", "questions, semantic", "questions, syntactic", "pairs")
        for group in models
    ]
    first, second = result.rows[:2]
    assert first.estimate.value == analogy.evaluate(models["good"], questions).accuracy
    assert second.estimate.value == analogy.evaluate(models["bad"], questions).accuracy
    assert result.rows[-1].estimate.value == similarity.evaluate(models["bad"], pairs).files[0].spearman
    assert first.difference is None
    assert second.difference is not None
    assert second.difference.value == pytest.approx(second.estimate.value - first.estimate.value)
    assert second.difference.low < second.difference.value < second.difference.high < 0
    assert first.items == len(questions.read_text().splitlines()) - 2
    for row in result.rows:
        assert row.estimate.low < row.estimate.value < row.estimate.high


def test_a_model_does_not_differ_from_itself_because_samples_are_paired(questions: Path, pairs: Path) -> None:
    result = compare({"one": vectors(0.5), "same": vectors(0.5)}, questions, pairs)
    for row in result.rows[1::2]:
        assert row.difference is not None
        assert (row.difference.low, row.difference.value, row.difference.high) == (0, 0, 0)


def test_the_same_seed_gives_the_same_intervals(pairs: Path) -> None:
    models = {"one": vectors(0.5), "other": vectors(0.6)}
    assert compare(models, pairs=pairs) == compare(models, pairs=pairs)
    assert compare(models, pairs=pairs, seed=2) != compare(models, pairs=pairs)


def test_models_are_compared_on_what_all_of_them_know(questions: Path) -> None:
    whole, part = vectors(0.3), vectors(0.3, words=40)
    result = compare({"whole": whole, "part": part}, questions)
    alone = analogy.evaluate(part, questions)
    assert result.rows[0].items == alone.total
    assert (result.rows[0].coverage, result.rows[1].coverage) == (1.0, alone.coverage)
    assert result.rows[1].estimate.value == alone.accuracy
    assert result.rows[0].estimate.value != analogy.evaluate(whole, questions).accuracy


def test_models_without_common_words_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("a b 1\na b 2\nc d 1\nc d 2\n")
    one, other = (WordVectors.from_table(words, np.eye(2, dtype=np.float32)) for words in (["a", "b"], ["c", "d"]))
    with pytest.raises(PosvecError, match=r"fewer than two questions or pairs of pairs have vectors in all models"):
        compare({"one": one, "other": other}, pairs=path)


def test_pooled_models_are_their_mean_and_seeds_widen_the_interval(questions: Path) -> None:
    models = {f"seed{i}": vectors(0.6, seed=i) for i in range(4)} | {"other": vectors(0.9, seed=9)}
    seeds = [f"seed{i}" for i in range(4)]
    result = compare(models, questions, groups={"pooled": seeds})
    assert result.groups == {"pooled": seeds, "other": ["other"]}
    pooled = result.rows[0]
    accuracies = [analogy.evaluate(models[name], questions).accuracy for name in seeds]
    assert (pooled.group, pooled.models) == ("pooled", 4)
    assert pooled.estimate.value == pytest.approx(np.mean(accuracies))
    # The interval over questions alone is narrower, because it does not include the variance between seeds.
    right = np.array([analogy.evaluate(models[name], questions).outcomes for name in seeds]).mean(0)
    alone = estimate(right.mean(), resample(lambda items: right[items].mean(), len(right)))
    assert pooled.estimate.high - pooled.estimate.low > alone.high - alone.low


@pytest.fixture(scope="module")
def trained(corpus: Path, small: dict, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, settings in {
        "a1": {"seed": 1},
        "a2": {"seed": 2, "threads": 2},
        "b": {"seed": 1, "window": 2},
        "again": {"seed": 1},
    }.items():
        posvec.train(corpus, "subword", **small | settings).save(folder / name)
    return folder


def test_models_that_differ_in_their_seed_alone_are_pooled(trained: Path) -> None:
    models = {name: posvec.load(trained / name) for name in ("a1", "b", "a2", "again")}
    assert seed_groups(models) == {"a1": ["a1", "a2"], "b": ["b"], "again": ["again"]}
    assert seed_groups({"one": vectors(0), "other": vectors(0)}) == {"one": ["one"], "other": ["other"]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"nothing to compare the models by"),
        ({"groups": {"x": ["none"]}}, r"the group x contains none, which is not among the models: one, other"),
        ({"groups": {"x": ["one"], "y": ["one"]}}, r"one is in the group x and again in y"),
        ({"groups": {"x": []}}, r"the group x has no models"),
        ({"confidence": 1.0}, r"confidence is 1\.0, but must be between 0 and 1"),
        ({"samples": 0}, r"samples is 0, but must be 1 to 1,000,000"),
    ],
)
def test_invalid_comparisons_are_rejected(pairs: Path, settings: dict, message: str) -> None:
    models = {"one": vectors(0.1), "other": vectors(0.2)}
    with pytest.raises(ConfigError, match=message):
        compare(models, pairs=pairs if settings else (), **settings)
    with pytest.raises(ConfigError, match=r"at least two models"):
        compare({"one": vectors(0.1)}, pairs=pairs)


def test_the_command_names_models_by_the_ends_of_their_paths(
    trained: Path, tmp_path: Path, posvec_command: Callable[..., object]
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("karan lotek 1\nmimol nebis 2\nsudun taran 3\ntatek sumol 1.5\n")
    command = ("compare", trained / "a1", trained / "b", trained / "a2", "--pairs", pairs, "--samples", 50)
    shown = posvec_command(*command)
    assert shown.code == 0, shown.err
    assert "Differences to a1" in shown.out
    assert "a1, a2" in shown.out
    out = tmp_path / "out.csv"
    assert posvec_command(*command, "-o", out).code == 0
    rows = list(csv.DictReader(out.open()))
    assert [(row["model"], row["seeds"], row["items"]) for row in rows] == [("a1", "2", "4"), ("b", "1", "4")]
    assert rows[0]["difference"] == ""
    assert float(rows[1]["difference_low"]) <= float(rows[1]["difference"]) <= float(rows[1]["difference_high"])
    named = json.loads(posvec_command(*command, "--group", f"all={trained / 'a1'},b", "--json").out)
    assert named["groups"] == {"all": ["a1", "b"], "a2": ["a2"]}
    for arguments, message in [
        (("--group", "x"), "is not NAME=MODEL,MODEL; use for example"),
        (("--group", "x=none"), "not among the models"),
        ((f"{trained / 'a1'}/",), "is given twice; give it once"),
    ]:
        refused = posvec_command(*command, *arguments)
        assert refused.code == 1
        assert message in refused.err
