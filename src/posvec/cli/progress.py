"""The progress of long commands, on standard error; results go to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.errors import PosvecError
from posvec.system.console import make_console, say
from posvec.system.signals import interrupting_signals

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
"""The exit code of an interrupted command, as after Ctrl-C in a shell."""


@contextmanager
def progress_display(quiet: bool) -> Iterator[tuple[Any, Console]]:
    """Show the progress of a command; the display is None if it is to be quiet."""
    from posvec.training.display import make_display

    console = make_console(stderr=True)
    if quiet:
        yield None, console
        return
    with make_display(console) as display:
        yield display, console


@contextmanager
def interruptible(describe: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C and other signals that ask a process to stop, print what was saved and end with exit code 130."""
    try:
        with interrupting_signals():
            yield
    except KeyboardInterrupt:
        say(describe())
        sys.exit(INTERRUPTED)


@contextmanager
def training_display(
    quiet: bool, output: Path | str, resumed: tuple[str, str], resumes: bool = False
) -> Iterator[tuple[Any, Console]]:
    """Show the progress of training, and when it is interrupted, what was saved and how to continue.

    ``resumed`` is the key in config.json that an interrupted model has, and the command that resumes training;
    ``resumes`` says whether this is that command.
    """
    outcome = _Outcome(output, *resumed, resumes)
    with interruptible(outcome.describe), progress_display(quiet) as (display, console):
        yield display, console


class _Outcome:
    """What a command has left in its output folder, as the folder itself tells."""

    def __init__(self, output: Path | str, key: str, command: str, resumes: bool) -> None:
        self._output, self._key, self._command = output, key, command
        self._before = b"" if resumes else _read_manifest(output)

    def describe(self) -> str:
        now = _read_manifest(self._output)
        saved = _load_config(self._output) if now != self._before else None
        if saved is not None and saved.get(self._key) is not None:
            return f"Interrupted. The model so far is in {self._output}; continue with: {self._command} {self._output}"
        if saved is not None:
            return f"Interrupted after training was complete; the model is in {self._output}."
        if isinstance(self._output, Path):
            study = self._output.with_name(f"{self._output.name}.search")  # of posvec train --autotune
            if study.is_dir():
                return f"Interrupted. The trials so far are in {study}; run the same command again to continue."
        unchanged = f"; {self._output} is unchanged" if now else ""
        return f"Interrupted before the first checkpoint; nothing was saved{unchanged}."


def _read_manifest(output: Path | str) -> bytes:
    """The config.json of a model, which every save changes, because it lists files by random names."""
    from posvec.storage.manifest import MANIFEST
    from posvec.system.remote import RemotePath, is_remote

    with suppress(OSError, PosvecError):
        if is_remote(output):
            return (RemotePath(str(output)) / MANIFEST).read_bytes()
        return (Path(output) / MANIFEST).read_bytes()
    return b""


def _load_config(output: Path | str) -> dict[str, Any] | None:
    from posvec.storage.folders import load_folder

    try:
        return load_folder(output).config
    except PosvecError:
        return None
