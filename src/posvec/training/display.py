"""Progress displays: a progress bar in a terminal, plain lines anywhere else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from posvec.storage.records import TrainingProgress

_SECONDS_BETWEEN_LINES = 10.0


class TerminalDisplay:
    """Shows one bar at a time, with words/s, loss, learning rate and time left."""

    def __init__(self, console: Console) -> None:
        # In a narrow terminal only the bar is shortened; all other columns keep their width.
        whole = Column(no_wrap=True)
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=whole),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %", table_column=whole),
            TextColumn("{task.fields[detail]}", markup=False, table_column=whole),
            console=console,
            transient=True,
        )
        self._training: TaskID | None = None

    def __enter__(self) -> TerminalDisplay:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float], None]]:
        task = self._bar.add_task(name, total=1.0, detail="")
        try:
            yield lambda fraction: self._bar.update(task, completed=fraction)
        finally:
            self._bar.remove_task(task)

    def note(self, text: str) -> None:
        self._bar.console.print(text, highlight=False)

    warn = note

    def on_chunk(self, progress: TrainingProgress) -> None:
        if self._training is None:
            self._training = self._bar.add_task("training", total=1.0, detail="")
        self._bar.update(self._training, completed=progress.fraction, detail=describe(progress))

    def on_epoch(self, progress: TrainingProgress) -> None:
        if progress.validation_loss is not None:
            self._bar.console.print(_epoch_line(progress), highlight=False)


class LineDisplay:
    """Prints a line after every stage and epoch, and every ten seconds in between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __enter__(self) -> LineDisplay:
        return self

    def __exit__(self, *_: object) -> None: ...

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[float], None]]:
        started = self._last = time.monotonic()

        def report(fraction: float) -> None:
            if self._is_time():
                self._print(f"{name}: {fraction:.0%}")

        yield report
        self._print(f"{name}: done in {time.monotonic() - started:.1f} s")

    def note(self, text: str) -> None:
        self._print(text)

    warn = note

    def on_chunk(self, progress: TrainingProgress) -> None:
        if self._is_time():
            self._print(f"training: {progress.fraction:6.1%}  {describe(progress)}")

    def on_epoch(self, progress: TrainingProgress) -> None:
        if progress.epochs > 1 or progress.validation_loss is not None:
            self._print(_epoch_line(progress))

    def _is_time(self) -> bool:
        is_time = time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES
        if is_time:
            self._last = time.monotonic()
        return is_time

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)


def make_display(console: Console) -> TerminalDisplay | LineDisplay:
    return TerminalDisplay(console) if console.is_terminal else LineDisplay(console)


def describe(progress: TrainingProgress) -> str:
    """Return words/s, loss, learning rate and time left in one line."""
    epoch = f"epoch {progress.epoch}/{progress.epochs}  " if progress.epochs > 1 else ""
    return (
        f"{epoch}{_short(progress.words_per_second)} words/s  loss {progress.loss:.3f}  lr {progress.lr:.4f}  "
        f"{format_seconds(progress.seconds_left)} left"
    )


def _short(number: float) -> str:
    """Format a number with three significant digits: 1.14M, 114k, 999."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            return f"{number / size:.{max(0, 3 - len(f'{number / size:.0f}'))}f}{unit}"
    return f"{number:.0f}"


def format_seconds(seconds: float) -> str:
    """Format a duration as 1:23 or 1:02:03."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _epoch_line(progress: TrainingProgress) -> str:
    validation = "" if progress.validation_loss is None else f"  validation loss {progress.validation_loss:.4f}"
    return f"epoch {progress.epoch}/{progress.epochs}: loss {progress.loss:.4f}{validation}"
