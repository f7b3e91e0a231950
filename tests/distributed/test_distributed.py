"""Training on a Ray cluster: counts and ids as on one machine, convergence, workers and drivers that die, search."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import posvec
from posvec import CorpusError, PosvecError
from posvec.corpus.encoding import encode
from posvec.corpus.sources import open_corpus
from posvec.distributed.options import make_options
from posvec.errors import ConfigError
from posvec.model import Model
from posvec.presets import make_config
from posvec.training.loop import StopTraining
from posvec.tuning import load_study
from posvec.vocabulary import Vocabulary

ray = pytest.importorskip("ray", reason='needs Ray: pip install "posvec[distributed]"')

from posvec import distributed  # noqa: E402
from posvec.distributed import corpus as cluster_corpus  # noqa: E402
from posvec.distributed.worker_pool import WorkerPool  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


def test_a_process_that_has_opened_an_index_is_told_so_rather_than_aborted():
    pytest.importorskip("usearch")
    code = (
        "import usearch\nfrom posvec import distributed\n"
        "try: distributed.train(['a b'], cluster='local')\nexcept Exception as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("Ray cannot start in a process that has opened an approximate index; train in")


@pytest.fixture(scope="module")
def varied(tmp_path_factory) -> Path:
    """60,000 words of 300 kinds, of which some follow each other; enough for a few hundred rounds."""
    draw = random.Random(5)
    words = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "s", "lo", "ti")]
    lines = []
    for _ in range(6000):
        at = draw.randrange(len(words))
        lines.append(" ".join(words[(at + draw.randrange(6)) % len(words)] for _ in range(10)))
    path = tmp_path_factory.mktemp("varied") / "corpus.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


SMALL = {
    "dim": 16, "window": 4, "buckets": 5000, "min_count": 1, "sample": 0.0, "negatives": 3, "epochs": 1,
    "initial_lr": 0.07, "final_lr_ratio": 0.1, "threads": 1,
}  # fmt: skip


# ---- counting and encoding ----------------------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path):
    """Files with all that makes lines hard to cut, and what they are read as."""
    draw = random.Random(7)
    vocabulary = ["a", "bee", "été", "naïve", "日本", "x" * 40, "zebra"]
    lines = [" ".join(draw.choices(vocabulary, k=draw.choice([0, 1, 3, 30]))) for _ in range(400)]
    (tmp_path / "one.txt").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode() + b"\n")
    (tmp_path / "two.txt").write_bytes("\r\n".join(lines).encode())  # without a line end behind the last
    (tmp_path / "three.txt.gz").write_bytes(gzip.compress("\n".join(reversed(lines)).encode()))
    (tmp_path / "four.txt").write_text(" ".join(lines))  # one long line
    return {"files": [tmp_path / name for name in ("one.txt", "two.txt", "three.txt.gz", "four.txt")], "lines": lines}


@pytest.mark.parametrize("kind", ["files", "lines"])
@pytest.mark.parametrize("piece", [97, 1000, 1 << 20])
def test_words_are_counted_and_encoded_as_on_one_machine(cluster, sources, kind, piece, monkeypatch):
    monkeypatch.setattr(cluster_corpus, "_MAX_PIECE_BYTES", piece)
    config = make_config(min_count=20).vocabulary
    with open_corpus(iter(sources[kind]) if kind == "lines" else sources[kind]) as corpus:
        expected = Vocabulary.count(corpus, config)
        counted = cluster_corpus.count(corpus, config, 2)
        assert counted.words == expected.words
        assert counted.counts.tolist() == expected.counts.tolist()
        assert counted.total_words == expected.total_words
        whole, shards = encode(corpus, expected), cluster_corpus.encode(corpus, expected, 2)
    assert (shards.tokens, len(shards), shards.chunks) == (whole.tokens, len(whole), whole.chunks)
    assert (shards.in_vocabulary, shards.digest) == (whole.in_vocabulary, whole.digest)
    for index in range(whole.chunks):
        there, here = shards.chunk(index), whole.chunk(index)
        assert there.tokens_before == here.tokens_before
        assert there.first_line + there.begin == here.begin
        assert _lines_of(there) == _lines_of(here)


def _lines_of(chunk):
    begins = chunk.lines[chunk.begin : chunk.end + 1].tolist()
    return [chunk.ids[a:b].tolist() for a, b in pairwise(begins)]


def test_a_line_that_is_not_utf_8_is_named_by_its_number_in_the_file(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_corpus, "_MAX_PIECE_BYTES", 50)
    path = tmp_path / "bad.txt"
    path.write_bytes(b"some words here\n" * 30 + b"caf\xe9\n" + b"more words\n" * 30)
    with pytest.raises(CorpusError, match="line 31;"):
        distributed.train(path, **SMALL)


@pytest.mark.parametrize(("content", "said"), [(b"\n \n", "no words in"), (b"a b c", "occurs 5 times: it has 3 words")])
def test_a_corpus_without_words_is_refused_as_on_one_machine(cluster, tmp_path, content, said):
    path = tmp_path / "few.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=said):
        distributed.train(path, **{**SMALL, "min_count": 5})


# ---- training -----------------------------------------------------------------------------------------------------


class Killer:
    """Kills a worker when so many words were trained, as an operator or a lack of memory does."""

    def __init__(self, monkeypatch, words: int) -> None:
        self.words, self.killed = words, 0
        self.workers: list[WorkerPool] = []
        begin = WorkerPool.start
        monkeypatch.setattr(WorkerPool, "start", lambda each, *args: self.workers.append(each) or begin(each, *args))

    def on_chunk(self, progress):
        if progress.words >= self.words and not self.killed:
            self.killed = ray.get(self.workers[-1].actors[1].process_id.remote())
            os.kill(self.killed, signal.SIGKILL)

    def on_epoch(self, progress): ...


@pytest.fixture(scope="module")
def trained(cluster, varied):
    return distributed.train(varied, "constrained", **{**SMALL, "epochs": 2}, workers=2, validation=0.1)


def test_two_workers_learn_what_one_process_learns(trained, varied):
    import posvec

    alone = posvec.train(varied, "constrained", **{**SMALL, "epochs": 2}, validation=0.1)
    assert trained.vocabulary.words == alone.vocabulary.words
    assert trained.report.words == alone.report.words
    assert trained.report.masked_words == alone.report.masked_words
    untrained = (1 + SMALL["negatives"]) * np.log(2)
    learnt = untrained - alone.report.validation_loss
    assert untrained - trained.report.validation_loss > 0.9 * learnt
    assert trained.report.cluster.workers == 2
    assert trained.report.cluster.rounds >= 100
    assert trained.report.cluster.bytes_sent > trained.input_vectors.nbytes
    assert trained.report.cluster.replaced == 0


def test_one_worker_learns_what_one_process_learns_up_to_rounding(cluster, varied):
    import posvec

    model = distributed.train(varied, "constrained", **SMALL, workers=1)
    alone = posvec.train(varied, "constrained", **SMALL)
    assert model.input_vectors == pytest.approx(alone.input_vectors, abs=1e-5)
    assert model.output_vectors == pytest.approx(alone.output_vectors, abs=1e-5)
    assert model.positional_vectors == pytest.approx(alone.positional_vectors, abs=1e-5)
    assert model.report.loss == pytest.approx(alone.report.loss)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_train_both_heads(cluster, varied, workers):
    settings = {**SMALL, "dim": 32, "word_dim": 16, "positional_dim": 32, "epochs": 2}
    model = distributed.train(varied, "positional", **settings, workers=workers)
    alone = posvec.train(varied, "positional", **settings)
    if workers == 1:  # rounding of d, which is float32, changes some roundings of 16-bit rows, by a step each
        for table, other in zip(model.trained_tables(), alone.trained_tables(), strict=True):
            assert np.abs(table - other).mean() < 1e-3 * np.abs(other).mean()
        assert model.report.loss == pytest.approx(alone.report.loss, rel=1e-3)
        return
    untrained = (1 + SMALL["negatives"]) * np.log(2)
    assert untrained - model.report.loss > 0.8 * (untrained - alone.report.loss)
    initial = Model.create(model.config, model.vocabulary)
    for table, before in zip(model.trained_tables(), initial.trained_tables(), strict=True):
        assert (table != before).any(1).mean() > 0.9


def test_at_first_one_worker_trains_alone_and_every_stretch_is_trained_once(cluster, varied, monkeypatch):
    rounds = []
    train = WorkerPool.train
    monkeypatch.setattr(WorkerPool, "train", lambda each, bounds: rounds.append(bounds) or train(each, bounds))
    distributed.train(varied, "subword", **SMALL, workers=2, warmup_words=2000)
    assert [bounds[0] for bounds in rounds[1:]] == [bounds[-1] for bounds in rounds[:-1]]
    alone = [bounds for bounds in rounds if bounds[1] == bounds[2] > bounds[0]]
    assert alone
    assert alone == rounds[: len(alone)]
    assert alone[-1][-1] / rounds[-1][-1] == pytest.approx(2000 / 60_000, abs=0.01)


def test_a_worker_that_is_killed_changes_nothing(trained, varied, monkeypatch):
    killer = Killer(monkeypatch, 40_000)
    model = distributed.train(
        varied, "constrained", **{**SMALL, "epochs": 2}, workers=2, validation=0.1, callbacks=[killer]
    )
    assert killer.killed
    assert model.report.cluster.replaced == 1
    assert model.report.words == trained.report.words
    assert model.report.loss == pytest.approx(trained.report.loss)
    both = ((*each.trained_tables(), each.positional_vectors) for each in (model, trained))
    for one, other in zip(*both, strict=True):
        assert (one == other).all()


def test_a_driver_that_is_killed_is_resumed_from_its_checkpoint(cluster, varied, tmp_path, posvec_process):
    flags = [part for name, value in SMALL.items() for part in (f"--{name.replace('_', '-')}", value)]
    driver = posvec_process(
        "train", varied, "-o", tmp_path / "model", *flags, "--epochs", 30, "--checkpoint-minutes", 0.001,
        "--cluster", "local", "--workers", 2,
    )  # fmt: skip
    while driver.poll() is None and not (tmp_path / "model/config.json").exists():
        time.sleep(0.05)
    assert driver.poll() is None, driver.communicate()[1].decode()
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    state = Model.load(tmp_path / "model", verify=True).state
    assert state is not None
    assert 0 < state.words < 30 * 60_000
    # Not all of the rest, which takes long: an epoch ends and training is stopped.
    epochs = len(state.epochs) + 1
    model = distributed.resume(tmp_path / "model", workers=2, callbacks=[StopAfter(epochs)])
    assert model.report.words == epochs * 60_000
    assert model.report.cluster.workers == 2
    assert Model.load(tmp_path / "model").state is None


class StopAfter:
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_chunk(self, progress): ...

    def on_epoch(self, progress):
        if progress.epoch == self.epochs:
            raise StopTraining


def test_workers_that_have_no_room_are_refused(cluster, varied):
    with pytest.raises(PosvecError, match="2 processors, and 3 workers of 1 threads need 3"):
        distributed.train(varied, **SMALL, workers=3)


@pytest.mark.parametrize(
    ("option", "said"),
    [({"workers": 0}, "at least 1"), ({"warmup_words": -1}, "at least 0"), ({"combine": "magic"}, "one of")],
)
def test_options_that_cannot_be_are_refused(option, said):
    with pytest.raises(ConfigError, match=said):
        make_options(**option)


def test_options_of_clusters_need_a_cluster_on_the_command_line(varied, tmp_path, posvec_command):
    ended = posvec_command("train", varied, "-o", tmp_path / "model", "--workers", 2)
    assert ended.code == 2
    assert "--cluster auto" in ended.err


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "127.0.0.1:99999"])
def test_an_address_where_no_cluster_answers_is_refused_at_once(varied, address, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # though the tests are connected to one
    with pytest.raises(PosvecError, match=f"no Ray cluster answers at {address}"):
        distributed.train(varied, **SMALL, cluster=address)


def test_a_search_shares_its_trials_between_workers(cluster, varied, tmp_path, posvec_command):
    pytest.importorskip("optuna")
    flags = [part for name, value in SMALL.items() for part in (f"--{name.replace('_', '-')}", value)]
    ended = posvec_command(
        "search", varied, "-o", tmp_path / "study", "--space", "window=1..9", "--objective", "validation_loss",
        "--trials", 4, "--cluster", "local", "--workers", 2, *flags,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "Best of" in ended.out
    found = load_study(tmp_path / "study")
    assert sum(trial.state == "complete" for trial in found.trials) >= 4
    assert (tmp_path / "study/best.json").exists()
