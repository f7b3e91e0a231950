"""Training for a given time."""

from __future__ import annotations

import logging
import signal
import time
from typing import Any

import numpy as np
import pytest

import posvec
from posvec import ConfigError
from posvec.automatic import automatic_settings
from posvec.system.durations import parse_duration
from posvec.training import budget as budgets
from posvec.training.budget import MOST_EPOCHS, TimeBudget
from posvec.training.schedule import chunk_index, chunks_to_train

# A low rate: dozens of epochs of a text of 30 words would diverge at the default one.
SETTINGS = {"dim": 16, "window": 4, "buckets": 1000, "min_count": 1, "sample": 0.0, "threads": 1, "initial_lr": 0.01}
CHUNKS = 50


class Clock:
    """A clock that only goes on when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(budgets, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def simulate(
    clock: Clock, seconds: float, saving: float, chunk_seconds: Any, words: int = 66_000_000, ratio: float = 1.0
) -> Any:
    """Return the last configuration, the seconds that training took, what was announced, and the learning rates.

    The words that are trained are those expected of as many chunks, times the ratio.
    """
    said: list[posvec.Config] = []
    budget = TimeBudget(seconds, saving, words, said.append)
    started, done, rates = clock.now, 0, []
    config = budget.begin(posvec.make_config())
    while done < chunks_to_train(config, CHUNKS):
        clock.now += chunk_seconds(clock.now - started)
        done += 1
        if budget.is_due(ratio * done / CHUNKS):
            config = budget.plan(config, CHUNKS, done, ratio * done / CHUNKS)
        rates.append(1 - done / chunks_to_train(config, CHUNKS))
    return config, clock.now - started, said, rates


@pytest.mark.parametrize("chunk", [0.02, 0.3, 1.7])
def test_training_uses_its_time_and_leaves_time_to_save(clock: Clock, chunk: float) -> None:
    config, took, said, rates = simulate(clock, 100.0, 5.0, lambda _: chunk)
    most = MOST_EPOCHS * automatic_settings(66_000_000)["epochs"] * CHUNKS * chunk
    assert took == pytest.approx(min(95.0, most), abs=chunk)
    assert len(said) == 1
    assert said[0].training.total_epochs == pytest.approx(config.training.total_epochs, rel=0.05)
    assert (np.diff(rates) < 0.02).all()


def test_a_machine_that_becomes_slower_ends_in_time(clock: Clock) -> None:
    config, took, _, rates = simulate(clock, 100.0, 0.0, lambda now: 0.2 if now < 30 else 0.5)
    assert took == pytest.approx(100, abs=1)
    assert config.training.total_epochs == pytest.approx((30 / 0.2 + 70 / 0.5) / CHUNKS, rel=0.02)
    assert rates[-1] == 0


@pytest.mark.parametrize("ratio", [0.9, 1.1])
def test_training_ends_in_time_if_chunks_have_more_or_fewer_words_than_expected(clock: Clock, ratio: float) -> None:
    _, took, _, _ = simulate(clock, 100.0, 0.0, lambda _: 0.2, ratio=ratio)
    assert took == pytest.approx(100, abs=1)


def test_training_that_is_stopped_by_the_system_ends_at_once_when_it_goes_on(clock: Clock) -> None:
    _, took, _, _ = simulate(clock, 100.0, 0.0, lambda now: 600.0 if 50 < now < 51 else 0.9)
    assert took == pytest.approx(650, abs=2)


def test_a_part_of_an_epoch_is_trained_if_no_more_fits(clock: Clock) -> None:
    config, took, _, _ = simulate(clock, 10.0, 0.0, lambda _: 0.5)
    assert took == pytest.approx(10, abs=0.5)
    assert (config.training.epochs, config.training.last_epoch) == (1, pytest.approx(20 / CHUNKS))


@pytest.mark.parametrize("chunks", [1, 2, 3, 10, 97, 1000])
def test_the_chunks_of_a_part_of_an_epoch_are_spread_over_the_corpus(chunks: int) -> None:
    config = posvec.make_config(epochs=2, last_epoch=0.3)
    assert [chunk_index(config, chunks, i) for i in range(chunks)] == list(range(chunks))
    order = [chunk_index(config, chunks, chunks + i) for i in range(chunks)]
    assert sorted(order) == list(range(chunks))
    part = sorted(order[: chunks_to_train(config, chunks) - chunks])
    assert max(np.diff([-1, *part, chunks])) <= 3 / 0.3


@pytest.mark.parametrize("seconds", [1.5, "3s"])
def test_a_model_is_trained_in_time(long_corpus: Any, tmp_path: Any, seconds: float | str) -> None:
    started = time.monotonic()
    model = posvec.train(long_corpus, **{**SETTINGS, "dim": 64, "positional_dim": 64}, time=seconds)
    took = time.monotonic() - started
    training = model.config.training
    assert took < 1.2 * parse_duration(seconds)
    assert took > 0.8 * parse_duration(seconds) or training.total_epochs == 75
    assert model.report is not None
    assert len(model.report.epochs) == training.epochs
    assert model.report.words == pytest.approx(training.total_epochs * model.report.tokens, rel=0.05)
    assert {"epochs", "last_epoch"} <= set(model.report.before.automatic)


@pytest.mark.parametrize("seed", [0, 1])
def test_training_ends_with_its_time_whatever_part_of_the_lines_is_held_out(
    clock: Clock, long_corpus: Any, seed: int
) -> None:
    class Tick:
        chunks = 0

        def on_chunk(self, progress: Any) -> None:
            clock.now += 0.25
            self.chunks += 1

        def on_epoch(self, progress: Any) -> None: ...

    tick = Tick()
    model = posvec.train(long_corpus, **SETTINGS, seed=seed, validation=0.3, time=1000.0, callbacks=[tick])
    assert model.config.training.total_epochs > 13
    validated = 0.3 * 192  # chunks, for which time is left after the last epoch
    assert tick.chunks == pytest.approx(0.99 * 4000 - validated, abs=60)


def test_small_corpora_do_not_use_all_of_a_long_time(lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    most = MOST_EPOCHS * automatic_settings(1)["epochs"]
    with caplog.at_level(logging.INFO, "posvec"):
        model = posvec.train(iter(lines[:20]), **SETTINGS, time="10m")
    assert model.config.training.total_epochs == most
    first, second = (record.getMessage() for record in caplog.records)
    assert f": about {most} epochs, " in first
    assert second.startswith(f"More than {most} epochs do not improve")


def test_interrupted_training_resumes_with_the_number_of_epochs_that_was_decided(
    long_corpus: Any, tmp_path: Any
) -> None:
    class Interrupt:
        def on_chunk(self, progress: Any) -> None:
            if progress.seconds > 0.3:
                signal.raise_signal(signal.SIGTERM)

        def on_epoch(self, progress: Any) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        posvec.train(long_corpus, **{**SETTINGS, "dim": 64}, time=3.0, output=tmp_path / "m", callbacks=[Interrupt()])
    saved = posvec.load(tmp_path / "m")
    decided = saved.config.training.total_epochs
    assert decided < MOST_EPOCHS * automatic_settings(1)["epochs"]
    resumed = posvec.resume(tmp_path / "m")
    assert resumed.config.training.total_epochs == decided
    assert resumed.report is not None
    assert resumed.report.words == pytest.approx(decided * resumed.report.tokens, rel=0.05)
    assert "last_epoch" in resumed.report.before.automatic


def test_what_else_says_how_long_to_train_is_refused(corpus: Any, posvec_command: Any, tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"^epochs and time both say how long to train; leave out one of them$"):
        posvec.train(corpus, **SETTINGS, epochs=3, time=5)
    with pytest.raises(ConfigError, match=r"'soon' is not a valid duration"):
        posvec.train(corpus, **SETTINGS, time="soon")
    with pytest.raises(ConfigError, match=r"^time is 1e-06 s, of which reading the corpus .* give more$"):
        posvec.train(corpus, **SETTINGS, time=1e-6)
    flags = ["train", corpus, "-o", tmp_path / "model", "--time", "5s"]
    refused = posvec_command(*flags, "--epochs", 2)
    assert (refused.code, "epochs and time both say" in refused.err) == (1, True)
    assert posvec_command(*flags, "--autotune", "5s").code == 2
    assert posvec_command(*flags, "--cluster", "auto").code == 1
