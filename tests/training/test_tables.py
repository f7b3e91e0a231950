"""The tables while they are trained: initial values survive the number format, and models of any D learn in it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec._kernel import INPUT_UNIT
from posvec.model import Model
from posvec.system.arrays import kernel_view
from posvec.training.tables import Fixed16Tables
from posvec.vocabulary import Vocabulary

WORDS = [f"{topic}{number}" for topic in "abcdefghij" for number in range(5)]
SETTINGS = {"sample": 0.0, "min_count": 1, "threads": 1, "window": 3, "buckets": 1000}


@pytest.fixture(scope="module")
def topics() -> list[list[str]]:
    """Return lines about one of ten topics, each of five words."""
    draw = random.Random(1)
    chosen = (draw.randrange(10) for _ in range(700))
    return [[WORDS[5 * topic + draw.randrange(5)] for _ in range(12)] for topic in chosen]


def created(dim: int, seed: int = 1, word_dim: int = 0) -> Model:
    kind = "subword" if word_dim else "general"
    config = posvec.make_config(kind, dim=dim, seed=seed, word_dim=word_dim, **SETTINGS)
    return Model.create(config, Vocabulary.from_counts(dict.fromkeys(WORDS, 2), config.vocabulary))


def codes_of(model: Model, table: str = "input_vectors") -> np.ndarray:
    """The vectors of a table in units, without padding."""
    tables = Fixed16Tables(model)
    tables.take()
    units = np.array(getattr(model, table)) / INPUT_UNIT
    tables.export()
    return units


@pytest.mark.parametrize("precision", ["fixed16", "float32"])
@pytest.mark.parametrize("dim", [1, 30, 300, 2048, 2049, 4096, 8192])
def test_the_loss_falls_for_every_d(topics: list[list[str]], dim: int, precision: str) -> None:
    model = posvec.train(topics, "general", dim=dim, epochs=2, precision=precision, **SETTINGS)
    first, last = (epoch.loss for epoch in model.report.epochs)
    untrained = 11 * np.log(2)
    assert last < first - 0.02
    assert last < 0.5 * untrained
    if dim > 1:
        assert last < 2


@pytest.mark.parametrize(("dim", "word_dim"), [(32, 16), (4096, 2048), (6160, 4112), (8192, 16)])
def test_both_heads_learn_in_16_bits_for_every_d(topics: list[list[str]], dim: int, word_dim: int) -> None:
    before = created(dim, word_dim=word_dim)
    model = posvec.train(topics, "subword", dim=dim, word_dim=word_dim, epochs=2, precision="fixed16", **SETTINGS)
    first, last = (epoch.loss for epoch in model.report.epochs)
    assert last < first - 0.02
    assert last < 2.5
    for name in ("word_head", "input_vectors"):
        assert np.abs(getattr(model, name)).mean() > 2 * np.abs(getattr(before, name)).mean(), name


@pytest.mark.parametrize("dim", [30, 300, 1000, 2048, 3000, 4096, 8192])
@pytest.mark.parametrize("table", ["input_vectors", "word_head"])
def test_as_many_features_become_zero_as_rounding_at_random_gives(dim: int, table: str) -> None:
    if table == "word_head":
        dim -= dim % 16
        units = codes_of(created(dim + 16, word_dim=dim), table)
    else:
        units = codes_of(created(dim))
    bound = 1 / dim / INPUT_UNIT  # features are U(+-bound) units
    expected = 1 / (2 * bound) if bound >= 1 else 1 - bound / 2
    error = 4 * np.sqrt(expected / units.size)
    assert np.mean(units == 0) == pytest.approx(expected, abs=error)
    assert units.mean() == pytest.approx(0, abs=4 * units.std() / np.sqrt(units.size))
    assert np.abs(units).max() == max(1, round(bound))


@pytest.mark.parametrize("dim", [300, 4096, 8192])
def test_tables_are_packed_the_same_every_time(dim: int) -> None:
    model, again, other = created(dim), created(dim), created(dim, seed=2)
    first = codes_of(model)
    np.testing.assert_array_equal(codes_of(model), first)  # from the floats that a checkpoint would hold
    np.testing.assert_array_equal(codes_of(again), first)
    assert not np.array_equal(codes_of(other), first)
    assert not kernel_view(model.input_vectors)[:, dim:].any()


def test_training_of_a_large_d_resumes_with_the_same_bits(topics: list[list[str]], tmp_path: Path) -> None:
    class Interrupt:
        def on_chunk(self, progress: object) -> None:
            if (tmp_path / "model" / "config.json").exists():
                raise KeyboardInterrupt

        def on_epoch(self, progress: object) -> None: ...

    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(" ".join(line) + "\n" for line in topics))
    settings = {**SETTINGS, "dim": 5000, "epochs": 3, "checkpoint_minutes": 1e-9}
    whole = posvec.train(corpus, "constrained", **settings)
    with pytest.raises(KeyboardInterrupt):
        posvec.train(corpus, "constrained", **settings, output=tmp_path / "model", callbacks=[Interrupt()])
    assert 0 < posvec.load(tmp_path / "model").state.blocks_done < 3 * 17
    resumed = posvec.resume(tmp_path / "model")
    np.testing.assert_array_equal(resumed.input_vectors, whole.input_vectors)
    np.testing.assert_array_equal(resumed.output_vectors, whole.output_vectors)
