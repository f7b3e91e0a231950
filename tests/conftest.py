"""Shared fixtures: a cache for the tests, small corpora, small settings and models, the command line."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

with contextlib.suppress(ImportError):
    import ray  # noqa: F401 (before usearch, or it aborts: posvec.distributed.cluster)

import hypothesis
import numpy as np
import pytest

from posvec.model import Model
from posvec.presets import make_config
from posvec.subwords import build_rows
from posvec.system.signals import STOP_SIGNALS
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    from posvec.explorer.loaded_models import LoadedModel

# No deadline: the time of an example depends more on the load of the machine than on posvec.
hypothesis.settings.register_profile("posvec", deadline=None)
hypothesis.settings.load_profile("posvec")

# Small enough for many trainings per second; with one thread, training is reproducible bit for bit.
SETTINGS: dict[str, Any] = {
    "dim": 16,
    "window": 4,
    "buckets": 1000,
    "min_count": 1,
    "sample": 0.0,
    "negatives": 3,
    "epochs": 1,
    "threads": 1,
}


@dataclass(frozen=True)
class Ended:
    """The result of a finished command."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True, scope="session")
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVEC_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("POSVEC_CPU", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _signals_at_their_defaults() -> Iterator[None]:
    """Let tests send signals that ``nohup`` and background jobs ignore, to themselves and to the commands they run."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    return dict(SETTINGS)


@pytest.fixture(scope="session")
def flags() -> list[str]:
    """Return the small settings as flags of the command line."""
    return [part for name, value in SETTINGS.items() for part in (f"--{name.replace('_', '-')}", str(value))]


@pytest.fixture(scope="session")
def lines() -> list[str]:
    """Return 600 lines of 12 words each, in fixed pairs, so that there are cooccurrences to learn."""
    draw = random.Random(1)
    words = [one + two for one in ("ka", "lo", "mi", "ne", "su", "ta") for two in ("ran", "tek", "mol", "bis", "dun")]
    pairs = [(word, draw.choice(words)) for word in words]
    return [" ".join(word for pair in draw.choices(pairs, k=6) for word in pair) for _ in range(600)]


@pytest.fixture(scope="session")
def corpus(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def lm_model(corpus: Path, small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a saved model whose vectors language models are trained on."""
    from posvec.training.pipeline import train

    path = tmp_path_factory.mktemp("model") / "vectors"
    train(corpus, "constrained", **small, output=path)
    return path


@pytest.fixture(scope="session")
def lm_data(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the texts that language models are trained and tested on."""
    folder = tmp_path_factory.mktemp("data")
    for name, part in {"train": lines[:60], "valid": lines[60:80], "test": lines[80:100]}.items():
        (folder / f"{name}.txt").write_text("\n".join(part) + "\n")
    return folder


@pytest.fixture(scope="session")
def explored(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return two saved models, constrained and subword, that have the words of the explorer's first pages."""
    from posvec.training.pipeline import train

    draw = random.Random(3)
    animals = ["unlike", "dogs", "cats", "mew", "bark", "fruit", "flies", "like", "cat", "dog"]
    people = ["man", "king", "woman", "queen"]
    folder = tmp_path_factory.mktemp("explored")
    sentences = [*lines, *(" ".join(draw.sample(animals + people, 6)) for _ in range(200))]
    for kind in ("constrained", "subword"):
        train(sentences, kind, **{**SETTINGS, "epochs": 3, "validation": 0.05}).save(folder / kind)
    return {kind: folder / kind for kind in ("constrained", "subword")}


@pytest.fixture(scope="session")
def loaded_models(explored: dict[str, Path]) -> dict[str, LoadedModel]:
    """Return the same models, loaded by the explorer."""
    from posvec.explorer.loaded_models import load_models

    return load_models(explored)


@pytest.fixture(scope="session")
def site(loaded_models: dict[str, LoadedModel]) -> Iterator[str]:
    """Return the URL of a running explorer."""
    import uvicorn

    from posvec.explorer.application import listen, page_url, server_settings

    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(server_settings(loaded_models))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield page_url(listening, "127.0.0.1").rstrip("/")
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="session")
def long_corpus(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus of 96,000 words, trained in 192 chunks: long enough to interrupt training within an epoch."""
    path = tmp_path_factory.mktemp("corpus") / "long.txt"
    order = random.Random(2).choices(lines, k=8000)
    path.write_text("\n".join(order) + "\n")
    return path


@pytest.fixture(scope="session")
def build_model() -> Callable[..., Model]:
    """Return a function that creates a model from given vectors, so that the results of its queries are known."""

    def build(inputs: dict[str, list[float]], outputs: Any, positional: Any, **settings: Any) -> Model:
        given = np.array(list(inputs.values()), np.float32)
        weights = np.array(positional, np.float32)
        shape = {"dim": given.shape[1], "positional_dim": weights.shape[1], "window": len(weights) // 2}
        config = make_config("general", **shape, min_count=1, **settings)
        # counts descend, so that words keep their order
        vocabulary = Vocabulary.from_counts({word: 1000 - i for i, word in enumerate(inputs)}, config.vocabulary)
        rows = build_rows(vocabulary, config.subwords)
        return Model(config, vocabulary, rows, given, np.array(outputs, np.float32), weights)

    return build


@pytest.fixture
def posvec_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs the command line in this process, which is fast."""
    from posvec.cli import main

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["posvec", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    return run


@pytest.fixture
def posvec_process() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return a function that runs the command line in a new process, which can be sent signals."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: object, stdin: Any = subprocess.DEVNULL, before: str = "") -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", f"{before}from posvec.cli import main; main()", *map(str, arguments)],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # The tests may run where SIGINT is ignored, as behind & in a script.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
