"""``reproduce``: run what is missing of the experiments, in their order, and tell of it after each."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posvec.config import nearest
from posvec.corpus.sources import Source
from posvec.errors import ConfigError, ModelError
from posvec.evaluation.lines import as_paths
from posvec.evaluation.questions import read_pairs, read_questions
from posvec.presets import PRESETS
from posvec.reproduction import provenance
from posvec.reproduction.bench import Bench, Inputs, Recipe
from posvec.reproduction.experiments import EXPERIMENTS, MISSING, NAMES, Experiment
from posvec.reproduction.findings import Findings
from posvec.reproduction.paper import SENTENCES
from posvec.reproduction.report import FIGURES, HTML, MARKDOWN, Report, State
from posvec.reproduction.scales import SCALES, Part, Scale
from posvec.storage.folders import locked_folder
from posvec.system.atomic import TEMPORARY, cannot_write, file_digest, replacing
from posvec.system.console import plural
from posvec.system.extras import require_extra
from posvec.system.files import find_files
from posvec.training.pipeline import Display, Silent, open_source
from posvec.tuning.objectives import Paths
from posvec.vocabulary import Vocabulary

RUN, DATA, WORK = "run.json", "data", "work"
_FORMAT = 1


def reproduce(
    corpus: Source,
    output: str | os.PathLike[str],
    *,
    scale: str | Scale = "small",
    preset: str | None = None,
    seeds: int | None = None,
    questions: Paths = (),
    pairs: Paths = (),
    language_data: str | os.PathLike[str] | None = None,
    language: str | None = None,
    sentences: Sequence[str] = (),
    words: Sequence[str] = (),
    context_words: Sequence[str] = (),
    only: Sequence[str] = (),
    qualitative: bool = False,
    threads: int = 0,
    keep_models: bool = False,
    overwrite: bool = False,
    command: str = "",
    display: Display | None = None,
) -> Path:
    """Measure what the paper measured, and return the report, which is written anew after every experiment.

    What is in the folder ``output`` already is not measured again; an interrupted run goes on where it was. ``only``
    some experiments by name, or the ``qualitative`` ones, which look into positional vectors and make sense in any
    language. ``sentences`` with a [MASK], ``words`` whose ranks in them are asked for, and ``context_words`` whose
    classes are, take the place of the paper's. ``command`` is what the report says that it was made by.
    """
    size = _scale(scale, preset)
    config = size.config("general", threads=threads)
    if seeds is not None and seeds < 1:
        raise ConfigError(f"seeds is {seeds}, but must be at least 1")
    inputs = _inputs(questions, pairs, language_data, language, sentences, words, context_words, qualitative)
    chosen = _chosen(only, qualitative, inputs)
    folder, display = Path(output), display or Silent()
    _check_folder(folder)
    with open_source(corpus, config, display=display) as opened:
        if not opened.paths:
            raise ConfigError("a reproduction reads its corpus many times; give files or the name of a dataset")
        with display.stage("counting") as progress:
            counted = Vocabulary.count(opened, config.vocabulary, threads, progress)
        name = " ".join(Path(path).name for path in opened.paths[:3])
    identity = _identity(size, counted, inputs)
    with _working(folder, keep_models) as work:
        _go_on(folder, identity, overwrite)
        bench = Bench(corpus, counted.total_words, work, size, inputs, threads, display)
        facts = {
            "corpus": f"{name}: {counted.total_words:,} words, {len(counted):,} of them in the vocabulary",
            "scale": f"{size.name} ({size.takes}); preset {size.preset}",
            **{f"{part} models": _described(bench, part) for part in size.words},
            "command": command or "posvec.reproduction.running.reproduce",
            "machine": provenance.machine(),
            "versions": provenance.versions(),
        }
        run = _Run(bench, folder, Findings(folder / DATA), chosen, seeds or size.seeds, keep_models, facts)
        run.run()
    return folder / MARKDOWN


@dataclass(frozen=True)
class _Step:
    experiment: Experiment
    variant: str
    subject: Recipe | str
    seed: int


class _Run:
    def __init__(
        self,
        bench: Bench,
        folder: Path,
        findings: Findings,
        experiments: Sequence[tuple[Experiment, str | None]],
        seeds: int,
        keep_models: bool,
        facts: dict[str, str],
    ) -> None:
        self.bench, self.findings, self.report = bench, findings, Report(folder, findings)
        self.experiments, self.keep_models, self.facts = experiments, keep_models, facts
        self.seeds = seeds
        self.commit = provenance.commit()
        # Seed by seed: after the first, there is something to see of everything.
        self.steps = [
            _Step(experiment, variant, subject, seed)
            for seed in range(1, seeds + 1)
            for experiment, skipped in experiments
            if not skipped and (seed == 1 or experiment.every_seed)
            for variant, subject in experiment.variants(bench.scale).items()
        ]

    def run(self) -> None:
        left = [each for each in self.steps if not self._is_done(each)]
        if not left:
            self._report()
        while left:
            step, *rest = left
            name = step.experiment.name
            self.bench.display.note(
                f"{name}: {step.variant}, seed {step.seed} ({len(self.steps) - len(rest)} of {len(self.steps)})"
            )
            began = time.process_time()
            values = step.experiment.measure(self.bench, step.subject, step.seed)
            self.findings.add(name, step.variant, step.seed, values, self.commit, time.process_time() - began)
            if not rest or (rest[0].experiment.name, rest[0].seed) != (name, step.seed):
                self._report()
            self._forget(step, rest)
            left = rest

    def _is_done(self, step: _Step) -> bool:
        return self.findings.has(step.experiment.name, step.variant, step.seed)

    def _forget(self, step: _Step, rest: Sequence[_Step]) -> None:
        """Models are large: each is removed once nothing is to be measured of it any more."""
        needed = {(each.subject, each.seed) for each in rest}
        if isinstance(step.subject, Recipe) and not self.keep_models and (step.subject, step.seed) not in needed:
            self.bench.forget(step.subject, step.seed)

    def _report(self) -> None:
        states = []
        for experiment, skipped in self.experiments:
            steps = [each for each in self.steps if each.experiment.name == experiment.name]
            done = self.findings.count(experiment.name) if skipped else sum(map(self._is_done, steps))
            minutes = self.findings.cpu_seconds(experiment.name) / 60
            states.append((experiment, State(done, len(steps), skipped, minutes)))
        measured = ", ".join(sorted(self.findings.commits)) or self.commit
        facts = {**self.facts, "commit": measured, "seeds": str(self.seeds)}
        self.report.write(facts, states)


def _scale(scale: str | Scale, preset: str | None) -> Scale:
    if isinstance(scale, str):
        if scale not in SCALES:
            raise ConfigError(f"there is no scale {scale!r}; choose from {', '.join(SCALES)}")
        scale = SCALES[scale]
    if preset is None:
        return scale
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
    return dataclasses.replace(scale, preset=preset)


def _inputs(
    questions: Paths,
    pairs: Paths,
    language_data: str | os.PathLike[str] | None,
    language: str | None,
    sentences: Sequence[str],
    words: Sequence[str],
    context_words: Sequence[str],
    qualitative: bool,
) -> Inputs:
    """All read once, so that what is wrong with them is known before hours are spent."""
    inputs = Inputs(
        tuple(as_paths(questions)),
        tuple(file for path in as_paths(pairs) for file in find_files(path)),
        None if language_data is None else as_paths(Path(language_data))[0],
        language,
        tuple(sentences) or (() if qualitative else SENTENCES),
        tuple(words),
        tuple(context_words),
    )
    if inputs.questions:
        read_questions(inputs.questions)
    for path in inputs.pairs:
        read_pairs(path)
    if inputs.language_data is not None:
        from posvec.language_model.data import find_parts

        find_parts(inputs.language_data, language)
    for sentence in inputs.sentences:
        if sentence.count("[MASK]") != 1:
            raise ConfigError(
                f"the sentence {sentence!r} should have exactly one [MASK], where a word is to be predicted"
            )
    return inputs


def _chosen(only: Sequence[str], qualitative: bool, inputs: Inputs) -> list[tuple[Experiment, str | None]]:
    """The experiments that were asked for, each with the reason why it is skipped if it is."""
    for name in only:
        if name not in NAMES:
            raise ConfigError(f"there is no experiment {name!r}{nearest(name, NAMES)}; choose from {', '.join(NAMES)}")
    chosen: list[tuple[Experiment, str | None]] = []
    require_extra("scipy.stats", "reproduce")
    require_extra("matplotlib", "reproduce")
    for experiment in EXPERIMENTS:
        if (only and experiment.name not in only) or (qualitative and not experiment.qualitative):
            continue
        skipped = next((MISSING[name] for name in experiment.needs if not getattr(inputs, name)), None)
        if not skipped:
            require_extra(*experiment.extra)
        chosen.append((experiment, skipped))
    if not chosen:
        raise ConfigError("none of the experiments named is a qualitative one; leave out --qualitative or --only")
    return chosen


def _identity(scale: Scale, counted: Vocabulary, inputs: Inputs) -> dict[str, Any]:
    """What all measurements in a folder have in common; a part that is None was not given, and may be later."""
    return {
        "format": _FORMAT,
        "scale": scale.name,
        "preset": scale.preset,
        "corpus": f"{counted.digest}-{counted.total_words}",
        "questions": [file_digest(path) for path in inputs.questions if path.is_file()] or None,
        "pairs": [file_digest(path) for path in inputs.pairs] or None,
        "sentences": list(inputs.sentences) or None,
        "words": list(inputs.words) or None,
        "context words": list(inputs.context_words) or None,
    }


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file, and a report is a folder; choose another output")
    others = {entry.name for entry in folder.iterdir()} - {WORK} if folder.is_dir() else set()
    if RUN not in others and not all(map(TEMPORARY.fullmatch, others)):  # all that is there before RUN is written
        raise ModelError(f"{folder} is neither empty nor a reproduction of posvec's; choose another output")


@contextlib.contextmanager
def _working(folder: Path, keep: bool) -> Iterator[Path]:
    """The folder of models and of all that is needed only while something is missing; of one process at a time."""
    work = folder / WORK
    with locked_folder(folder):
        try:
            work.mkdir(exist_ok=True)
            (work / ".gitignore").write_text("*\n")
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield work
        if not keep:
            shutil.rmtree(work, ignore_errors=True)


def _go_on(folder: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Begin anew, or go on with what is there if it is of the same corpus, scale and data."""
    path = folder / RUN
    before: dict[str, Any] = {}
    if path.exists() and not overwrite:
        try:
            before = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read ({error}); restore it, or begin anew with --overwrite") from error
        for name, value in identity.items():
            if before.get(name) is not None and value is not None and before[name] != value:
                raise ModelError(
                    f"{folder} is a reproduction with another {name}; choose another output, or begin anew with "
                    f"--overwrite"
                )
    if overwrite:
        for name in (DATA, FIGURES):
            shutil.rmtree(folder / name, ignore_errors=True)
        for each in (folder / WORK).iterdir():
            if each.is_dir():
                shutil.rmtree(each)
            elif each.suffix == ".txt":
                each.unlink()
        for name in (MARKDOWN, HTML):
            (folder / name).unlink(missing_ok=True)
    kept = {name: before.get(name) if value is None else value for name, value in identity.items()}
    with replacing(path) as file:
        file.write(json.dumps(kept, ensure_ascii=False, indent=1).encode() + b"\n")


def _described(bench: Bench, part: Part) -> str:
    """On what, and how, the models of a part are trained."""
    scale = bench.scale
    limit = scale.words[part]
    used = bench.total_words if limit is None else min(limit, bench.total_words)
    config = scale.config("subword", part)
    about = "" if used == bench.total_words else "about "
    remark = f"; {scale.sweep_remark}" if part == "sweep" and scale.sweep_remark else ""
    return (
        f"{about}{used:,} words, {plural(config.training.epochs, 'epoch')}, D = {config.model.dim}, "
        f"r = {config.vocabulary.sample:g}, initial learning rate {config.training.initial_lr:g}{remark}"
    )
