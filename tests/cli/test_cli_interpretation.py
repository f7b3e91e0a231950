"""posvec mask, positions, clusters, context-words, examples and report."""

from __future__ import annotations

import csv
import json

import pytest

import posvec
from posvec.evaluation import clusters, context_words, examples, masked
from posvec.evaluation.positions import importance


@pytest.fixture(scope="module")
def saved(corpus, small, tmp_path_factory):
    """The folder of a saved constrained, a saved positional and a saved subword model."""
    folder = tmp_path_factory.mktemp("models")
    for kind in ("constrained", "positional", "subword"):
        more = {"positional_dim": 6} if kind == "constrained" else {}
        posvec.train(corpus, kind, **small, **more, output=folder / kind)
    return folder


@pytest.fixture(scope="module")
def sentence(saved):
    one, two, *_ = posvec.load(saved / "constrained").vocabulary.words
    return f"{one} [MASK] {two}"


def test_every_command_prints_what_the_library_returns(posvec_command, saved, sentence, corpus):
    model = posvec.load(saved / "constrained")
    word = model.vocabulary.words[5]
    path = saved / "constrained"
    for arguments, expected in (
        (["mask", path, sentence, "-n", 2, "--word", word], masked.predict(model, sentence, 2, [word])),
        (["mask", path, sentence, "--cluster", "antepositional"], None),
        (["mask", path, sentence, "--why", word], masked.explain(model, sentence, word)),
        (["positions", path], importance(model)),
        (["clusters", path, "--count", 3], clusters.find(model, 3)),
        (["clusters", path, "--count", "auto"], clusters.find(model, "auto")),
        (["context-words", path, "-n", 2, "--word", word], context_words.top(model, topn=2, words=[word])),
        (["examples", path, "-n", 1], examples.find(model, topn=1)),
        (["examples", path, corpus, "--sentences", 20], examples.find(model, corpus=corpus, sentences=20)),
    ):
        shown, as_json = posvec_command(*arguments), posvec_command(*arguments, "--json")
        assert (shown.code, as_json.code) == (0, 0), shown.err + as_json.err
        assert len(shown.out.splitlines()) > 4
        if expected:
            assert json.loads(as_json.out) == json.loads(expected.to_json())


def test_several_models_are_columns_of_one_table(posvec_command, saved):
    ended = posvec_command("positions", saved / "constrained", saved / "positional", "--json")
    assert list(json.loads(ended.out)["models"]) == ["constrained", "positional"]
    twice = posvec_command("positions", saved / "positional", saved / "constrained" / ".." / "positional", "--json")
    assert len(json.loads(twice.out)["models"]) == 2


def test_results_and_figures_go_to_files(posvec_command, saved, sentence, tmp_path):
    path = saved / "positional"
    word = posvec.load(path).vocabulary.words[5]
    for number, arguments in enumerate(
        (
            ["mask", path, sentence, "--why", word],
            ["positions", path],
            ["clusters", path, "--heat-map", tmp_path / "heat.svg"],
            ["context-words", path],
        )
    ):
        table, plot = tmp_path / f"{number}.csv", tmp_path / f"{number}.png"
        ended = posvec_command(*arguments, "-o", table, "--plot", plot)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
        assert len(list(csv.reader(table.open()))) > 1
        assert plot.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "heat.svg").read_text().startswith("<?xml")


def test_report_writes_a_page(posvec_command, saved, sentence, tmp_path):
    path = tmp_path / "report.html"
    ended = posvec_command("report", saved / "constrained", "-o", path, "--sentence", sentence)
    assert (ended.code, ended.out) == (0, "")
    assert f"{path} was written" in ended.err
    assert "<h1>constrained</h1>" in path.read_text()


def test_report_includes_analogies_and_similarity(posvec_command, saved, tmp_path):
    words = posvec.load(saved / "constrained").vocabulary.words
    (tmp_path / "questions.txt").write_text(": letters\n" + " ".join(words[:4]) + "\n")
    (tmp_path / "pairs.txt").write_text("".join(f"{words[i]} {words[i + 1]} {i}\n" for i in range(4)))
    given = ["--questions", tmp_path / "questions.txt", "--pairs", tmp_path / "pairs.txt"]
    ended = posvec_command("report", saved / "constrained", "-o", tmp_path / "report.html", *given)
    assert ended.code == 0, ended.err
    page = (tmp_path / "report.html").read_text()
    for shown in ("<h2>Analogies</h2>", "<td>letters</td>", "<h2>Similarity</h2>", "<td>pairs</td>"):
        assert shown in page


def test_existing_files_are_only_replaced_with_overwrite(posvec_command, saved, sentence, tmp_path):
    model, word = saved / "constrained", sentence.split()[0]
    for name, arguments in (
        ("a.json", ["mask", model, sentence, "-o"]),
        ("a.png", ["mask", model, sentence, "--why", word, "--plot"]),
        ("a.csv", ["examples", model, "-o"]),
        ("b.png", ["clusters", model, "--heat-map"]),
        ("report.html", ["report", model, "-o"]),
    ):
        path = tmp_path / name
        path.write_text("mine")
        ended = posvec_command(*arguments, path)
        assert ended.code == 1
        assert ended.err == f"Error: {path} exists already; choose another name or add --overwrite\n"
        assert path.read_text() == "mine"
        assert posvec_command(*arguments, path, "--overwrite").code == 0
        assert path.read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mask", "constrained", "no gap"], r"a sentence needs exactly one [MASK] where the word is to be predicted"),
        (["mask", "constrained", "[MASK] [MASK]"], "exactly one [MASK]"),
        (["mask", "constrained", "[MASK] ☃"], "no word of the sentence near its [MASK] has a vector"),
        (["mask", "constrained", "karan [MASK]", "--cluster", "odd"], "there is no cluster 'odd'; this model has "),
        (["mask", "subword", "karan [MASK]", "--cluster", "antepositional"], "a subword model has no positional"),
        (["mask", "constrained", "karan [MASK]", "--word", "moo"], "the model cannot predict moo: not in its"),
        (["mask", "constrained", "karan [MASK]", "-n", "0"], "there is nothing to predict; ask for at least one"),
        (["mask", "constrained", "karan [MASK]", "--plot", "x.png"], "add --why WORD"),
        (["mask", "constrained", "a [MASK]", "b [MASK]", "--why", "karan"], "one sentence at a time, not 2"),
        (["positions", "subword"], "a subword model has no positional vectors; train a positional or constrained"),
        (["positions", "nowhere"], "nowhere"),
        (["clusters", "subword"], "a subword model has no positional vectors"),
        (["clusters", "constrained", "--count", "99"], "6 positional features cannot form 99 clusters"),
        (["clusters", "constrained", "--count", "few"], "'few' is not a positive number or auto"),
        (
            ["clusters", "constrained", "-o", "x.txt"],
            "x.txt has no known result format; use the file extension .json or .csv",
        ),
        (
            ["clusters", "constrained", "--plot", "x.gif"],
            "x.gif has no known figure format; use the file extension .png",
        ),
        (["examples", "constrained", "nowhere.txt"], "nowhere.txt"),
        (["report", "nowhere", "-o", "x.html"], "nowhere"),
    ],
)
def test_errors_are_one_sentence(posvec_command, saved, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    command, model, *rest = arguments
    ended = posvec_command(command, saved / model, *rest)
    assert ended.code in (1, 2)
    assert ended.out == ""
    assert message in ended.err
    assert len([line for line in ended.err.splitlines() if line.startswith("Error")]) == 1
    assert not list(tmp_path.iterdir())
