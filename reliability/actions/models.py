"""Actions that write models and files of word vectors."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from actions.action import SETTINGS, Action, Fault, contents, digest, fingerprint, flags, old_or_new, posvec
from posvec.corpus.cache import read_entry
from posvec.formats import convert
from posvec.model import Model
from posvec.presets import make_config
from posvec.storage.folders import check_output
from posvec.system.atomic import TEMPORARY
from posvec.training import pipeline


class Train(Action):
    """posvec train, and posvec resume if there is a checkpoint."""

    arguments: Sequence[str] = flags(epochs=2, checkpoint_minutes=0.0003)

    def command(self) -> object:
        return self._train()

    def state(self) -> str:
        if not (self.output / "config.json").exists():
            check_output(self.output)  # it must accept the folder as empty
            return "absent"
        return "new" if Model.load(self.output, verify=True).state is None else "partial"

    def recover(self, state: str) -> object:
        return posvec("resume", self.output, "-q") if state == "partial" else self._train("--overwrite")

    def result(self) -> object:
        if extra := len(list(self.output.iterdir())) - 3:
            raise Fault(f"{extra} superfluous files in the folder: {sorted(map(str, self.output.iterdir()))}")
        return fingerprint(self.output)

    def _train(self, *more: str) -> None:
        posvec("train", self.inputs.corpus, "-o", self.output, "-q", *flags(**SETTINGS), *self.arguments, *more)


class Overwrite(Train):
    """posvec train --overwrite into the folder of another model."""

    arguments = (*flags(epochs=1, checkpoint_minutes=0), "--overwrite")

    def prepare(self, draw: random.Random) -> str:
        shutil.copytree(self.inputs.old, self.output)
        self.old = fingerprint(self.output)
        return ""

    def state(self) -> str:
        return "old" if fingerprint(self.output) == self.old else "new"


class Prepare(Action):
    """What posvec train does before it trains: fill the cache."""

    def command(self) -> object:
        config = make_config("subword", **SETTINGS)
        with pipeline.open_source(self.inputs.corpus, config) as opened:
            return pipeline.prepare(opened, config)

    def state(self) -> str:
        entries = [path for path in (self.folder / "cache").glob("*/*") if not TEMPORARY.fullmatch(path.name)]
        if damaged := [path for path in entries if read_entry(path) is None]:
            raise Fault(f"{damaged} is in the cache and incomplete")
        return ("absent", "partial", "new")[len(entries)]

    def result(self) -> object:
        if self.state() != "new":
            raise Fault("the cache was not filled")
        return {
            str(file.relative_to(self.folder)): digest(file.read_bytes())
            for file in (self.folder / "cache").glob("*/*/*")
            if file.name != "meta.json"
        }


class Save(Action):
    """posvec convert from one model's folder to that of another model."""

    def prepare(self, draw: random.Random) -> str:
        shutil.copytree(self.inputs.old, self.output)
        return ""

    def command(self) -> object:
        return posvec("convert", self.inputs.new, self.output, "--overwrite")

    def state(self) -> str:
        return old_or_new(fingerprint, self.output, self.inputs.old, self.inputs.new)

    def result(self) -> object:
        return fingerprint(self.output), len(list(self.output.iterdir()))


class Convert(Action):
    """posvec convert to a file in any format that may exist already."""

    def prepare(self, draw: random.Random) -> str:
        extension = draw.choice([".bin", ".txt", ".vec.gz", ".glove.zst", ".npz", ".safetensors"])
        self.folder.mkdir(exist_ok=True)
        self.files = {name: self.folder / f"{name}{extension}" for name in ("old", "new", "target")}
        for name in ("old", "new"):
            convert(getattr(self.inputs, name), self.files[name])
        exists = draw.random() < 0.5
        if exists:
            shutil.copy(self.files["old"], self.files["target"])
        return f"{extension} {exists}"

    def command(self) -> object:
        return posvec("convert", self.inputs.new, self.files["target"], "--overwrite")

    def state(self) -> str:
        if not self.files["target"].exists():
            return "absent"
        return old_or_new(Path.read_bytes, self.files["target"], self.files["old"], self.files["new"])

    def result(self) -> object:
        return self.state()


class Export(Action):
    """posvec export to sentence-transformers over an older export: the files in its folder have fixed names."""

    needs = ("tokenizers",)

    def prepare(self, draw: random.Random) -> str:
        from posvec.interop.sentence_transformers import save_sentence_transformer

        self.folders = [self.folder / name for name in ("old", "new")]
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
