"""What is shown while work goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from posvec.storage.records import TrainingProgress
from posvec.training.display import LineDisplay, TerminalDisplay, describe, format_seconds, make_display

PROGRESS = TrainingProgress(
    epoch=2,
    epochs=5,
    fraction=0.3,
    words=1000,
    seconds=10.0,
    words_per_second=1_140_524.0,
    seconds_left=83.0,
    loss=2.34567,
    lr=0.0321,
    validation_loss=2.5,
)


def test_a_bar_is_for_terminals_and_lines_for_the_rest():
    assert isinstance(make_display(Console(file=io.StringIO(), force_terminal=True)), TerminalDisplay)
    assert isinstance(make_display(Console(file=io.StringIO(), force_terminal=False)), LineDisplay)


def test_progress_reads_in_one_line():
    assert describe(PROGRESS) == "epoch 2/5  1.14M words/s  loss 2.346  lr 0.0321  1:23 left"


@pytest.mark.parametrize(
    ("speed", "shown"),
    [(0, "0"), (999, "999"), (999.7, "1.00k"), (12_345, "12.3k"), (999_700, "1.00M"), (2.5e8, "250M")],
)
def test_speeds_take_three_digits(speed, shown):
    from dataclasses import replace

    assert f"  {shown} words/s" in describe(replace(PROGRESS, words_per_second=speed))


def test_times_are_minutes_and_hours():
    assert [format_seconds(seconds) for seconds in (0, 59.6, 3599, 3723)] == ["0:00", "1:00", "59:59", "1:02:03"]


def test_lines_are_neither_cut_nor_coloured():
    shown = io.StringIO()
    display = LineDisplay(Console(file=shown, width=20))
    with display.stage("counting") as progress:
        progress(0.5)
    display.on_epoch(PROGRESS)
    assert shown.getvalue() == "counting: done in 0.0 s\nepoch 2/5: loss 2.3457  validation loss 2.5000\n"
