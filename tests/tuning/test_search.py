"""Hyperparameter search: spaces, objectives, pruning, budgets, resuming, several processes, databases, autotune."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import posvec
from posvec import ConfigError, PosvecError, vocabulary
from posvec.automatic import automatic_settings
from posvec.config import Config
from posvec.presets import make_config
from posvec.tuning.journal import JournalLock
from posvec.tuning.objectives import TestFiles, make_objectives
from posvec.tuning.space import Dimension, paper_space, parse_space, trial_config

optuna = pytest.importorskip("optuna")

from posvec.tuning import autotune, load_study, search  # noqa: E402


def near_window_6(model):
    return -abs(model.config.model.window - 6)


def size(model):
    return model.config.model.dim


@pytest.mark.parametrize(
    "text", ["window=1..50", "positional_dim=10..300:10", "initial_lr=0.01..0.1:log", "initializer=identity,vanilla",
             "subwords=true,false", "max_words=none,100", "dim=10,20"],
)  # fmt: skip
def test_a_dimension_round_trips_through_text(text):
    assert Dimension.parse(str(Dimension.parse(text))) == Dimension.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("windo=1..5", "did you mean window"), ("window=5..1", "empty"), ("window=0..5", "at least 1"),
     ("window=1.5..5", "whole number"), ("window=a..5", "not a number"), ("window=..", "not a number"),
     ("window", "use for example window=1..50"),
     ("window=5", "only one value"), ("window=5,5", "only one value"), ("window=5,6,5", "twice"),
     ("initializer=1..2", "cannot have a range"), ("initializer=identity,foo", "is one of"),
     ("subwords=true,maybe", "true or false"), ("sample=0..1:log", "above 0"), ("window=1..5:9", "step"),
     ("window=1..5:0", "step"), ("sample=0..nan", "number")],
)  # fmt: skip
def test_an_invalid_space_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_space([text])


def test_the_space_of_the_paper_depends_on_the_kind_of_model():
    assert [str(each) for each in paper_space(make_config("subword"))] == ["window=1..50"]
    assert [str(each) for each in paper_space(make_config())] == ["window=1..50"]
    constrained = paper_space(make_config("constrained"))
    assert [str(each) for each in constrained] == ["window=1..50", "positional_dim=10..300:10"]


def test_positional_features_stay_proportional_to_a_dim_that_is_searched():
    assert trial_config(make_config("constrained"), {"dim": 100}).model.positional_dim == 20
    assert trial_config(make_config("positional"), {"dim": 100}).model.positional_dim == 100


@pytest.mark.parametrize(
    ("objective", "searched", "message"),
    [("accuracy", (), "--questions"), ("similarity", (), "--pairs"), ("foo", (), "no objective"),
     ("nosuch_module:f", (), "cannot be imported"), ("json:nosuch", (), "cannot be imported"),
     ("validation_loss", ("negatives",), "cannot be compared"), ("validation_loss", ("sample",), "cannot be compared")],
)  # fmt: skip
def test_an_invalid_objective_is_refused(objective, searched, message):
    with pytest.raises(ConfigError, match=message):
        make_objectives([objective], TestFiles(), searched)


def test_a_search_finds_the_best_value_and_counts_the_corpus_once(corpus, small, tmp_path, monkeypatch):
    counted = []
    count = vocabulary.count_words
    monkeypatch.setattr(vocabulary, "count_words", lambda *args: counted.append(1) or count(*args))
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    result = search(
        corpus, output=tmp_path / "study", space=["window=1..12"], objectives=[near_window_6], trials=15, prune=False,
        **small,
    )  # fmt: skip
    assert result.best_trial.settings == {"window": 6}
    assert result.trials[0].settings == {"window": 4}, "the base configuration is the first trial"
    assert len(result.trials) == 15
    assert len(counted) == 1
    written = json.loads((tmp_path / "study/best.json").read_text())
    assert Config.from_dict(written["settings"]) == make_config(**{**small, "window": 6})
    assert len((tmp_path / "study/trials.csv").read_text().splitlines()) == 16


@pytest.mark.parametrize("many_words", [False, True])
def test_settings_that_are_neither_given_nor_searched_follow_the_corpus(
    corpus, tmp_path, monkeypatch, caplog, many_words
):
    counted = []
    count = vocabulary.count_words
    monkeypatch.setattr(vocabulary, "count_words", lambda *args: counted.append(1) or count(*args))
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    if many_words:
        monkeypatch.setattr("posvec.automatic._FEW_WORDS", 0)
    given = {"dim": 32, "buckets": 1000, "threads": 1, "sample": 0.001}
    expected = automatic_settings(1)
    with caplog.at_level(logging.INFO, "posvec"):
        result = search(
            corpus, output=tmp_path / "study", space=["window=2..20", "initial_lr=0.01..0.1"],
            objectives=["validation_loss"], trials=2, keep_best=True, **given,
        )  # fmt: skip
    assert [each.getMessage().partition(": ")[2] for each in caplog.records] == [
        f"30 epochs, sample = 0.001, min_count = {5 if many_words else 3}, D = 32 (W = 16), D' = 32, window 15, "
        "rate 0.05 to 0"
    ]
    assert len(counted) == 1
    assert result.trials[0].settings == {"window": 15, "initial_lr": 0.05}
    config = result.best_config
    assert config.training.epochs == expected["epochs"]
    assert config.vocabulary.min_count == (5 if many_words else 3)
    assert config.vocabulary.sample == 0.001
    report = posvec.load(tmp_path / "study/model").report
    assert report.before.automatic == ("epochs", "min_count")
    other = search(
        corpus, output=tmp_path / "other", space=["window=2..12"], objectives=["validation_loss"], trials=1,
        config=make_config(**given, epochs=1),
    )  # fmt: skip
    assert other.best_config.vocabulary.min_count == 5, "a whole configuration is used as it is"


def test_a_continued_search_has_the_same_trials_as_one_run(corpus, small, tmp_path):
    def run(name, trials):
        return search(
            corpus,
            output=tmp_path / name,
            space=["window=1..9"],
            objectives=["validation_loss"],
            trials=trials,
            **small,
        )

    run("two", 3)
    two, one = run("two", 7), run("one", 7)
    assert len(two.trials) == 7
    assert [each.settings for each in one.trials] == [each.settings for each in two.trials]
    assert one.best == two.best


def test_bad_trials_are_stopped_early(corpus, small, tmp_path):
    result = search(
        corpus, output=tmp_path / "study", space=["initial_lr=0.0001..0.2:log"], objectives=["validation_loss"],
        trials=14, **small,
    )  # fmt: skip
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    assert pruned
    assert all("worse than most" in trial.reason for trial in pruned)
    assert result.best_trial.settings["initial_lr"] > 0.01


def test_several_objectives_give_a_pareto_front(corpus, small, tmp_path):
    result = search(
        corpus, output=tmp_path / "study", space=["window=1..9", "dim=4..16"],
        objectives=[near_window_6, f"-{__name__}:size"], trials=10, **{**small, "positional_dim": 2},
    )  # fmt: skip
    front = [result.trials[number].values for number in result.best]
    one, other = result.objectives
    for trial in result.trials:
        assert not any(trial.values[one] > best[one] and trial.values[other] < best[other] for best in front)
    files = {path.name for path in (tmp_path / "study/front").iterdir()}
    assert files == {f"trial-{number}.json" for number in result.best}


def test_a_search_ends_when_time_is_up_but_finishes_one_trial(corpus, small, tmp_path):
    result = search(
        corpus, output=tmp_path / "study", space=["window=1..9"], objectives=["validation_loss"], seconds=0.01, **small
    )
    assert [trial.state for trial in result.trials] == ["complete"]


def test_invalid_combinations_are_skipped(corpus, small, tmp_path):
    result = search(
        corpus, output=tmp_path / "study", space=["dim=4..16", "positional_dim=1..16"], objectives=[near_window_6],
        trials=6, **small,
    )  # fmt: skip
    trained = [trial for trial in result.trials if trial.seconds is not None]
    assert len(trained) == 6
    assert all(trial.settings["positional_dim"] <= trial.settings["dim"] for trial in trained)


def test_an_objective_that_fails_is_reported(corpus, small, tmp_path):
    with pytest.raises(PosvecError, match="ZeroDivisionError"):
        search(corpus, output=tmp_path / "study", objectives=[lambda model: 1 / 0], trials=2, **small)
    assert load_study(tmp_path / "study").trials[0].state == "stopped"


def test_another_study_is_refused_unless_overwritten(corpus, long_corpus, small, tmp_path):
    same = {"output": tmp_path / "study", "space": ["window=1..9"], "objectives": ["validation_loss"], "trials": 1}
    search(corpus, **same, **small)
    for changed, message in [
        ({"space": ["window=1..5"]}, "space window=1..9, not window=1..5"),
        ({"objectives": [near_window_6]}, "objectives validation_loss, not near_window_6"),
        ({"dim": 8}, "dim 16, not 8"),
    ]:
        with pytest.raises(PosvecError, match=message):
            search(corpus, **{**small, **same, **changed})
    with pytest.raises(PosvecError, match="another corpus"):
        search(long_corpus, **same, **small)
    assert len(search(long_corpus, **same, **small, overwrite=True).trials) == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").touch()
    with pytest.raises(PosvecError, match=r"not a study: it contains thesis.tex"):
        search(corpus, **{**same, "output": tmp_path / "other"}, **small)


def test_the_command_line_searches_plots_and_trains_the_best(posvec_command, corpus, flags, tmp_path):
    pytest.importorskip("matplotlib")
    study = tmp_path / "study"
    ended = posvec_command(
        "search", corpus, "-o", study, "--objective", "validation_loss,-seconds", "--space", "window=1..9", "--space",
        "initial_lr=0.01..0.1:log", "--trials", 12, "--keep-best", "--plots", *flags,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "trial 12 of 12, best" in ended.err
    assert (
        posvec.load(study / "model").config.model.window
        == json.loads((study / "best.json").read_text())["searched"]["window"]
    )
    names = {"history", "front", "importance", "validation_loss-window", "validation_loss-initial_lr"}
    assert {path.stem for path in (study / "plots").iterdir()} == names
    assert posvec_command("train", corpus, "--config", study / "best.json", "-o", tmp_path / "model").code == 0
    assert posvec_command("study", study, "--json").out.count('"number"') == 12
    assert "no study" in posvec_command("study", tmp_path).err


def test_autotune_trains_the_best_on_all_of_the_corpus(posvec_command, corpus, flags, tmp_path):
    given = [flag for flag in flags if flag not in ("--window", "4")]
    given += ["--model", "constrained"]
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", "--autotune", "2s", *given)
    assert ended.code == 0, ended.err
    model, found = posvec.load(tmp_path / "model"), load_study(tmp_path / "model.search")
    assert model.config == found.best_config
    assert model.config.training.validation == 0
    assert {text.partition("=")[0] for text in found.space} == {"window", "positional_dim", "initial_lr"}
    assert posvec_command("train", corpus, "-o", tmp_path / "b", "--questions", corpus).code == 2
    refused = posvec_command("train", corpus, "-o", tmp_path / "b", "--autotune", "soon")
    assert refused.code == 2
    assert "'soon' is not a valid duration; use for example 90s, 10m or 1h30m" in " ".join(refused.err.split())


def test_autotune_follows_the_corpus_too(posvec_command, corpus, tmp_path):
    flags = ["--dim", 32, "--buckets", 1000, "--threads", 1, "--epochs", 1]
    ended = posvec_command("train", corpus, "-o", tmp_path / "model", "--autotune", "0.1s", *flags)
    assert ended.code == 0, ended.err
    assert " words: 1 epoch, sample = 0.0001, min_count = 3, D = 32 (W = 16)" in ended.err + ended.out
    model = posvec.load(tmp_path / "model")
    assert model.vocabulary.config.min_count == 3
    assert model.report.before.automatic == ("sample", "min_count")
    assert "(follows the corpus)" in posvec_command("info", tmp_path / "model").out


def test_autotune_needs_a_setting_to_search(corpus, small, tmp_path):
    with pytest.raises(ConfigError, match="every setting"):
        autotune(corpus, 1.0, output=tmp_path / "model", **{**small, "initial_lr": 0.1, "positional_dim": 2})


def test_a_search_stopped_by_ctrl_c_repeats_its_last_trial(posvec_process, long_corpus, flags, tmp_path):
    study = tmp_path / "study"
    arguments = ("search", long_corpus, "-o", study, "--objective", "validation_loss", *flags, "--epochs", 20)
    process = posvec_process(*arguments, "--trials", 50)
    deadline = time.monotonic() + 60
    while not (study / "best.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command again to continue" in err
    trials = load_study(study).trials
    assert trials[0].state == "complete"
    assert [trials[-2].state, trials[-1].state] == ["stopped", "waiting"]
    assert trials[-1].settings == trials[-2].settings


def _two_processes(corpus: Path, flags: list[str], folder: Path, *more: str) -> None:
    code = "from posvec.cli import main; main()"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, "search", str(corpus), "--objective", "validation_loss", "--trials", "8",
             "-o", str(folder / output), *more, *flags, "-q"], stderr=subprocess.PIPE,
        )
        for output in (("study", "study") if not more else ("one", "two"))
    ]  # fmt: skip
    for process in started:
        _, err = process.communicate(timeout=100)
        assert process.returncode == 0, err.decode()


def _check_shared(result) -> None:
    finished = [trial for trial in result.trials if trial.seconds is not None]
    assert len(finished) in (8, 9), "each process may finish its current trial"
    assert {trial.state for trial in result.trials} <= {"complete", "pruned"}


def test_two_processes_work_on_one_study(long_corpus, flags, tmp_path):
    _two_processes(long_corpus, flags, tmp_path)
    _check_shared(load_study(tmp_path / "study"))


@pytest.mark.skipif("POSVEC_TEST_POSTGRES" not in os.environ, reason="POSVEC_TEST_POSTGRES names no server")
def test_two_processes_share_a_study_in_postgresql(long_corpus, flags, tmp_path):
    url = os.environ["POSVEC_TEST_POSTGRES"]
    name = f"posvec-test-{os.getpid()}-{time.time_ns()}"
    _two_processes(long_corpus, flags, tmp_path, "--storage", url, "--name", name)
    try:
        _check_shared(load_study(tmp_path / "one", url, name))
        assert (tmp_path / "one/best.json").exists()
    finally:
        optuna.delete_study(study_name=name, storage=url)


def test_the_error_of_a_missing_database_hides_its_password(corpus, small, tmp_path):
    with pytest.raises(PosvecError, match=r"nosuch://me:\*\*\*@host") as error:
        search(
            corpus, output=tmp_path / "study", objectives=[near_window_6], storage="nosuch://me:secret@host/x", **small
        )
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("interrupted", ["flock", "pread"])
def test_a_signal_while_the_journal_is_locked_does_not_lock_it_for_ever(interrupted, tmp_path, monkeypatch):
    module = {"flock": fcntl, "pread": os}[interrupted]
    function = getattr(module, interrupted)

    def interrupt(*arguments):
        function(*arguments)
        monkeypatch.undo()
        raise KeyboardInterrupt

    journal = tmp_path / "journal.log"
    journal.write_text("{}\n")
    lock = JournalLock(journal)
    monkeypatch.setattr(module, interrupted, interrupt)
    with pytest.raises(KeyboardInterrupt):
        lock.acquire()
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the process waits for itself"))
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        lock.acquire()  # as if a signal had arrived immediately after it
        assert lock.acquire()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        lock.release()
    other = os.open(journal, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
