"""Settings: the four models, presets, checks, JSON."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from posvec import Config, ConfigError, make_config
from posvec.config import GROUPS, SETTINGS
from posvec.presets import MODELS, PRESETS


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_model_under_every_preset_is_of_its_kind(kind, preset):
    without_ngrams = {"subword": "general", "two-heads": "positional"}
    made = without_ngrams.get(kind, kind) if preset == "masked" else kind
    assert make_config(kind, preset).kind == made
    assert make_config(kind, preset, dim=20).kind == made


def test_positional_features_follow_the_features_unless_they_are_given():
    assert make_config("positional", dim=40).model.positional_dim == 40
    assert make_config("constrained", dim=40).model.positional_dim == 8
    assert make_config("constrained", dim=40.0).model.positional_dim == 8
    assert make_config("constrained", dim=np.int64(40)).model.positional_dim == 8
    assert make_config("constrained", dim=1).model.positional_dim == 1
    assert make_config("general", dim=40).model.positional_dim == 0
    assert make_config("constrained", dim=40, positional_dim=30).model.positional_dim == 30


def test_the_word_head_follows_the_dimension_in_models_with_two_heads():
    sizes = {dim: make_config(dim=dim).model.word_dim for dim in (1, 16, 17, 32, 100, 304)}
    assert sizes == {1: 0, 16: 0, 17: 16, 32: 16, 100: 48, 304: 144}
    shape = make_config().model
    assert (shape.dim, shape.positional_dim, shape.word_dim) == (304, 304, 144)
    assert make_config(dim=100).model.positional_dim == 100
    assert make_config("positional").model.word_dim == 0
    assert make_config("positional", word_dim=32).model.word_dim == 32
    assert make_config("positional", word_dim=32).kind == "two-heads"


def test_learning_rates_follow_the_preset_unless_they_are_given():
    configs = {preset: [make_config(kind, preset) for kind in MODELS] for preset in PRESETS}
    rates = {
        preset: {(config.training.initial_lr, config.training.final_lr_ratio) for config in each}
        for preset, each in configs.items()
    }
    assert rates == {
        **{preset: {(0.05, 0.0)} for preset in ("posvec", "paper", "as-run", "fasttext", "masked")},
        "gensim": {(0.025, 0.004)},
        "small": {(0.05, 0.5)},
    }
    assert make_config("subword", "gensim", initial_lr=0.03).training.initial_lr == 0.03


def test_the_paper_s_models_have_the_paper_s_shapes():
    shapes = {
        kind: (c.subwords.subwords, c.model.dim, c.model.positional_dim, c.model.window)
        for kind, c in ((kind, make_config(kind)) for kind in MODELS)
    }
    assert shapes == {
        "two-heads": (True, 304, 304, 15),
        "general": (False, 300, 0, 5),
        "subword": (True, 300, 0, 5),
        "positional": (True, 300, 300, 15),
        "constrained": (True, 300, 60, 15),
    }


def test_single_settings_win_over_the_preset():
    assert make_config("general", "small").model.dim != 17
    assert make_config("general", "small", dim=17).model.dim == 17


def test_names_of_settings_are_unique_over_the_groups():
    names = [entry.name for group in GROUPS.values() for entry in dataclasses.fields(group)]
    assert sorted(names) == sorted(SETTINGS)


def test_a_configuration_survives_json():
    config = make_config("constrained", dim=50, max_words=1000, tokenizer="whitespace", train_positions=False)
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_what_a_stored_configuration_lacks_takes_its_default():
    assert Config.from_dict({"model": {"dim": 7}}) == Config().replace(dim=7)


def test_replace_leaves_the_original_alone():
    config = make_config("general")
    assert config.replace(dim=7, epochs=3).training.epochs == 3
    assert config == make_config("general")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, r"^window is 0, but must be at least 1$"),
        ({"dim": 10, "positional_dim": 11}, r"positional_dim \(D' = 11\) is greater than dim \(D = 10\)"),
        ({"min_n": 5, "max_n": 4}, r"min_n \(5\) is greater than max_n \(4\)"),
        ({"patience": 2}, r"patience needs a validation loss"),
        ({"validation": 0.9}, r"^validation is 0.9, but must be at most 0.5$"),
        ({"buckets": 2**31}, r"^buckets is 2147483648, but must be at most 2,147,483,647$"),
        ({"sample": -1e-5}, r"^sample is -1e-05, but must be at least 0$"),
        ({"epochs": 0}, r"^epochs is 0, but must be at least 1$"),
        ({"dim": -5}, r"^dim is -5, but must be at least 1$"),
        ({"dim": "100"}, r"^dim is a whole number, not '100'$"),
        ({"dim": 10.5}, r"^dim is a whole number, not 10.5$"),
        ({"dim": True}, r"^dim is a whole number, not True$"),
        ({"dim": None}, r"^dim is a whole number, not None$"),
        ({"dim": 10**400}, r"^dim is 1000+, but must be at most 65,536$"),
        ({"initial_lr": float("nan")}, r"^initial_lr is a number, not nan$"),
        ({"initial_lr": float("inf")}, r"^initial_lr is a number, not inf$"),
        ({"initial_lr": 10**400}, r"^initial_lr is a number, not 1000+$"),
        ({"initial_lr": [0.05]}, r"^initial_lr is a number, not \[0.05\]$"),
        ({"subwords": "yes"}, r"^subwords is true or false, not 'yes'$"),
        ({"initializer": "zeros"}, r"^initializer is one of sqrt_normal, .*, not 'zeros'$"),
        ({"tokenizer": ["word"]}, r"^tokenizer is one of word, whitespace, not \['word'\]$"),
        ({"dims": 10}, r"^there is no setting 'dims' \(did you mean dim\?\); posvec train --help lists all of them$"),
        ({"zzz": 10}, r"^there is no setting 'zzz'; posvec train --help"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        make_config("subword", **settings)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"modle": {"dim": 5}}, r"has the groups text, vocabulary, subwords, model, training, not 'modle'"),
        ({"model": 5}, r"has the groups .* not 'model'"),
        ({"training": {"dim": 5}}, r"^dim belongs to the group model, not to training; move it$"),
        ({"model": {"dimension": 5}}, r"no setting 'dimension'"),
    ],
)
def test_a_stored_configuration_that_cannot_be_is_refused(stored, message):
    with pytest.raises(ConfigError, match=message):
        Config.from_dict(stored)


def test_unknown_models_and_presets_are_answered_with_those_that_exist():
    known = "two-heads, general, subword, positional, constrained"
    with pytest.raises(ConfigError, match=rf"no model 'cbow'; choose from {known}"):
        make_config("cbow")
    with pytest.raises(ConfigError, match=r"no preset 'big'; choose from posvec, paper, as-run"):
        make_config("general", "big")


def test_earlier_names_of_settings_are_still_accepted():
    assert make_config(final_lr_share=0.2) == make_config(final_lr_ratio=0.2)
    assert Config().replace(final_lr_share=0.2).training.final_lr_ratio == 0.2
    assert Config.from_dict({"training": {"final_lr_share": 0.2}}).training.final_lr_ratio == 0.2
    with pytest.raises(
        ConfigError, match=r"^final_lr_share is an earlier name of final_lr_ratio; give final_lr_ratio "
    ):
        make_config(final_lr_share=0.2, final_lr_ratio=0.3)


def test_help_says_what_settings_do_in_comparison_with_others() -> None:
    """Each of these sentences was once wrong."""
    help = {name: each.help for name, each in SETTINGS.items()}
    assert "gensim 3.8" in help["score_limit"]
    assert "positional_gradient=summed" in help["input_gradient"]
    assert "input_gradient=exact" in help["positional_gradient"]
