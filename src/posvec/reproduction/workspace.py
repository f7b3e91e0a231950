"""The working folder of a reproduction: samples of the corpus, trained models and language models."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.corpus.sources import Source
from posvec.errors import ModelError
from posvec.model import Model
from posvec.reproduction.inputs import Inputs
from posvec.reproduction.scales import CorpusPart, Scale
from posvec.system.atomic import replacing
from posvec.system.utf8 import encode_json
from posvec.training.pipeline import Display, prepare, resume, train_prepared
from posvec.training.sources import open_source


@dataclass(frozen=True)
class Recipe:
    """How to train a model: one of the four models, a part of the corpus, and changed settings."""

    model: str
    part: CorpusPart
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The name of the model's folder, without the seed."""
        return "-".join([self.part, self.model, *(f"{name}={value}" for name, value in self.settings)])


@dataclass
class Workspace:
    """Makes what takes long to make, and finds it again after an interruption."""

    source: Source
    total_words: int
    folder: Path
    scale: Scale
    inputs: Inputs
    threads: int
    display: Display

    def model(self, recipe: Recipe, seed: int) -> Model:
        """Load a model, resume its interrupted training, or train it."""
        folder = self._model_folder(recipe, seed)
        if folder.exists():
            try:
                existing = Model.load(folder)
            except ModelError:  # interrupted while it was saved for the first time; train it again
                shutil.rmtree(folder)
            else:
                if existing.state is None:
                    return existing
                return resume(folder, self.corpus(recipe.part), threads=self.threads, display=self.display)
        self.display.note(f"training {recipe.name}, seed {seed}")
        config = self.scale.config(recipe.model, recipe.part, **dict(recipe.settings), seed=seed, threads=self.threads)
        with open_source(self.corpus(recipe.part), config, display=self.display) as opened:
            created, encoded, preparation = prepare(opened, config, self.display)
            clock = _Clock()
            model = train_prepared(created, encoded, preparation, [self.display, clock], opened.paths, folder)
        _write_json(self._times_file(recipe, seed), clock.seconds)
        return model

    def cpu_seconds(self, recipe: Recipe, seed: int) -> float | None:
        """Return the CPU time of all threads that trained a model; None if its training was interrupted."""
        with contextlib.suppress(OSError):
            return float(json.loads(self._times_file(recipe, seed).read_text()))
        return None

    def corpus(self, part: CorpusPart) -> Source:
        """Return the corpus, or a file of lines spread evenly over it with as many words as the scale allows."""
        limit = self.scale.words[part]
        if limit is None or limit >= self.total_words:
            return self.source
        path = self.folder / f"{part}.txt"
        if not path.exists():
            self._sample(limit / self.total_words, path)
        return path

    def language_model(self, recipe: Recipe, seed: int) -> Any:
        """Return the report of a language model on the vectors of a model; train or resume it if necessary."""
        from posvec import language_model
        from posvec.language_model.storage import load_report

        folder = self.folder / "language-models" / f"{recipe.name}-{seed}"
        if folder.exists():
            with contextlib.suppress(ModelError):
                report = load_report(folder)
                return report if report.test_loss is not None else self._resume_language_model(folder)
            shutil.rmtree(folder)
        data = self.inputs.language_data
        assert data is not None
        self.display.note(f"training a language model on {recipe.name}, seed {seed}")
        return language_model.train(
            self.model(recipe, seed),
            data,
            folder,
            name=recipe.model,
            language=self.inputs.language,
            display=self.display,
            seed=seed,
            **self.scale.language_model,
        ).report

    def remove_model(self, recipe: Recipe, seed: int) -> None:
        """Remove a model that is no longer needed."""
        shutil.rmtree(self._model_folder(recipe, seed), ignore_errors=True)

    def _model_folder(self, recipe: Recipe, seed: int) -> Path:
        return self.folder / "models" / f"{recipe.name}-{seed}"

    def _times_file(self, recipe: Recipe, seed: int) -> Path:
        return self.folder / "times" / f"{recipe.name}-{seed}.json"

    def _resume_language_model(self, folder: Path) -> Any:
        from posvec import language_model

        return language_model.resume(folder, self.inputs.language_data, display=self.display).report

    def _sample(self, fraction: float, path: Path) -> None:
        with (
            open_source(self.source, self.scale.config("general"), display=self.display) as opened,
            self.display.stage(f"taking {fraction:.1%} of the lines") as progress,
            replacing(path) as file,
        ):
            number = 0
            for block in opened.blocks(progress):
                for line in block.removesuffix(b"\n").split(b"\n"):
                    if int((number + 1) * fraction) > int(number * fraction):
                        file.write(line + b"\n")
                    number += 1


class _Clock:
    """Measures the CPU time of training, which other work on the machine affects less than the elapsed time."""

    def __init__(self) -> None:
        self._started = time.process_time()
        self.seconds = 0.0

    def on_chunk(self, progress: object) -> None:
        self.seconds = time.process_time() - self._started

    def on_epoch(self, progress: object) -> None: ...


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(encode_json(value))
