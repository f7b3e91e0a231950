"""What is killed: commands of posvec on small inputs, what must be true whenever they are, and how they go on."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from posvec.cli import main
from posvec.corpus.cache import read_meta
from posvec.datasets.catalogue import CATALOGUE, Download, Entry, Layout
from posvec.datasets.library import fetch_entry, fetched_path
from posvec.formats import convert
from posvec.model import Model
from posvec.presets import make_config
from posvec.storage.folders import check_output
from posvec.system.atomic import TEMPORARY
from posvec.training.pipeline import open_source, prepare

SETTINGS = {"dim": 20, "window": 3, "buckets": 1000, "min_count": 1, "sample": 0.0, "negatives": 2, "threads": 1}


class Fault(Exception):
    """Something that must not be."""


def posvec(*arguments: object) -> None:
    """A command, in this process."""
    sys.argv = ["posvec", *map(str, arguments)]
    main()


def flags(**settings: object) -> list[str]:
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


class Inputs:
    """Made once for all runs: a corpus of some 200 kB, and two models of the same words."""

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
    """A command and its promises. All that it touches is below ``place``, which is made anew for every run."""

    needs: Sequence[str] = ()
    """Modules, some of them optional, that are imported once and not in every run."""

    def __init__(self, inputs: Inputs, place: Path) -> None:
        self.inputs, self.place = inputs, place
        self.output = place / "output"

    def before(self, draw: random.Random) -> str:
        """Make what is there when the command begins; which of several variants was drawn."""
        return ""

    @abstractmethod
    def command(self) -> object: ...

    @abstractmethod
    def state(self) -> str:
        """Of what a command left that was killed: absent, old, new, or begun; Fault if it is anything else."""

    def go_on(self, state: str) -> object:
        """The command that a user gives next; it must succeed."""
        return self.command()

    @abstractmethod
    def result(self) -> object:
        """What it has come to, equal however often it was killed."""


class Train(Action):
    """posvec train, and posvec resume if there is a checkpoint."""

    arguments: Sequence[str] = flags(epochs=2, checkpoint_minutes=0.0003)

    def command(self) -> object:
        return self._train()

    def state(self) -> str:
        if not (self.output / "config.json").exists():
            check_output(self.output)  # what is there counts as nothing
            return "absent"
        return "new" if Model.load(self.output, verify=True).state is None else "begun"

    def go_on(self, state: str) -> object:
        return posvec("resume", self.output, "-q") if state == "begun" else self._train("--overwrite")

    def result(self) -> object:
        if extra := len(list(self.output.iterdir())) - 3:
            raise Fault(f"{extra} files too many in the folder: {sorted(map(str, self.output.iterdir()))}")
        return fingerprint(self.output)

    def _train(self, *more: str) -> None:
        posvec("train", self.inputs.corpus, "-o", self.output, "-q", *flags(**SETTINGS), *self.arguments, *more)


class Overwrite(Train):
    """posvec train --overwrite where there is a model."""

    arguments = (*flags(epochs=1, checkpoint_minutes=0), "--overwrite")

    def before(self, draw: random.Random) -> str:
        shutil.copytree(self.inputs.old, self.output)
        self.old = fingerprint(self.output)
        return ""

    def state(self) -> str:
        return "old" if fingerprint(self.output) == self.old else "new"


class Prepare(Action):
    """What posvec train does before it trains: the cache."""

    def command(self) -> object:
        config = make_config("subword", **SETTINGS)
        with open_source(self.inputs.corpus, config) as opened:
            return prepare(opened, config)

    def state(self) -> str:
        entries = [path for path in (self.place / "cache").glob("*/*") if not TEMPORARY.fullmatch(path.name)]
        if damaged := [path for path in entries if read_meta(path) is None]:
            raise Fault(f"{damaged} is in the cache and not whole")
        return ("absent", "begun", "new")[len(entries)]

    def result(self) -> object:
        if self.state() != "new":
            raise Fault("the cache was not filled")
        return {
            str(file.relative_to(self.place)): digest(file.read_bytes())
            for file in (self.place / "cache").glob("*/*/*")
            if file.name != "meta.json"
        }


class Save(Action):
    """posvec convert from one model's folder to another that is there."""

    def before(self, draw: random.Random) -> str:
        shutil.copytree(self.inputs.old, self.output)
        return ""

    def command(self) -> object:
        return posvec("convert", self.inputs.new, self.output, "--overwrite")

    def state(self) -> str:
        return old_or_new(fingerprint, self.output, self.inputs.old, self.inputs.new)

    def result(self) -> object:
        return fingerprint(self.output), len(list(self.output.iterdir()))


class Convert(Action):
    """posvec convert to a file, in any format, that is there or is not."""

    def before(self, draw: random.Random) -> str:
        ending = draw.choice([".bin", ".txt", ".vec.gz", ".glove.zst", ".npz", ".safetensors"])
        self.place.mkdir(exist_ok=True)
        self.files = {name: self.place / f"{name}{ending}" for name in ("old", "new", "target")}
        for name in ("old", "new"):
            convert(getattr(self.inputs, name), self.files[name])
        exists = draw.random() < 0.5
        if exists:
            shutil.copy(self.files["old"], self.files["target"])
        return f"{ending} {exists}"

    def command(self) -> object:
        return posvec("convert", self.inputs.new, self.files["target"], "--overwrite")

    def state(self) -> str:
        if not self.files["target"].exists():
            return "absent"
        return old_or_new(Path.read_bytes, self.files["target"], self.files["old"], self.files["new"])

    def result(self) -> object:
        return self.state()


class Export(Action):
    """posvec export to sentence-transformers over an older one: a folder whose files have fixed names."""

    needs = ("tokenizers",)

    def before(self, draw: random.Random) -> str:
        from posvec.interop.sentence_transformers import save_sentence_transformer

        self.folders = [self.place / name for name in ("old", "new")]
        for folder in self.folders:
            save_sentence_transformer(Model.load(getattr(self.inputs, folder.name)), folder)
        shutil.copytree(self.folders[0], self.output)
        return ""

    def command(self) -> object:
        return posvec("export", self.inputs.new, "--to", "sentence-transformers", "-o", self.output, "--overwrite")

    def state(self) -> str:
        return old_or_new(contents, self.output, *self.folders)

    def result(self) -> object:
        return contents(self.output)


class Fetch(Action):
    """posvec data fetch from a server on this machine, in several layouts, for the first time or again."""

    address: str
    offered: dict[str, bytes]

    def before(self, draw: random.Random) -> str:
        layout: Layout = draw.choice(["file", "archive", "member"])
        self.again = draw.random() < 0.5
        if self.again:
            fetch_entry(self._entry(layout, "old"))
        entry = self._entry(layout, "new")
        CATALOGUE[entry.name] = entry
        return f"{layout} {self.again}"

    def command(self) -> object:
        return posvec("data", "fetch", "crash", "-q", *(["--overwrite"] if self.again else []))

    def state(self) -> str:
        path = fetched_path("crash")
        if path is None:
            if self.again:
                raise Fault("what was there is gone")
            return "absent"
        text = b"".join(contents(path).values()) if path.is_dir() else path.read_bytes()
        for age in ("old", "new"):
            if text in (text_of(age), text_of(age) * 2):
                return age
        raise Fault(f"{path} is neither the old nor the new one")

    def result(self) -> object:
        folder = self.place / "cache" / "data" / "crash"
        found = sorted(path.name for path in folder.iterdir() if path.is_file() or any(path.iterdir()))
        if len(found) != 3:  # the data, dataset.json and .lock
            raise Fault(f"{folder} has {found}")
        return self.state()

    def _entry(self, layout: Layout, age: str) -> Entry:
        name = f"{age}/data.txt" if layout == "file" else f"{age}/data.zip"
        content = self.offered[name]
        item = Download(f"{self.address}/{name}", len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        return Entry("crash", "corpus", "a small one", (item,), "CC0", "", layout, "one.txt" * (layout == "member"))


class Search(Action):
    """posvec search, which goes on with its study."""

    needs = ("optuna.samplers", "optuna.storages.journal", "sqlalchemy.exc", "posvec.tuning")
    trials = 3

    def command(self) -> object:
        return posvec(
            "search", self.inputs.corpus, "-o", self.output, "-q", "--objective", "validation_loss", "--space",
            "window=1..4", "--trials", self.trials, *flags(**SETTINGS | {"dim": 4}),
        )  # fmt: skip

    def state(self) -> str:
        from posvec.errors import PosvecError
        from posvec.tuning import load_study

        if (self.output / "best.json").exists():
            json.loads((self.output / "best.json").read_text())
        try:
            done = len(load_study(self.output).ranked())
        except PosvecError as error:
            if "there is no study" in str(error) or "not made by" in str(error):  # yet
                return "absent"
            raise
        return "new" if done == self.trials else "begun"

    def result(self) -> object:
        from posvec.tuning import load_study

        found = load_study(self.output)
        best = json.loads((self.output / "best.json").read_text())
        if len(found.ranked()) != self.trials or best["trial"] != found.best[0]:
            raise Fault(f"{self.output} has {len(found.ranked())} trials, and its best.json is of {best['trial']}")
        if found.trials[0].settings != {"window": SETTINGS["window"]}:
            raise Fault(f"the first trial is {found.trials[0].settings}, not what was given")
        return self.trials


class Reproduce(Action):
    """posvec reproduce, of a tiny size."""

    needs = ("optuna", "matplotlib.figure", "sklearn", "scipy.stats", "posvec.reproduction.running")

    def command(self) -> object:
        from posvec.reproduction.running import reproduce
        from posvec.reproduction.scales import Scale

        tiny = Scale(
            "tiny", "seconds", 1, "posvec", {"main": None, "sweep": 3000}, (5,), (0, 60), 24, 2, 4,
            {"dim": 10, "buckets": 500, "min_count": 1, "sample": 0.0, "negatives": 2}, {},
        )  # fmt: skip
        return reproduce(self.inputs.corpus, self.output, scale=tiny, only=["variances", "positions"], threads=1)

    def state(self) -> str:
        from posvec.reproduction.findings import Findings

        Findings(self.output / "data")
        if not (self.output / "run.json").exists():
            return "absent"
        json.loads((self.output / "run.json").read_text())
        return "begun" if (self.output / "work").exists() else "new"

    def result(self) -> object:
        if (self.output / "work").exists():
            raise Fault("the models are still there")
        return {
            file.name: json.loads(file.read_text())["variants"] for file in sorted(self.output.glob("data/*.json"))
        }, sorted(contents(self.output))


class LanguageModel(Action):
    """posvec lm train, and posvec lm resume if there is a checkpoint."""

    needs = ("torch", "posvec.language_model.running", "posvec.language_model.training")

    def command(self) -> object:
        return self._train()

    def state(self) -> str:
        from posvec.language_model.storage import load_saved

        if not (self.output / "config.json").exists():
            check_output(self.output)
            return "absent"
        return "new" if load_saved(self.output).progress is None else "begun"

    def go_on(self, state: str) -> object:
        return posvec("lm", "resume", self.output, "-q") if state == "begun" else self._train("--overwrite")

    def result(self) -> object:
        from posvec.language_model.storage import load_saved

        return {name: digest(tensor.numpy().tobytes()) for name, tensor in load_saved(self.output).weights.items()}

    def _train(self, *more: str) -> None:
        settings = flags(hidden=20, layers=1, epochs=3, batch=4, steps=20)
        data = self.inputs.language_data
        posvec("lm", "train", self.inputs.new, "--data", data, "-o", self.output, "-q", *settings, *more)


ACTIONS: dict[str, type[Action]] = {
    "train": Train,
    "overwrite": Overwrite,
    "prepare": Prepare,
    "save": Save,
    "convert": Convert,
    "export": Export,
    "fetch": Fetch,
    "search": Search,
    "reproduce": Reproduce,
    "lm": LanguageModel,
}


def missing(action: type[Action]) -> str:
    """The first module that an action needs and that is not here; imports the others."""
    for name in action.needs:
        try:
            import_module(name)
        except ImportError as error:
            return error.name or name
    return ""


@contextmanager
def serving() -> Iterator[None]:
    """What Fetch fetches, from a process of its own: this one has no threads, so that it can be copied."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from local_server import LocalServer, whole

    Fetch.offered = {f"{age}/data.txt": text_of(age) for age in ("old", "new")}
    Fetch.offered |= {f"{age}/data.zip": _zipped(text_of(age)) for age in ("old", "new")}
    server = LocalServer()
    for name, content in Fetch.offered.items():
        Fetch.address = server.give(f"/{name}", whole(content, tag=f'"{name}"')).removesuffix(f"/{name}")
    pid = os.fork()
    if not pid:
        server.serve_forever()
    try:
        yield
    finally:
        os.kill(pid, 15)
        os.waitpid(pid, 0)
        server.server_close()


def text_of(age: str) -> bytes:
    return b"".join(f"{age} line {number}\n".encode() for number in range({"old": 15_000, "new": 20_000}[age]))


def _zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in ("one.txt", "two.txt"):
            archive.writestr(name, content)
    return stream.getvalue()


def fingerprint(path: Path) -> str:
    """Of all that a model has learnt; every byte of it is checked."""
    model = Model.load(path, verify=True)
    tables = (model.input_vectors, model.output_vectors, model.positional_vectors)
    words = "\0".join([*model.vocabulary.words, *map(str, model.vocabulary.counts)]).encode()
    return digest(*(np.ascontiguousarray(table).tobytes() for table in tables), words)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def old_or_new(read: Callable[[Path], Any], path: Path, old: Path, new: Path) -> str:
    found = read(path)
    for name, other in {"old": old, "new": new}.items():
        if found == read(other):
            return name
    raise Fault(f"{path} is neither the old nor the new one")


def digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()
