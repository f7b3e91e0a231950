"""Killed processes, two processes in one folder, clocks that jump, Ctrl-C during startup.

A longer test with more commands is ``python reliability/crash.py``.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import posvec
from conftest import Ended
from posvec.corpus.cache import new_entry, publish, read_entry
from posvec.system.atomic import TEMPORARY, move_folder, replacing, replacing_folder, temporary_folder
from posvec.training import loop as training
from posvec.training.display import describe
from posvec.tuning import summary
from posvec.tuning.journal import JournalLock
from posvec.tuning.storage import locate_storage

RELIABILITY = Path(__file__).parents[2] / "reliability"
sys.path.insert(0, str(RELIABILITY))

from killing import Moment, run  # noqa: E402

# ---- killed processes -----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="it kills by the CPU clock of another process, which Linux has")
def test_killed_commands_lose_nothing_and_can_be_continued() -> None:
    command = [sys.executable, RELIABILITY / "crash.py", "--runs", "4", "--seed", "7"]
    ended = subprocess.run([*command, "prepare", "save", "convert", "fetch"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="it uses the CPU clock of another process, which Linux has")
def test_signals_at_random_moments_lose_nothing_and_leave_no_temporary_files() -> None:
    command = [sys.executable, RELIABILITY / "signals.py", "--minutes", "0.08", "--seed", "3"]
    ended = subprocess.run([*command, "train", "convert", "compress"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def killed_everywhere(command: Callable[[], object], log: Path) -> Iterator[None]:
    """Kill a command before its first file operation, before its second, and so on until it completes."""
    for operation in range(1, 100):
        if not run(command, log, Moment(operation=operation)).killed:
            return
        yield


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if TEMPORARY.fullmatch(path.name)]


def test_a_file_is_old_or_new_wherever_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "files" / "text"
    path.parent.mkdir()

    def write(text: bytes = b"new") -> None:
        with replacing(path) as stream:
            stream.write(text)

    kills = 0
    write(b"old")
    for _ in killed_everywhere(write, tmp_path / "log"):
        assert path.read_bytes() in (b"old", b"new")
        kills += 1
        write(b"old")
        assert left(path.parent) == []
    assert kills >= 2
    assert path.read_bytes() == b"new"


def test_a_folder_is_old_or_new_wherever_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "folders" / "model"

    def write(text: str = "new") -> None:
        with replacing_folder(path, overwrite=True) as folder:
            for name in ("a", "b"):
                (folder / name).write_text(text)

    kills = 0
    write("old")
    for _ in killed_everywhere(write, tmp_path / "log"):
        assert {name: (path / name).read_text() for name in ("a", "b")} in ({"a": t, "b": t} for t in ("old", "new"))
        kills += 1
        write("old")
        assert left(path.parent) == []
    assert kills >= 6


def test_a_folder_is_replaced_where_names_cannot_be_swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("posvec.system.atomic._swap", lambda one, two: False)
    for text in ("old", "new"):
        with temporary_folder(tmp_path) as folder:
            (folder / "a").write_text(text)
            move_folder(folder, tmp_path / "model")
    assert (tmp_path / "model" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_cache_entry_is_complete_absent_or_detected_wherever_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "encoded" / "entry"

    def write() -> None:
        with new_entry(path) as folder:
            (folder / "ids").write_bytes(bytes(1000))
            publish(folder, path, {})

    kills = 0
    for _ in killed_everywhere(write, tmp_path / "log"):
        assert not path.exists()
        kills += 1
    assert kills >= 5
    assert read_entry(path) is not None
    assert left(path.parent) == []

    (path / "ids").write_bytes(bytes(999) + b"1")
    kills = 0
    for _ in killed_everywhere(write, tmp_path / "log"):
        assert (path / "ids").read_bytes() in (bytes(1000), bytes(999) + b"1")
        kills += 1
    assert kills >= 5
    assert read_entry(path) is not None
    assert left(path.parent) == []


def test_an_incomplete_line_of_a_journal_is_dropped_before_the_next_one(tmp_path: Path) -> None:
    journal = tmp_path / "journal.log"
    for content, kept in ((b"", b""), (b"{}\n", b"{}\n"), (b"{}\n{}\n{", b"{}\n{}\n"), (b"{", b"")):
        journal.write_bytes(content)
        lock = JournalLock(journal)
        lock.acquire()
        lock.release()
        assert journal.read_bytes() == kept


def test_a_journal_that_cannot_be_locked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(
        posvec.PosvecError, match=r"journal\.log cannot be locked \(No locks available\); put the study"
    ):
        JournalLock(tmp_path / "journal.log").acquire()


def test_a_study_whose_creator_was_killed_before_describing_it_can_be_continued(
    corpus: Path, small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    optuna = pytest.importorskip("optuna")
    from posvec.tuning import search

    monkeypatch.setattr(summary.time, "sleep", lambda seconds: None)
    storage, name = locate_storage(tmp_path, None, None)
    optuna.create_study(study_name=name, storage=storage, directions=["minimize"])
    (tmp_path / "journal.log.lock").symlink_to("journal.log")  # a lock of Optuna that a killed process left
    found = search(
        corpus, "general", output=tmp_path, objectives=["validation_loss"], space=["window=1..3"], trials=1, **small
    )  # fmt: skip
    assert found.best == (0,)


# ---- two processes ---------------------------------------------------------------------------------------------------


@contextmanager
def another_process_in(folder: Path) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    os.close(lock)


@pytest.mark.parametrize(
    "command",
    [
        "train {corpus} -o {model} --overwrite -q",
        "train {corpus} -o {nothing} -q",
        "resume {model} -q",
        "convert {lm_model} {model} --overwrite",
        "compress {lm_model} {model} --overwrite",
    ],
)
def test_the_second_of_two_processes_in_one_folder_is_refused_at_once(
    posvec_command: Callable[..., Ended], corpus: Path, lm_model: Path, tmp_path: Path, command: str
) -> None:
    model, nothing = tmp_path / "model", tmp_path / "nothing"
    posvec.load(lm_model).save(model)
    before = {path: path.read_bytes() for path in model.iterdir()}
    words = command.format(corpus=corpus, model=model, nothing=nothing, lm_model=lm_model).split()
    with another_process_in(model), another_process_in(nothing):
        ended = posvec_command(*words)
    target = nothing if str(nothing) in words else model
    assert ended.code == 1
    assert ended.err == f"Error: another process is working in {target}; wait for it or choose another output\n"
    assert {path: path.read_bytes() for path in model.iterdir()} == before
    assert list(nothing.iterdir()) == []


def test_a_second_training_of_a_language_model_is_refused_at_once(
    lm_model: Path, lm_data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from posvec import language_model

    with another_process_in(tmp_path / "lm"), pytest.raises(posvec.ModelError, match="another process is working in"):
        language_model.train(lm_model, lm_data, tmp_path / "lm", hidden=16)


def test_concurrent_writers_of_a_file_leave_a_complete_version(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write(text: bytes) -> None:
        for _ in range(50):
            with replacing(path) as stream:
                stream.write(text * 10_000)

    writers = [threading.Thread(target=write, args=[text]) for text in (b"a", b"b")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            assert path.read_bytes() in (b"a" * 10_000, b"b" * 10_000)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


# ---- clocks --------------------------------------------------------------------------------------------------------


class Jumping:
    """A clock that jumps by years or backwards at every call."""

    def __init__(self) -> None:
        self.draw = random.Random(1)

    def monotonic(self) -> float:
        return self.draw.choice([0.0, 1.0, 1e9, -1e9])

    time = monotonic


def test_a_clock_that_jumps_leaves_speeds_and_times_finite(
    corpus: Path, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Watch:
        def on_chunk(self, progress: posvec.storage.records.Progress) -> None:
            seen.append(progress)

        on_epoch = on_chunk

    expected = posvec.train(corpus, "general", **small)
    monkeypatch.setattr(training, "time", Jumping())
    model = posvec.train(corpus, "general", **small, callbacks=[Watch()])
    assert len(seen) > 5
    for progress in seen:
        assert all(math.isfinite(value) for value in (progress.words_per_second, progress.seconds_left, progress.loss))
        assert min(progress.words_per_second, progress.seconds_left, progress.seconds) >= 0
        assert "-" not in describe(progress)
    assert (model.input_vectors == expected.input_vectors).all()
    assert model.report.seconds >= 0


def test_files_with_future_and_past_times_are_distinguished_by_content(tmp_path: Path) -> None:
    text = tmp_path / "text"
    for moment in (0, 4e9):  # 1970 and 2096
        for word in ("one", "two"):
            text.write_text(f"{word} " * 1000)
            os.utime(text, (moment, moment))
            assert posvec.training.pipeline.count(text, posvec.make_config("general", min_count=1)).words == [word]


# ---- Ctrl-C --------------------------------------------------------------------------------------------------------

INTERRUPTING = """
import atexit, os, signal, sys
def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            interrupt()
sys.meta_path.insert(0, Finder)
if {module!r} == "the end":
    atexit.register(interrupt)
from posvec.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["posvec.cli", "click", "posvec.cli.training", "the end"])
@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_during_start_and_exit_is_quiet(module: str, ignored: bool) -> None:
    handler = signal.SIG_IGN if ignored else signal.SIG_DFL
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTING.format(module=module), "--version"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
    )
    assert ended.stderr == ""
    assert ended.returncode == (0 if ignored else -signal.SIGINT)  # the shell sees 130
