"""Signals that ask a process to stop: recorded, raised at the end, never in the middle of a save."""

# ruff: noqa: PT012 (what happens within the with statements is what is tested)

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from posvec.system import signals
from posvec.system.atomic import replacing, temporary_folder
from posvec.system.signals import STOP_SIGNALS, deferred_signals, interrupting_signals


@pytest.fixture(autouse=True)
def _default_handlers() -> Iterator[None]:
    """The tests may run where a signal is ignored."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in STOP_SIGNALS]


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_deferred_signal_is_recorded_and_raised_at_the_end(number: int) -> None:
    before, steps = handlers(), []
    with pytest.raises(KeyboardInterrupt):
        with deferred_signals() as interruption:
            assert not interruption.requested
            send(number)
            steps.append(interruption.requested)
        steps.append("after")
    assert steps == [True]
    assert handlers() == before


def test_nothing_is_raised_without_a_signal() -> None:
    before = handlers()
    with deferred_signals() as interruption:
        pass
    assert not interruption.requested
    assert handlers() == before


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_only_a_second_ctrl_c_interrupts_at_once(number: int) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_signals():
        send(signal.SIGHUP)
        send(number)
        done.append(True)
    assert done == ([] if number == signal.SIGINT else [True])


def test_protected_work_is_finished_however_often_ctrl_c_is_pressed() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_signals() as interruption:
        with interruption.protected():
            for _ in range(3):
                send(signal.SIGINT)
            done.append("protected")
        send(signal.SIGINT)
        done.append("not protected")
    assert done == ["protected"]


def test_the_rest_of_the_work_can_be_protected() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), deferred_signals() as outer:
        with deferred_signals() as inner:
            inner.protect_rest()
        for _ in range(3):
            send(signal.SIGINT)
        done.append(True)
    assert inner is outer
    assert done == [True]


def test_the_error_of_the_work_is_not_hidden_by_a_signal() -> None:
    with pytest.raises(ZeroDivisionError), deferred_signals():
        send(signal.SIGTERM)
        _ = 1 / 0


@pytest.mark.parametrize("manage", [deferred_signals, interrupting_signals])
def test_ignored_signals_stay_ignored(manage: Callable[[], Any]) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # as under nohup
    with manage():
        for number in STOP_SIGNALS:
            send(number)


@pytest.mark.parametrize("manage", [deferred_signals, interrupting_signals])
def test_a_program_keeps_its_own_meaning_of_a_signal(manage: Callable[[], Any]) -> None:
    received = []
    signal.signal(signal.SIGUSR1, lambda *_: received.append(True))
    with manage():
        send(signal.SIGUSR1)
    assert received == [True]


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_signals_that_would_end_the_process_interrupt_it(number: int) -> None:
    before, done = handlers(), []
    with pytest.raises(KeyboardInterrupt), interrupting_signals():
        try:
            send(number)
            done.append("after")
        finally:  # a closed terminal sends SIGHUP twice
            if number != signal.SIGINT:
                send(number)
            done.append("cleaned")
    assert done == ["cleaned"]
    assert handlers() == before


def test_a_signal_interrupts_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt), interrupting_signals():
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGTERM)
        monkeypatch.setattr(signals, "_SECONDS_OF_REPETITION", 0.0)
        send(signal.SIGTERM)


def test_work_within_a_command_defers_the_signals_that_interrupt_the_command() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupting_signals(), deferred_signals():
        send(signal.SIGHUP)
        send(signal.SIGTERM)
        done.append(True)
    assert done == [True]


def test_other_threads_leave_the_handlers_alone() -> None:
    before, seen = handlers(), []

    def work() -> None:
        with deferred_signals(), interrupting_signals():
            seen.append(handlers())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("interrupted", ["flock", "fstat"])
@pytest.mark.parametrize("manage", [lambda path: replacing(path), lambda path: temporary_folder(path.parent)])
def test_a_signal_while_a_temporary_file_is_created_leaves_none(
    interrupted: str, manage: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        monkeypatch.undo()
        send(signal.SIGTERM)

    monkeypatch.setattr(*{"flock": (fcntl, "flock"), "fstat": (os.path, "samestat")}[interrupted], interrupt)
    with pytest.raises(KeyboardInterrupt), interrupting_signals(), manage(tmp_path / "file"):
        pytest.fail("the signal came too late")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("number", STOP_SIGNALS[1:])
def test_a_signal_ends_any_command_like_ctrl_c(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from posvec import cli

    def convert(*_: Any, **__: Any) -> None:
        with temporary_folder(tmp_path):
            send(number)

    monkeypatch.setattr(cli.commands, "main", convert)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("fails", [False, True])
def test_a_signal_while_a_temporary_folder_is_removed_leaves_none(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = os.rmdir

    def interrupted(*arguments: Any, **keywords: Any) -> None:
        send(signal.SIGTERM)
        remove(*arguments, **keywords)

    monkeypatch.setattr(os, "rmdir", interrupted)
    with pytest.raises(KeyboardInterrupt), interrupting_signals(), temporary_folder(tmp_path) as folder:
        (folder / "file").touch()
        if fails:
            raise ZeroDivisionError
    assert not [*tmp_path.iterdir()]
