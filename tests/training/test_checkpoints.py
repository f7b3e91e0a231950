"""Checkpoints that were damaged, or that somebody else has made: what they say is not trusted."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import posvec
from posvec import ModelError
from posvec.system.remote import server_of

TOKENS = 7200  # of the corpus


@pytest.fixture(scope="module")
def checkpoint(corpus: Path, small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose training ended in the second epoch."""

    class InterruptInSecondEpoch:
        def on_chunk(self, progress: Any) -> None:
            if progress.epoch == 2 and progress.fraction > 0.5:
                signal.raise_signal(signal.SIGTERM)

        def on_epoch(self, progress: Any) -> None: ...

    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    with pytest.raises(KeyboardInterrupt):
        posvec.train(corpus, **{**small, "epochs": 3}, output=folder, callbacks=[InterruptInSecondEpoch()])
    assert posvec.load(folder).state is not None
    return folder


@pytest.fixture
def changed(checkpoint: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies the checkpoint with changed values in its state."""

    def change(**values: Any) -> Path:
        folder = shutil.copytree(checkpoint, tmp_path / "model", dirs_exist_ok=True)
        config = json.loads((folder / "config.json").read_text())
        config["state"] |= values
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    return change


EPOCH = {"loss": 2.0, "validation_loss": None, "seconds": 1.0}


def test_the_checkpoint_itself_is_resumed(changed: Callable[..., Path]) -> None:
    assert len(posvec.resume(changed()).report.epochs) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"blocks_done": 10**18}, r"is damaged: after epoch 1, blocks_done is \d+ to \d+, not 1,000,000,"),
        ({"blocks_done": 0}, r"is damaged: after epoch 1, blocks_done is"),
        ({"epochs": []}, r"is damaged: after epoch 0, blocks_done is 0 to"),
        ({"epochs": [EPOCH] * 9}, r"is damaged: it has 9 epochs of 3"),
        ({"epochs": [EPOCH] * 3}, r"is damaged: after epoch 3, blocks_done is"),
        ({"words": 10**18}, r"is damaged: words is 1,000,000,000,000,000,000, and 1 epochs"),
        ({"masked_words": 10**18}, r"is damaged: masked_words is .*, and words is"),
        ({"words": 0, "masked_words": 0}, r"is damaged: epoch_words is"),
        ({"epoch_words": TOKENS + 1, "words": 2 * TOKENS + 1}, r"is damaged: epoch_words is 7,201, and the epoch has"),
        ({"epoch_masked_words": 10**9}, r"is damaged: epoch_masked_words is"),
        ({"float32_after": 10**18}, r"is damaged: float32_after is 1,000,000,000,000,000,000, and words is"),
        ({"blocks_done": -1}, r"config.json is damaged \(blocks_done is -1\)"),
        ({"blocks_done": True}, r"config.json is damaged \(blocks_done is True\)"),
        ({"blocks_done": 10**30}, r"config.json is damaged \(blocks_done is 1000"),
        ({"blocks_done": 5.5}, r"config.json is damaged \(blocks_done is 5.5\)"),
        ({"seconds": float("nan")}, r"config.json is damaged \(seconds is nan\)"),
        ({"seconds": -1.0}, r"config.json is damaged \(seconds is -1.0\)"),
        ({"epoch_loss": float("inf")}, r"config.json is damaged \(epoch_loss is inf\)"),
        ({"epochs": [{"loss": 2.0}]}, r"config.json is damaged \(\w+ is missing\)"),
        ({"epochs": [{**EPOCH, "x": 1}]}, r"config.json is damaged \(a EpochReport has no 'x'\)"),
        ({"epochs": [5]}, r"config.json is damaged \(5 does not describe a EpochReport\)"),
        ({"epochs": [{**EPOCH, "loss": "2"}]}, r"config.json is damaged \(loss is '2'\)"),
        ({"epochs": {}}, r"config.json is damaged \(epochs is \{\}\)"),
        ({"sources": [5]}, r"config.json is damaged \(sources is \[5\]\)"),
        ({"content": None, "corpus": ""}, r"config.json is damaged \(content is None\)"),
        ({"corpus": "", "content": ""}, r"has changed since training"),
        ({"before": {"counting": -1}}, r"config.json is damaged \(counting is -1\)"),
        ({"before": []}, r"config.json is damaged \(\[\] does not describe a Preparation\)"),
        ({"line\nbreak": 1}, r"config.json is damaged \(a TrainingState has no 'line\\nbreak'\)"),
    ],
)
def test_an_impossible_state_is_refused_in_a_sentence(
    changed: Callable[..., Path], values: dict[str, Any], message: str
) -> None:
    folder = changed(**values)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ModelError, match=message) as caught:
        posvec.resume(folder)
    assert "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("state", [{}, [], 0, "", False, {"blocks_done": 1}])
def test_a_state_that_is_empty_or_something_else_is_not_taken_for_complete_training(
    changed: Callable[..., Path], state: Any
) -> None:
    folder = changed()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "state": state}))
    with pytest.raises(ModelError, match=r"config.json is damaged"):
        posvec.resume(folder)


# ---- sources -----------------------------------------------------------------------------------------------------


@pytest.fixture
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a remote file system is opened."""
    monkeypatch.setattr("posvec.system.remote._open_filesystem", lambda url: pytest.fail(f"{url} was opened"))


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize(
    "source",
    [
        "http://192.0.2.1/corpus.txt",
        "https://user:word@example.org/corpus.txt",
        "s3://bucket/corpus.txt",
        "HTTP://192.0.2.1/corpus.txt",
        "file:///corpus.txt::http://192.0.2.1/corpus.txt",
        "simplecache://x::http://192.0.2.1/corpus.txt",
        "memory://x::http://192.0.2.1/corpus.txt",
    ],
)
def test_a_checkpoint_reads_from_no_server_without_consent(
    changed: Callable[..., Path], corpus: Path, source: str, posvec_command: Callable[..., Any]
) -> None:
    folder = changed(sources=[str(corpus), source])
    with pytest.raises(ModelError, match=r"reads its corpus from .*--allow-network \(allow_network=True\).*CORPUS"):
        posvec.resume(folder)
    ended = posvec_command("resume", folder)
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "--allow-network" in ended.err


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize(
    "source",
    ["wikipedia:cs", "-", "corpus.txt", "/", "/dev/zero", "/nowhere/*.txt", "filecache::http://h/x", "\0"],
)
def test_a_checkpoint_reads_files_only(changed: Callable[..., Path], source: str) -> None:
    with pytest.raises(ModelError, match=r"that .* was being trained on is gone"):
        posvec.resume(changed(sources=[source]), allow_network=True)


def test_a_remote_corpus_is_read_with_consent_or_from_the_server_of_the_checkpoint(
    changed: Callable[..., Path], corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from posvec.training.checkpoints import sources_of

    url = "s3://bucket/texts/corpus.txt"
    state = posvec.load(changed(sources=[url])).state
    assert state is not None
    assert sources_of(state, "model", allow_network=True) == [url]
    assert sources_of(state, "s3://bucket/model") == [url]
    for other in ("s3://another/model", "gs://bucket/model", "model"):
        with pytest.raises(ModelError, match="--allow-network"):
            sources_of(state, other)
    assert posvec.resume(changed(sources=[url]), corpus).state is None


def test_the_server_of_a_url() -> None:
    assert [server_of(url) for url in ("s3://b/x/y", "https://u:p@h:1/x", "file:///x", "memory://x")] == [
        "s3://b", "https://u:p@h:1", "", "",
    ]  # fmt: skip
    assert server_of("file:///x::http://h/") != ""
