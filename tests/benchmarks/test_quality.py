"""The benchmark of quality trains, measures, continues where it was, and reports."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
QUESTIONS = 19
SIZE = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text made of the words of the development pairs, and test sets of the same words."""
    folder = tmp_path_factory.mktemp("quality")
    pairs = [line.split("\t") for line in (BENCHMARKS / "development" / "I01-noun-plural.txt").read_text().splitlines()]
    words = [(one, other.split("/")[0]) for one, other in pairs][: QUESTIONS + 1]
    draw = random.Random(1)
    lines = [" ".join(f"{one.title()}, {other}" for one, other in draw.sample(words, 5)) for _ in range(1000)]
    (folder / "text.txt").write_text("\n\n".join(lines))
    questions = [f"{' '.join(words[0])} {' '.join(pair)}" for pair in words[1:]]
    analogies = folder / "data" / "analogy" / "en" / "questions-words.txt"
    analogies.parent.mkdir(parents=True)
    analogies.write_text("\n".join([": capital", *questions[:5], "a b c unknown", ": gram", *questions[5:]]))
    (folder / "data" / "similarity").mkdir()
    for name in ("WS-353-ALL", "SIMLEX-999", "RW-STANFORD", "MTurk-771"):
        scores = [f"{one}\t{other}\t{i}" for i, (one, other) in enumerate(words)]
        (folder / "data" / "similarity" / f"EN-{name}.txt").write_text("\n".join(scores))
    return folder


def quality(folder: Path, *arguments: str) -> str:
    command = [sys.executable, BENCHMARKS / "quality.py", folder / "text.txt", folder / "data"]
    options = ["--work", folder / "work", "--trainers", "posvec", "--sizes", str(SIZE), "-o", folder / "quality"]
    done = subprocess.run([*command, *options, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_benchmark_trains_measures_continues_and_reports(folder: Path) -> None:
    options = ("--only", "def*", "--seeds", "1", "2")
    assert quality(folder, *options, "--list").split().count("open") == 2
    quality(folder, *options)
    lines = folder / "quality.jsonl"
    first, second = map(json.loads, lines.read_text().splitlines())
    assert [(each["trainer"], each["name"], each["words"], each["seed"]) for each in (first, second)] == [
        ("posvec", "defaults", SIZE, 1),
        ("posvec", "defaults", SIZE, 2),
    ]
    assert first["settings"] == {}
    assert first["all_settings"]["training"]["seed"] == 1
    assert first["seconds"] > first["training_seconds"] > 0
    assert sum(map(sum, (first["sections"]["capital"], first["sections"]["gram"]))) > 0
    assert first["sections"]["capital"][1:] == [5, 1]
    correct = first["sections"]["capital"][0] + first["sections"]["gram"][0]
    assert first["analogies"] == pytest.approx(100 * correct / QUESTIONS)
    assert first["correct of all"] == pytest.approx(100 * correct / (QUESTIONS + 1))
    assert first["derivational"] is None
    assert first["inflectional"] >= 0
    before = lines.read_text()
    assert quality(folder, *options, "--list").split().count("finished") == 2
    quality(folder, *options)
    assert lines.read_text() == before
    quality(folder, "--report")
    report = (folder / "quality.md").read_text()
    assert f"## {SIZE:,} words" in report
    assert "| posvec defaults | 2 |" in report


def test_parts_of_a_text_are_whole_lines_and_tokenized(folder: Path) -> None:
    quality(folder, "--only", "defaults")
    text = (folder / "work" / f"text-{SIZE}.txt").read_text()
    tokens = (folder / "work" / f"text-{SIZE}.tokens").read_text().split()
    assert (folder / "text.txt").read_text().startswith(text)
    assert text.endswith("\n")
    assert SIZE <= len(tokens) < SIZE + 10
    assert tokens == text.lower().replace(",", "").split()


def test_settings_that_changed_under_the_same_name_are_refused(folder: Path) -> None:
    quality(folder, "--only", "defaults")
    other = folder / "other.jsonl"
    run = json.loads((folder / "quality.jsonl").read_text().splitlines()[0])
    other.write_text(json.dumps(run | {"settings": {"dim": 10}}) + "\n")
    with pytest.raises(AssertionError, match="was made with other settings"):
        quality(folder, "--only", "defaults", "-o", str(other.with_suffix("")))
