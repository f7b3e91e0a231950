"""Positional vectors that are not finite: every evaluation, the explorer and the commands name the position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posvec import PosvecError, make_config
from posvec.evaluation import clusters, context_words, examples, masked, positions
from posvec.model import Model
from posvec.vocabulary import Vocabulary

SAID = "the positional vector of position -1 is not finite"


def make_model(value: float) -> Model:
    config = make_config(
        "constrained", dim=8, positional_dim=4, window=2, min_count=1, buckets=10, sample=0.0, threads=1
    )
    words = {word: 9 - number for number, word in enumerate("abcdefgh")}
    model = Model.create(config, Vocabulary.from_counts(words, config.vocabulary))
    model.output_vectors[:] = np.random.default_rng(1).normal(size=model.output_vectors.shape)
    model.positional_vectors[1, 2] = value
    return model


QUESTIONS: dict[str, Callable[[Model], object]] = {
    "clusters": clusters.find,
    "automatic clusters": lambda model: clusters.find(model, "auto"),
    "context words": context_words.top,
    "examples": examples.find,
    "positions": positions.importance,
    "mask": lambda model: masked.predict(model, "a [MASK] b"),
    "explanation": lambda model: masked.explain(model, "a [MASK] b", "c"),
    "context vector": lambda model: model.context_vector("a [MASK] b"),
    "sentence vector": lambda model: model.sentence_vectors(["a b c"], "positional"),
    "position": lambda model: model.predict_masked("a [MASK] b"),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("question", QUESTIONS)
def test_positional_vectors_that_are_not_finite_are_named(question: str, value: float) -> None:
    with pytest.raises(PosvecError, match=SAID):
        QUESTIONS[question](make_model(value))


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_largest_positional_vectors_are_finite(question: str) -> None:
    QUESTIONS[question](make_model(3e38))


def test_commands_name_the_position(tmp_path: Path, posvec_command: Callable[..., Any]) -> None:
    make_model(np.nan).save(tmp_path / "model")
    for command in ("clusters", "context-words", "examples", "positions"):
        ended = posvec_command(command, tmp_path / "model")
        assert (ended.code, ended.err.count("\n")) == (1, 1), command
        assert SAID in ended.err


def test_the_explorer_names_the_position(tmp_path: Path) -> None:
    client = pytest.importorskip("fastapi.testclient")
    from posvec.explorer.application import make_application
    from posvec.explorer.loaded_models import load_models

    make_model(np.nan).save(tmp_path / "model")
    application = make_application(load_models({"model": tmp_path / "model"}))
    explorer = client.TestClient(application, raise_server_exceptions=False, base_url="http://127.0.0.1")
    for page in ("clusters?", "context-words?", "examples?", "positions?", "masked?sentence=a+[MASK]&"):
        answer = explorer.get(f"/api/{page}model=model")
        assert answer.status_code == 400, page
        assert SAID in answer.json()["error"]
    for page in ("models?", "model?", "word?word=a&", "neighbors?word=a&", "map?word=a&"):
        assert explorer.get(f"/api/{page}model=model").status_code == 200, page
