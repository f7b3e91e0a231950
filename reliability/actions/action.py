"""What every action shares: its inputs, its interface, and how results are compared."""

from __future__ import annotations

import hashlib
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posvec.cli import main
from posvec.model import Model
from posvec.presets import make_config
from posvec.training.pipeline import prepare
from posvec.training.sources import open_source

SETTINGS = {"dim": 20, "window": 3, "buckets": 1000, "min_count": 1, "sample": 0.0, "negatives": 2, "threads": 1}


class Fault(Exception):
    """A promise that was broken."""


class Inputs:
    """A corpus of about 200 kB and two models with the same words, made once for all runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        draw = random.Random(1)
        words = [one + two for one in ("ka", "lo", "mi", "ne", "su") for two in ("ran", "tek", "mol", "bis", "dun")]
        self.lines = [" ".join(draw.choices(words, k=12)) for _ in range(3500)]
        self.corpus = folder / "corpus.txt"
        self.corpus.write_text("\n".join(self.lines) + "\n")
        self.language_data = folder / "texts"
        self.language_data.mkdir()
        for name, begin in {"train": 0, "valid": 60, "test": 80}.items():
            (self.language_data / f"{name}.txt").write_text("\n".join(self.lines[begin : begin + 20]) + "\n")
        self.old, self.new = folder / "old", folder / "new"
        for seed, path in enumerate((self.old, self.new)):
            config = make_config("subword", **SETTINGS, seed=seed)
            with open_source(self.corpus, config) as opened:
                prepare(opened, config)[0].save(path)


class Action(ABC):
    """A command and its promises. It writes only below ``folder``, which is empty at the start of every run."""

    needs: Sequence[str] = ()
    """Modules that are imported once before all runs, because they are slow to import; some are optional."""

    def __init__(self, inputs: Inputs, folder: Path) -> None:
        self.inputs, self.folder = inputs, folder
        self.output = folder / "output"

    def prepare(self, draw: random.Random) -> str:
        """Create what exists when the command starts; return the name of the variant that was drawn."""
        return ""

    @abstractmethod
    def command(self) -> object:
        """Run the command that is killed."""

    @abstractmethod
    def state(self) -> str:
        """What the killed command left: absent, old, new or partial. Anything else raises Fault."""

    def recover(self, state: str) -> object:
        """Run the command that a user gives next; it must succeed."""
        return self.command()

    @abstractmethod
    def result(self) -> object:
        """The final result; it must not depend on how often the command was killed."""


def posvec(*arguments: object) -> None:
    """Run a command of posvec in this process."""
    sys.argv = ["posvec", *map(str, arguments)]
    main()


def flags(**settings: object) -> list[str]:
    """Settings as command-line flags."""
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def fingerprint(path: Path) -> str:
    """A digest of everything that a model has learnt; verifies the checksums of its files too."""
    model = Model.load(path, verify=True)
    tables = (model.input_vectors, model.output_vectors, model.positional_vectors)
    words = "\0".join([*model.vocabulary.words, *map(str, model.vocabulary.counts)]).encode()
    return digest(*(np.ascontiguousarray(table).tobytes() for table in tables), words)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their relative paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def old_or_new(read: Callable[[Path], Any], path: Path, old: Path, new: Path) -> str:
    """Which of two complete versions a file or folder is, compared by what ``read`` returns."""
    found = read(path)
    for name, other in {"old": old, "new": new}.items():
        if found == read(other):
            return name
    raise Fault(f"{path} is neither the old nor the new version")


def digest(*parts: bytes) -> str:
    """A short digest of bytes."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()
