"""Actions that run for longer: hyperparameter search, the paper's experiments, language models."""

from __future__ import annotations

import json

from actions.action import SETTINGS, Action, Fault, contents, digest, flags, posvec
from posvec.storage.folders import check_output


class Search(Action):
    """posvec search, which continues its study when it is run again."""

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
            if "there is no study" in str(error) or "not made by" in str(error):  # killed before it was created
                return "absent"
            raise
        return "new" if done == self.trials else "partial"

    def result(self) -> object:
        from posvec.tuning import load_study

        found = load_study(self.output)
        best = json.loads((self.output / "best.json").read_text())
        if len(found.ranked()) != self.trials or best["trial"] != found.best[0]:
            raise Fault(f"{self.output} has {len(found.ranked())} trials, and its best.json has trial {best['trial']}")
        if found.trials[0].settings != {"window": SETTINGS["window"]}:
            raise Fault(f"the first trial is {found.trials[0].settings}, not the given settings")
        return self.trials


class Reproduce(Action):
    """posvec reproduce at a tiny scale."""

    needs = ("optuna", "matplotlib.figure", "sklearn", "scipy.stats", "posvec.reproduction.running")

    def command(self) -> object:
        from posvec.reproduction import reproduce
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
        return "partial" if (self.output / "work").exists() else "new"

    def result(self) -> object:
        if (self.output / "work").exists():
            raise Fault("the trained models were not removed")
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
        return "new" if load_saved(self.output).progress is None else "partial"

    def recover(self, state: str) -> object:
        return posvec("lm", "resume", self.output, "-q") if state == "partial" else self._train("--overwrite")

    def result(self) -> object:
        from posvec.language_model.storage import load_saved

        return {name: digest(tensor.numpy().tobytes()) for name, tensor in load_saved(self.output).weights.items()}

    def _train(self, *more: str) -> None:
        settings = flags(hidden=20, layers=1, epochs=3, batch=4, steps=20)
        data = self.inputs.language_data
        posvec("lm", "train", self.inputs.new, "--data", data, "-o", self.output, "-q", *settings, *more)
