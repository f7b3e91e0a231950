"""Settings that follow the size of the corpus, and what is said about them."""

from __future__ import annotations

import io

import pytest

import posvec
from posvec.automatic import automatic_settings, describe_settings
from posvec.presets import PRESETS, make_config
from posvec.training.display import TerminalDisplay


@pytest.mark.parametrize("name", ["epochs", "sample"])
def test_the_more_words_the_fewer_epochs_and_frequent_words(name):
    sizes = [10**exponent for exponent in range(1, 12)]
    values = [automatic_settings(words)[name] for words in sizes]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] > 0


def test_small_corpora_keep_rarer_words():
    assert [automatic_settings(words)["min_count"] for words in (10**5, 10**6, 10**8, 10**9)] == [3, 3, 5, 5]


@pytest.mark.parametrize("words", [1, 100, 10**6, 12_345_678, 10**12])
def test_every_choice_is_allowed(words):
    config = make_config(**automatic_settings(words))
    assert config.training.epochs >= 1
    assert describe_settings(words, config)


def test_each_preset_has_a_model_unless_one_is_given():
    kinds = {preset: make_config(preset=preset).kind for preset in PRESETS}
    chosen = {"posvec": "two-heads", "fasttext": "subword", "gensim": "general", "masked": "positional"}
    assert kinds == {**dict.fromkeys(PRESETS, "constrained"), **chosen}
    assert make_config("positional").kind == "positional"


def test_a_corpus_gets_the_settings_of_its_size_and_given_ones_win(lines, small):
    chosen = {name: value for name, value in small.items() if name not in ("sample", "dim", "epochs")}
    words = sum(len(line.split()) for line in lines[:40])
    model = posvec.train(iter(lines[:40]), dim=40, **chosen)
    expected = automatic_settings(words)
    assert model.config.training.epochs == len(model.report.epochs) == expected["epochs"]
    assert model.config.vocabulary.sample == model.vocabulary.config.sample == expected["sample"]
    assert model.config.model.word_dim == 16
    given = posvec.train(iter(lines[:40]), dim=40, **chosen, epochs=2, sample=0.5)
    assert (given.config.training.epochs, given.vocabulary.config.sample) == (2, 0.5)


def test_words_are_counted_once_whatever_is_chosen(lines, small, monkeypatch):
    settings = {name: value for name, value in small.items() if name not in ("min_count", "window")}
    text = [*lines[:40], "thrice thrice thrice twice twice"]
    model = posvec.train(iter(text), **{**settings, "dim": 40, "epochs": 1})
    assert "thrice" in model.vocabulary
    assert "twice" not in model.vocabulary
    monkeypatch.setattr("posvec.automatic._FEW_WORDS", 0)
    model = posvec.train(iter(text), **{**settings, "dim": 40, "epochs": 1})
    assert "thrice" not in model.vocabulary
    assert model.vocabulary.config.min_count == model.config.vocabulary.min_count == 5
    counted = posvec.train(iter(text), "positional", **{**settings, "dim": 40, "epochs": 1, "min_count": 5})
    assert model.vocabulary.words == counted.vocabulary.words
    assert model.vocabulary.counts.tolist() == counted.vocabulary.counts.tolist()


def test_a_given_vocabulary_has_been_counted_elsewhere(lines, small, tmp_path):
    posvec.train(iter(lines[:40]), "general", **small).vocabulary.save(tmp_path / "vocabulary")
    settings = {**small, "dim": 40, "epochs": 1}
    model = posvec.train(iter(lines[:20]), vocabulary=tmp_path / "vocabulary", **settings)
    assert len(model.vocabulary) > 0


def test_training_shows_what_was_chosen_before_it_begins(lines, small):
    from rich.console import Console

    shown = io.StringIO()
    settings = {name: value for name, value in small.items() if name not in ("sample", "dim", "epochs")}
    with TerminalDisplay(Console(file=shown, width=200)) as display:
        posvec.train(iter(lines[:40]), dim=40, **settings, epochs=3, display=display)
    first = shown.getvalue().splitlines()[0]
    assert (
        " words: 3 epochs, sample = 0.0001, min_count = 1, D = 40 (W = 16), D' = 40, window 4, rate 0.05 to 0" in first
    )


def test_info_says_what_followed_the_corpus_and_what_the_time(lines, tmp_path, posvec_command):
    settings = {"dim": 32, "buckets": 1000, "threads": 1}
    posvec.train(iter(lines[:40]), **settings, epochs=2, output=tmp_path / "whole")
    shown = _settings_shown(posvec_command("info", tmp_path / "whole").out)
    assert shown["epochs"] == "2"
    assert shown["sample"] == "0.0001 (follows the corpus)"
    assert "last_epoch" not in shown
    model = posvec.train(iter(lines[:40]), **settings, time=60, output=tmp_path / "timed")
    model.config = model.config.replace(epochs=3, last_epoch=0.4285714285714286)
    model.save(tmp_path / "timed", overwrite=True)
    shown = _settings_shown(posvec_command("info", tmp_path / "timed").out)
    assert shown["epochs"] == "3 (fits the time)"
    assert shown["last_epoch"] == "0.429 (fits the time)"
    assert shown["sample"] == "0.0001 (follows the corpus)"


def _settings_shown(out: str) -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if len(line.split()) > 1}


def test_a_vocabulary_of_the_command_is_that_of_the_model(lines, tmp_path, posvec_command):
    text = tmp_path / "corpus.txt"
    text.write_text("\n".join([*lines[:40], "thrice thrice thrice twice twice"]) + "\n")
    assert posvec_command("vocab", text, "-o", tmp_path / "vocabulary").code == 0
    vocabulary = posvec.Vocabulary.load(tmp_path / "vocabulary")
    model = posvec.train(text, dim=32, buckets=1000, threads=1, epochs=1)
    assert vocabulary.words == model.vocabulary.words
    assert vocabulary.config == model.vocabulary.config
    assert (vocabulary.config.min_count, vocabulary.config.sample) == (3, 0.0001)
    assert posvec_command("vocab", text, "-o", tmp_path / "other", "--min-count", 5).code == 0
    assert posvec.Vocabulary.load(tmp_path / "other").config.min_count == 5


def test_the_command_prints_the_same_line(lines, tmp_path, posvec_command):
    (tmp_path / "corpus.txt").write_text("\n".join(lines[:40]) + "\n")
    flags = ["--dim", 40, "--epochs", 2, "--min-count", 1, "--threads", 1, "--buckets", 1000]
    done = posvec_command("train", tmp_path / "corpus.txt", "-o", tmp_path / "model", *flags)
    assert done.code == 0, done.err
    assert " words: 2 epochs, sample = 0.0001, min_count = 1, D = 40 (W = 16)" in done.err + done.out
    assert posvec.load(tmp_path / "model").config.vocabulary.sample == 0.0001
