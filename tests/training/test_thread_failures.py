"""Threads that the system does not start."""

from __future__ import annotations

import threading

import pytest

import posvec
from posvec.errors import TrainingError
from posvec.system.threads import map_in_order
from posvec.training.threads import ThreadExecutor


@pytest.fixture
def refuse_threads(monkeypatch):
    """Return a function that makes the system start only a number of further threads, and returns those."""
    start = threading.Thread.start

    def limit(number):
        started = []

        def start_or_fail(thread):
            if len(started) == number:
                raise RuntimeError("can't start new thread")
            started.append(thread)
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_or_fail)
        return started

    return limit


@pytest.fixture
def refuse_threads_of_job(monkeypatch, refuse_threads):
    """Return a function that makes a job of training, counted from 0, get only a number of threads."""
    start, jobs, started = ThreadExecutor.start, [], []

    def refuse(job, number):
        def start_job(executor, *arguments):
            if len(jobs) == job:
                started.append(refuse_threads(number))
            jobs.append(job)
            return start(executor, *arguments)

        monkeypatch.setattr(ThreadExecutor, "start", start_job)
        return started

    return refuse


def test_training_ends_if_a_thread_cannot_be_started(corpus, small, refuse_threads_of_job):
    started = refuse_threads_of_job(0, 1)
    with pytest.raises(TrainingError, match="only 1 of 2 threads can be started"):
        posvec.train(corpus, "general", **{**small, "threads": 2})
    (threads,) = started
    assert [thread.is_alive() for thread in threads] == [False]


def test_training_so_far_is_saved_if_a_later_epoch_cannot_start(
    corpus, small, refuse_threads_of_job, monkeypatch, tmp_path
):
    refuse_threads_of_job(1, 0)
    with pytest.raises(TrainingError, match=r"only 0 of 2 threads .* posvec resume"):
        posvec.train(corpus, "general", **{**small, "threads": 2, "epochs": 3}, output=tmp_path / "model")
    monkeypatch.undo()
    assert len(posvec.load(tmp_path / "model", verify=True).state.epochs) == 1
    assert len(posvec.resume(tmp_path / "model").report.epochs) == 3


def test_threads_that_cannot_be_started_are_reported_outside_training(refuse_threads):
    refuse_threads(0)
    with pytest.raises(TrainingError, match="only 0 of 3 threads can be started"):
        list(map_in_order(str, range(10), threads=3))
