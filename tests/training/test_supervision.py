"""Training that outgrows 16 bits goes on in float32; training that diverges ends with its last good state."""

from __future__ import annotations

import random
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posvec
from posvec import TrainingError
from posvec.storage.records import TrainingProgress
from posvec.training.divergence import check_parameters
from posvec.training.tables import Fixed16Tables

TABLES = ("input_vectors", "output_vectors", "word_head", "positional_vectors")
SOUNDS = {"cats": "mew", "dogs": "bark", "cows": "moo", "birds": "sing", "ducks": "quack", "lions": "roar"}
SATURATING: dict[str, Any] = {
    "dim": 32,
    "epochs": 3,
    "initial_lr": 0.07,
    "final_lr_ratio": 0.1,
    "sample": 0.0,
    "min_count": 1,
    "threads": 1,
}
DIVERGING: dict[str, Any] = {
    **SATURATING,
    "epochs": 6,
    "initial_lr": 0.1,
    "final_lr_ratio": 1.0,
    "score_limit": 6.0,
    "precision": "float32",
}
WARNING = r"^Training goes on in float32 after [\d,]+ words, because features have grown to the most that 16 bits can"


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus of the paper's sentence "unlike dogs cats mew" with several animals."""
    draw = random.Random(1)
    pairs = [draw.sample(list(SOUNDS), 2) for _ in range(20_000)]
    path = tmp_path_factory.mktemp("sounds") / "corpus.txt"
    path.write_text("".join(f"unlike {one} {other} {SOUNDS[other]}\n" for one, other in pairs))
    return path


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus of 50 words in fixed pairs."""
    draw = random.Random(1)
    words = [f"w{i}" for i in range(50)]
    pairs = [f"{word} {draw.choice(words)}" for word in words]
    path = tmp_path_factory.mktemp("fifty") / "corpus.txt"
    path.write_text("".join(" ".join(draw.choices(pairs, k=6)) + "\n" for _ in range(2000)))
    return path


class Interrupt:
    """Interrupts training after so many words, as Ctrl-C does."""

    def __init__(self, words: int) -> None:
        self.words = words

    def on_chunk(self, progress: TrainingProgress) -> None:
        if progress.words >= self.words:
            signal.raise_signal(signal.SIGINT)
            self.words = 10**9

    def on_epoch(self, progress: TrainingProgress) -> None: ...


def assert_same(one: posvec.Model, other: posvec.Model) -> None:
    for name in TABLES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("kind", "word_dim"), [("constrained", 0), ("positional", 0), ("positional", 16)])
@pytest.mark.parametrize("threads", [1, 3])
def test_tables_that_outgrow_16_bits_are_trained_on_in_float32(
    sounds: Path, kind: str, word_dim: int, threads: int
) -> None:
    with pytest.warns(UserWarning, match=WARNING) as told:
        model = posvec.train(sounds, kind, **{**SATURATING, "threads": threads, "word_dim": word_dim})
    assert len(told) == 1
    assert model.report is not None
    assert model.report.float32_after is not None
    assert 0 < model.report.float32_after < model.report.words
    assert model.report.config == model.config
    assert model.config.training.precision == "float32"
    losses = [epoch.loss for epoch in model.report.epochs]
    assert losses == sorted(losses, reverse=True)
    assert np.abs(model.output_vectors[:]).max() > 4, "16 bits cannot hold it"


@pytest.mark.filterwarnings("ignore:Training goes on in float32")
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("word_dim", [0, 16])
def test_the_change_to_float32_resumes_with_the_same_bits(
    sounds: Path, tmp_path: Path, early: bool, word_dim: int
) -> None:
    settings = {**SATURATING, "word_dim": word_dim}
    whole = posvec.train(sounds, "constrained", **settings)
    assert whole.report is not None
    changed = whole.report.float32_after
    assert changed is not None
    when = changed // 2 if early else (changed + whole.report.words) // 2
    when += 1300  # between two examinations
    output = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(sounds, "constrained", **settings, output=output, callbacks=[Interrupt(when)])
    saved = posvec.load(output)
    assert saved.state is not None
    assert saved.config.training.precision == ("fixed16" if early else "float32")
    assert saved.state.float32_after == (None if early else changed)
    resumed = posvec.resume(output)
    assert_same(resumed, whole)
    assert resumed.report is not None
    assert resumed.report.float32_after == changed
    assert_same(posvec.load(output, verify=True), whole)


def test_the_command_says_once_that_it_goes_on_in_float32(sounds: Path, tmp_path: Path, posvec_command: Any) -> None:
    flags = [text for name, value in SATURATING.items() for text in (f"--{name.replace('_', '-')}", value)]
    flags += ["--model", "constrained"]
    trained = posvec_command("train", sounds, "-o", tmp_path / "model", *flags)
    assert trained.code == 0
    assert (trained.out + trained.err).count("Training goes on in float32 after") == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = posvec_command("train", sounds, "-o", tmp_path / "quiet", *flags, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    shown = posvec_command("info", tmp_path / "model").out
    assert [line.split()[:2] for line in shown.splitlines() if "precision" in line] == [["precision", "float32"]]
    assert [line for line in shown.splitlines() if line.split()[:2] == ["float32", "after"]]


def test_vectors_that_16_bits_cannot_hold_are_trained_further_in_float32(sounds: Path) -> None:
    base = posvec.train(sounds, "constrained", **{**SATURATING, "precision": "float32"})
    base.output_vectors[:] *= 3
    with pytest.warns(UserWarning, match=r"^Training goes on in float32 after 0 words"):
        model = posvec.train(sounds, start=base, precision="fixed16", epochs=1, initial_lr=1e-9)
    np.testing.assert_allclose(model.output_vectors[:], base.output_vectors[:], atol=1e-3)


def test_features_at_the_bounds_are_counted(corpus: Path, small: dict[str, Any]) -> None:
    model = posvec.train(corpus, "constrained", **{**small, "dim": 40, "word_dim": 16})
    tables = Fixed16Tables(model)
    for name, bound in (("input_vectors", 16), ("word_head", 16), ("output_vectors", 4)):
        table = getattr(model, name)
        before = table.copy()
        assert tables.saturated() == 0
        table[: len(table) // 2, 3] = -bound
        table[: len(table) // 2, 5] = bound
        expected = 2 * (len(table) // 2) / table.size
        assert tables.saturated() == pytest.approx(expected)
        tables.take()
        assert tables.saturated() == pytest.approx(expected)
        tables.export()
        check_parameters(model)
        table[:] = bound
        with pytest.raises(TrainingError, match=r"^100% of the features have grown to the most that 16 bits can hold"):
            check_parameters(model)
        table[:] = before


@pytest.mark.parametrize("word_dim", [0, 16])
def test_divergence_is_noticed_and_the_last_good_state_can_be_resumed(
    fifty: Path, tmp_path: Path, word_dim: int
) -> None:
    output = tmp_path / "model"
    heads = {"word_dim": word_dim, "spelling_rate": 1.0} if word_dim else {}
    with pytest.raises(
        TrainingError, match=r"^the loss grew to 1\d(\.\d+)? in epoch [2-4] .*lower initial_lr"
    ) as raised:
        posvec.train(fifty, "subword" if word_dim else "general", **DIVERGING, **heads, output=output)
    assert f"posvec resume {output} --initial-lr 0.05" in str(raised.value)
    saved = posvec.load(output, verify=True)
    assert saved.state is not None
    assert 0 < saved.state.words < 72_000
    resumed = posvec.resume(output, initial_lr=0.01)
    assert resumed.report is not None
    assert resumed.report.words == 6 * 24_000
    assert resumed.report.loss < 3.2
    assert resumed.config.training.initial_lr == 0.01


def test_the_last_good_state_is_an_attribute_of_the_error(fifty: Path) -> None:
    with pytest.raises(TrainingError, match=r"before the loss grew, is the attribute model of this error$") as raised:
        posvec.train(fifty, "general", **DIVERGING)
    model = raised.value.model
    assert model is not None
    further = posvec.train(fifty, start=model, epochs=2, initial_lr=0.01)
    assert further.report is not None
    assert further.report.loss < 3.2


@pytest.mark.parametrize("precision", ["fixed16", "float32"])
def test_a_checkpoint_of_tables_that_are_too_large_to_copy_stays(
    fifty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    monkeypatch.setattr("posvec.training.supervision._MAX_COPY", 0)
    with pytest.raises(TrainingError, match=r"lower initial_lr \(now 0.1\) or set score_limit=0") as raised:
        posvec.train(fifty, "general", **{**DIVERGING, "precision": precision})
    assert raised.value.model is None


@pytest.mark.filterwarnings("ignore:Training goes on in float32")
def test_examining_takes_a_fraction_of_the_time(fifty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = Fixed16Tables.saturated
    monkeypatch.setattr(Fixed16Tables, "saturated", lambda tables: calls.append(1) or original(tables))
    posvec.train(fifty, "general", dim=8, epochs=50, sample=0.0, min_count=1, threads=1, initial_lr=0.025)
    assert 40 <= len(calls) <= 55  # once per epoch, until float32 is used


def test_divergence_on_a_few_words_is_noticed_at_the_end() -> None:
    settings = {**SATURATING, "dim": 16, "negatives": 5, "initial_lr": 10.0, "context_mean": "words", "epochs": 5}
    with pytest.raises(TrainingError, match=r"^(the loss grew to|the parameters overflowed) .*lower initial_lr"):
        posvec.train(["a b c"], "general", preset="fasttext", **settings)
