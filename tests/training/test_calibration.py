"""Calibration at the end of training, and later on other text."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import posvec
from posvec import CorpusError
from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from posvec.query.masked_tokens import likelihoods, mask_tokens
from posvec.storage.calibration import Calibration
from posvec.training import calibration
from posvec.training.calibration import calibrate, calibrate_on_text, held_out_fraction, is_held_out

SETTINGS = {"preset": "small", "dim": 16, "epochs": 3, "min_count": 1, "threads": 1, "window": 3}


def make_lines(count, seed):
    draw = np.random.default_rng(seed)
    animals, verbs = ["cat", "dog", "cow", "hen"], ["mews", "barks", "moos", "clucks"]
    picked = draw.integers(4, size=(count, 2)).tolist()
    return [f"the {animals[one]} {verbs[one]} and a {animals[other]} sleeps" for one, other in picked]


@pytest.fixture
def short_corpora(monkeypatch):
    """Corpora of a thousand lines and more are long enough for lines to be held out."""
    monkeypatch.setattr(calibration, "LINES", 100)
    monkeypatch.setattr(calibration, "LEAST_LINES", 1000)
    monkeypatch.setattr(calibration, "LARGEST_FRACTION", 0.08)


def test_lines_are_held_out_of_large_corpora_alone(short_corpora):
    config = posvec.make_config()
    for count, expected in ((999, 0), (1000, 0.08), (4000, 0.025)):
        with open_corpus(make_lines(count, 1)) as opened:
            encoded = encode(opened, posvec.Vocabulary.count(opened))
        assert held_out_fraction(config, encoded) == expected
        assert held_out_fraction(config.replace(calibrate=False), encoded) == 0
        assert held_out_fraction(config.replace(validation=0.2), encoded) == 0.2


def test_the_kernel_does_not_train_what_is_held_out(short_corpora):
    lines = make_lines(2000, 1)
    model = posvec.train(lines, "general", **SETTINGS)
    left_out = is_held_out(np.arange(2000, dtype=np.uint64), 0.05)
    assert 60 < left_out.sum() < 140
    words = sum(len(line.split()) for line, out in zip(lines, left_out, strict=True) if not out)
    assert model.report.words == 3 * words
    assert posvec.train(lines, "general", calibrate=False, **SETTINGS).report.words == 3 * 7 * 2000


def test_training_calibrates_and_the_model_keeps_it(short_corpora, tmp_path):
    lines = make_lines(3000, 1)
    model = posvec.train(lines, "positional", output=tmp_path / "model", **SETTINGS)
    assert model.calibration.masked_words == 7 * int(is_held_out(np.arange(3000, dtype=np.uint64), 100 / 3000).sum())
    loaded = posvec.load(tmp_path / "model")
    assert loaded.calibration == model.calibration
    sentence = "the cat [MASK] and a dog sleeps"
    assert loaded.predict_masked(sentence) == model.predict_masked(sentence)
    # Text of the same kind is more likely with it than without.
    tokens = mask_tokens(model, [line.split() for line in make_lines(300, 2)])
    theory = Calibration.of_theory(1)
    found, before = (likelihoods(model, each, tokens).log_probabilities.mean() for each in (model.calibration, theory))
    assert found > before


def test_validation_lines_serve_calibration_too(short_corpora):
    model = posvec.train(make_lines(600, 1), "general", validation=0.3, **SETTINGS)
    assert model.calibration.masked_words >= 200
    assert posvec.train(make_lines(600, 1), "general", calibrate=False, validation=0.3, **SETTINGS).calibration is None


def test_models_of_short_corpora_have_the_calibration_of_theory():
    model = posvec.train(make_lines(600, 1), "general", **SETTINGS)
    assert model.calibration is None
    assert model.calibrated == Calibration.of_theory(1)


def test_a_model_is_calibrated_on_other_text():
    model = posvec.train(make_lines(600, 1), "general", **SETTINGS)
    found = calibrate_on_text(model, make_lines(200, 2), words=500)
    assert model.calibration == found
    assert found.masked_words == 500
    with pytest.raises(CorpusError, match=r"has 7 words that <general model.*> can predict, but calibration needs 200"):
        calibrate_on_text(model, make_lines(1, 2))


def test_posvec_calibrate_saves_the_calibration(posvec_command, tmp_path):
    corpus, other = tmp_path / "corpus.txt", tmp_path / "other.txt"
    corpus.write_text("\n".join(make_lines(600, 1)) + "\n")
    other.write_text("\n".join(make_lines(300, 2)) + "\n")
    posvec.train(corpus, "general", output=tmp_path / "model", **SETTINGS)
    before = posvec.load(tmp_path / "model").vectors["cat"]
    ended = posvec_command("calibrate", tmp_path / "model", other, "--words", 400)
    assert ended.code == 0, ended.err
    assert "fitted to 400 masked words" in ended.out
    loaded = posvec.load(tmp_path / "model", verify=True)
    assert loaded.calibration.masked_words == 400
    assert (loaded.vectors["cat"] == before).all()


@pytest.mark.parametrize(
    "damage", [{"prior": "x"}, {"factors": [1.0, 2.0]}, {"factors": [float("nan")]}, {"noise": None}, {"more": 1}]
)
def test_a_damaged_calibration_is_refused(tmp_path, damage):
    model = posvec.train(make_lines(600, 1), "general", **SETTINGS)
    model.calibration = Calibration((0.9,), (0.1,), 0.8, 0.7, 100)
    model.save(tmp_path / "model")
    assert posvec.load(tmp_path / "model").calibration == model.calibration
    manifest = tmp_path / "model" / "config.json"
    values = json.loads(manifest.read_text())
    values["calibration"] |= damage
    manifest.write_text(json.dumps(values))
    with pytest.raises(posvec.ModelError, match="is damaged"):
        posvec.load(tmp_path / "model")


def test_calibrating_changes_nothing_else(short_corpora):
    model = posvec.train(make_lines(1500, 1), "constrained", **SETTINGS)
    with open_corpus(make_lines(1500, 1)) as opened:
        encoded = encode(opened, model.vocabulary)
    tables = [table.copy() for table in model.trained_tables()]
    assert calibrate(model, encoded) == model.calibration
    assert dataclasses.asdict(model.calibration)["masked_words"] > 200
    for table, before in zip(model.trained_tables(), tables, strict=True):
        assert (table == before).all()
