"""The commands that signals.py sends signals to."""

from __future__ import annotations

import contextlib
import csv
import random
import shutil
import signal

from actions.action import SETTINGS, Action, Fault, fingerprint, posvec
from actions.experiments import LanguageModel, Search
from actions.models import Convert, Export, Overwrite, Save, Train
from posvec import train
from posvec.model import Model


class _Interrupt:
    def on_chunk(self, progress: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    def on_epoch(self, progress: object) -> None: ...


class Resume(Train):
    """posvec resume of training that was interrupted in its first epoch."""

    def prepare(self, draw: random.Random) -> str:
        checkpoint = self.folder.with_name("checkpoint")
        if not checkpoint.exists():
            with contextlib.suppress(KeyboardInterrupt):
                train(self.inputs.corpus, **SETTINGS, epochs=2, output=checkpoint, callbacks=[_Interrupt()])
        shutil.copytree(checkpoint, self.output)
        return ""

    def command(self) -> object:
        return posvec("resume", self.output, "-q")


class TrainOver(Overwrite):
    """posvec train --overwrite, which a signal can end with a checkpoint in place of the old model."""

    def state(self) -> str:
        state = super().state()
        return "partial" if state == "new" and Model.load(self.output).state is not None else state


class Compress(Action):
    """posvec compress over an older model."""

    def prepare(self, draw: random.Random) -> str:
        shutil.copytree(self.inputs.old, self.output)
        return ""

    def command(self) -> object:
        return posvec("compress", self.inputs.new, self.output, "--method", "int8", "--overwrite", "--quiet")

    def state(self) -> str:
        model = Model.load(self.output, verify=True)
        if model.compression:
            return "new"
        if fingerprint(self.output) != fingerprint(self.inputs.old):
            raise Fault("the output is neither the old model nor the compressed one")
        return "old"

    def result(self) -> object:
        return self.state(), len(list(self.output.iterdir()))


class Evaluate(Action):
    """posvec evaluate into a file."""

    def prepare(self, draw: random.Random) -> str:
        words = Model.load(self.inputs.new).vocabulary.words
        pick = random.Random(2)
        questions = [" ".join(pick.sample(words, 4)) for _ in range(3000)]
        self.questions, self.answers = self.folder / "questions.txt", self.folder / "answers.csv"
        self.questions.write_text(": random\n" + "\n".join(questions) + "\n")
        return ""

    def command(self) -> object:
        return posvec("evaluate", "analogy", self.inputs.new, self.questions, "-o", self.answers, "--overwrite")

    def state(self) -> str:
        if not self.answers.exists():
            return "absent"
        with self.answers.open() as stream:
            if len(list(csv.reader(stream))) < 2:
                raise Fault("the file is cut off")
        return "new"

    def result(self) -> object:
        return self.answers.read_text()


COMMANDS: dict[str, type[Action]] = {
    "train": Train,
    "train --overwrite": TrainOver,
    "resume": Resume,
    "lm train": LanguageModel,
    "search": Search,
    "evaluate": Evaluate,
    "compress": Compress,
    "convert": Convert,
    "convert to a model": Save,
    "export": Export,
}
