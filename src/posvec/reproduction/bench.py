"""The workbench: corpora, trained models and language models that experiments ask for, kept while they are needed."""

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
from posvec.reproduction.scales import Part, Scale
from posvec.system.atomic import replacing
from posvec.training.pipeline import Display, open_source, prepare, resume, train_prepared


@dataclass(frozen=True)
class Recipe:
    """A model to train: one of the four, on one part of the corpus, with some settings changed."""

    model: str
    part: Part
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return "-".join([self.part, self.model, *(f"{name}={value}" for name, value in self.settings)])


@dataclass(frozen=True)
class Inputs:
    """What the user has given beside the corpus."""

    questions: tuple[Path, ...] = ()
    pairs: tuple[Path, ...] = ()
    language_data: Path | None = None
    language: str | None = None
    sentences: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Whose ranks in these sentences are asked for."""
    context_words: tuple[str, ...] = ()
    """Whose classes are asked for."""


@dataclass
class Bench:
    """Where everything is made that takes long; what is done is found again after an interruption."""

    source: Source
    total_words: int
    folder: Path
    scale: Scale
    inputs: Inputs
    threads: int
    display: Display

    def model(self, recipe: Recipe, seed: int) -> Model:
        """Trained now, or earlier; or its training goes on."""
        folder = self._folder(recipe, seed)
        if folder.exists():
            try:
                before = Model.load(folder)
            except ModelError:  # killed while it was saved for the first time: nothing is lost
                shutil.rmtree(folder)
            else:
                if before.state is None:
                    return before
                return resume(folder, self.corpus(recipe.part), threads=self.threads, display=self.display)
        self.display.note(f"training {recipe.name}, seed {seed}")
        config = self.scale.config(recipe.model, recipe.part, **dict(recipe.settings), seed=seed, threads=self.threads)
        with open_source(self.corpus(recipe.part), config, display=self.display) as opened:
            created, encoded, preparation = prepare(opened, config, self.display)
            clock = _Clock()
            model = train_prepared(created, encoded, preparation, [self.display, clock], opened.paths, folder)
        _write(self._times(recipe, seed), clock.seconds)
        return model

    def cpu_seconds(self, recipe: Recipe, seed: int) -> float | None:
        """Of all threads while the model was trained; None if that was interrupted."""
        with contextlib.suppress(OSError):
            return float(json.loads(self._times(recipe, seed).read_text()))
        return None

    def corpus(self, part: Part) -> Source:
        """All of the text, or so many words of it as the scale says, in a file of lines spread evenly over it."""
        limit = self.scale.words[part]
        if limit is None or limit >= self.total_words:
            return self.source
        path = self.folder / f"{part}.txt"
        if not path.exists():
            self._sample(limit / self.total_words, path)
        return path

    def language_model(self, recipe: Recipe, seed: int) -> Any:
        """The report of a language model on the vectors of a model."""
        from posvec import language_model
        from posvec.language_model.storage import load_report

        folder = self.folder / "language-models" / f"{recipe.name}-{seed}"
        if folder.exists():
            with contextlib.suppress(ModelError):
                report = load_report(folder)
                return report if report.test_loss is not None else self._resumed(folder)
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

    def forget(self, recipe: Recipe, seed: int) -> None:
        """A model that nothing needs any more."""
        shutil.rmtree(self._folder(recipe, seed), ignore_errors=True)

    def _folder(self, recipe: Recipe, seed: int) -> Path:
        return self.folder / "models" / f"{recipe.name}-{seed}"

    def _times(self, recipe: Recipe, seed: int) -> Path:
        return self.folder / "times" / f"{recipe.name}-{seed}.json"

    def _resumed(self, folder: Path) -> Any:
        from posvec import language_model

        return language_model.resume(folder, self.inputs.language_data, display=self.display).report

    def _sample(self, share: float, path: Path) -> None:
        with (
            open_source(self.source, self.scale.config("general"), display=self.display) as opened,
            self.display.stage(f"taking {share:.1%} of the lines") as progress,
            replacing(path) as file,
        ):
            number = 0
            for block in opened.blocks(progress):
                for line in block.removesuffix(b"\n").split(b"\n"):
                    if int((number + 1) * share) > int(number * share):
                        file.write(line + b"\n")
                    number += 1


class _Clock:
    """Time of all cores from when it is made to the last stretch of training: other work on the machine, which makes
    training take longer, hardly changes it."""

    def __init__(self) -> None:
        self._began = time.process_time()
        self.seconds = 0.0

    def on_block(self, progress: object) -> None:
        self.seconds = time.process_time() - self._began

    def on_epoch(self, progress: object) -> None: ...


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(value).encode())
