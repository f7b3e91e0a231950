"""Run the experiments of a reproduction that are not measured yet, and write the report after each of them."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posvec.config import nearest
from posvec.corpus.sources import Source
from posvec.errors import ConfigError
from posvec.presets import PRESETS
from posvec.reproduction import provenance
from posvec.reproduction.experiments import EXPERIMENTS, NAMES, Experiment
from posvec.reproduction.findings import Findings
from posvec.reproduction.inputs import MISSING, Inputs, read_inputs
from posvec.reproduction.output_folder import DATA, check_folder, make_identity, open_folder, working_folder
from posvec.reproduction.report import MARKDOWN, ExperimentStatus, ReportWriter
from posvec.reproduction.scales import SCALES, CorpusPart, Scale
from posvec.reproduction.workspace import Recipe, Workspace
from posvec.system.console import plural
from posvec.system.extras import require_extra
from posvec.training.pipeline import Display, Silent
from posvec.training.sources import open_source
from posvec.tuning.objectives import Paths
from posvec.vocabulary import Vocabulary


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
    """Measure what the paper measured, and report it beside the paper's numbers.

    The report is written again after every experiment. What the output folder already has is not measured again, so
    that the same call continues an interrupted reproduction.

    Parameters
    ----------
    corpus
        The text to train on: files, folders, or the name of a dataset.
    output
        The folder of the report.
    scale
        The size of the reproduction: ``small``, ``medium``, ``full``, or a :class:`~posvec.reproduction.scales.Scale`.
    preset
        The preset of all models; by default that of the scale.
    seeds
        How many times everything is trained; by default 3.
    questions, pairs
        Files of word analogies and of word pairs with their similarity.
    language_data, language
        Texts for language modelling, as for :func:`posvec.language_model.train`.
    sentences, words
        Sentences with a [MASK], and words whose ranks in them are reported; by default the paper's.
    context_words
        Words whose classes are reported; by default the paper's.
    only
        The names of experiments to run; by default all.
    qualitative
        Run only the experiments about the positional vectors, which need no test sets and suit any language.
    threads
        The number of threads; 0 for one per core.
    keep_models
        Keep the models, in the folder ``work`` of the output folder.
    overwrite
        Remove an existing reproduction and start again.
    command
        The command that the report shows.
    display
        Shows progress.

    Returns
    -------
    Path
        The report in Markdown.

    Raises
    ------
    ConfigError
        If a setting or the name of an experiment is invalid.
    ModelError
        If the output folder has something else, or a reproduction with another corpus, scale or data.

    Examples
    --------
    >>> from posvec.reproduction import reproduce
    >>> reproduce("corpus.txt", "reproduction", only=["variances"], threads=1).name
    'report.md'
    """
    size = _choose_scale(scale, preset)
    config = size.config("general", threads=threads)
    if seeds is not None and seeds < 1:
        raise ConfigError(f"seeds is {seeds}, but must be at least 1")
    inputs = read_inputs(questions, pairs, language_data, language, sentences, words, context_words, qualitative)
    experiments = _choose_experiments(only, qualitative, inputs)
    folder, display = Path(output), display or Silent()
    check_folder(folder)
    with open_source(corpus, config, display=display) as opened:
        if not opened.paths:
            raise ConfigError("a reproduction reads its corpus many times; give files or the name of a dataset")
        with display.stage("counting") as progress:
            vocabulary = Vocabulary.count(opened, config.vocabulary, threads, progress)
        name = " ".join(Path(path).name for path in opened.paths[:3])
    with working_folder(folder, keep_models) as work:
        open_folder(folder, make_identity(size, vocabulary, inputs), overwrite)
        workspace = Workspace(corpus, vocabulary.total_words, work, size, inputs, threads, display)
        facts = {
            "corpus": f"{name}: {vocabulary.total_words:,} words, {len(vocabulary):,} of them in the vocabulary",
            "scale": f"{size.name} ({size.duration}); preset {size.preset}",
            **{f"{part} models": _describe_models(workspace, part) for part in size.words},
            "command": command or "posvec.reproduction.reproduce",
            "machine": provenance.machine(),
            "versions": provenance.versions(),
        }
        Reproduction(workspace, folder, experiments, seeds or size.seeds, keep_models, facts).run()
    return folder / MARKDOWN


@dataclass(frozen=True)
class Measurement:
    """One variant of an experiment with one seed."""

    experiment: Experiment
    variant: str
    subject: Recipe | str
    seed: int


class Reproduction:
    """Makes the measurements that are missing, and writes the report."""

    def __init__(
        self,
        workspace: Workspace,
        folder: Path,
        experiments: Sequence[tuple[Experiment, str | None]],
        seeds: int,
        keep_models: bool,
        facts: dict[str, str],
    ) -> None:
        self.workspace, self.findings = workspace, Findings(folder / DATA)
        self.report = ReportWriter(folder, self.findings)
        self.experiments, self.keep_models, self.facts = experiments, keep_models, facts
        self.seeds = seeds
        self.commit = provenance.commit()
        # Seed by seed, so that the report shows all experiments after the first seed.
        self.measurements = [
            Measurement(experiment, variant, subject, seed)
            for seed in range(1, seeds + 1)
            for experiment, skipped in experiments
            if not skipped and (seed == 1 or experiment.every_seed)
            for variant, subject in experiment.variants(workspace.scale).items()
        ]

    def run(self) -> None:
        """Make all measurements that are missing; write the report after each experiment and seed."""
        left = [each for each in self.measurements if not self._is_done(each)]
        if not left:
            self._write_report()
        while left:
            current, *rest = left
            name, number = current.experiment.name, len(self.measurements) - len(rest)
            self.workspace.display.note(
                f"{name}: {current.variant}, seed {current.seed} ({number} of {len(self.measurements)})"
            )
            started = time.process_time()
            values = current.experiment.measure(self.workspace, current.subject, current.seed)
            cpu_seconds = time.process_time() - started
            self.findings.add(name, current.variant, current.seed, values, self.commit, cpu_seconds)
            if not rest or (rest[0].experiment.name, rest[0].seed) != (name, current.seed):
                self._write_report()
            self._remove_model(current, rest)
            left = rest

    def _is_done(self, measurement: Measurement) -> bool:
        return self.findings.has(measurement.experiment.name, measurement.variant, measurement.seed)

    def _remove_model(self, done: Measurement, rest: Sequence[Measurement]) -> None:
        """Remove the model of a measurement to save disk space, unless another measurement needs it."""
        needed = {(each.subject, each.seed) for each in rest}
        if isinstance(done.subject, Recipe) and not self.keep_models and (done.subject, done.seed) not in needed:
            self.workspace.remove_model(done.subject, done.seed)

    def _write_report(self) -> None:
        statuses = []
        for experiment, skipped in self.experiments:
            wanted = [each for each in self.measurements if each.experiment.name == experiment.name]
            done = self.findings.count(experiment.name) if skipped else sum(map(self._is_done, wanted))
            minutes = self.findings.cpu_seconds(experiment.name) / 60
            statuses.append((experiment, ExperimentStatus(done, len(wanted), skipped, minutes)))
        commits = ", ".join(sorted(self.findings.commits)) or self.commit
        facts = {**self.facts, "commit": commits, "seeds": str(self.seeds)}
        self.report.write(facts, statuses)


def _choose_scale(scale: str | Scale, preset: str | None) -> Scale:
    if isinstance(scale, str):
        if scale not in SCALES:
            raise ConfigError(f"there is no scale {scale!r}; choose from {', '.join(SCALES)}")
        scale = SCALES[scale]
    if preset is None:
        return scale
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
    return dataclasses.replace(scale, preset=preset)


def _choose_experiments(only: Sequence[str], qualitative: bool, inputs: Inputs) -> list[tuple[Experiment, str | None]]:
    """Return the experiments to run, each with the reason if it is skipped."""
    for name in only:
        if name not in NAMES:
            raise ConfigError(f"there is no experiment {name!r}{nearest(name, NAMES)}; choose from {', '.join(NAMES)}")
    chosen: list[tuple[Experiment, str | None]] = []
    require_extra("scipy.stats", "reproduce")
    require_extra("matplotlib", "reproduce")
    for experiment in EXPERIMENTS:
        if (only and experiment.name not in only) or (qualitative and not experiment.qualitative):
            continue
        skipped = next((MISSING[name] for name in experiment.inputs if not getattr(inputs, name)), None)
        if not skipped:
            require_extra(*experiment.extra)
        chosen.append((experiment, skipped))
    if not chosen:
        raise ConfigError("none of the given experiments is qualitative; leave out --qualitative or --only")
    return chosen


def _describe_models(workspace: Workspace, part: CorpusPart) -> str:
    """Return how much text the models of a part are trained on, and their settings."""
    scale = workspace.scale
    limit = scale.words[part]
    used = workspace.total_words if limit is None else min(limit, workspace.total_words)
    config = scale.config("subword", part)
    about = "" if used == workspace.total_words else "about "
    remark = f"; {scale.sweep_remark}" if part == "sweep" and scale.sweep_remark else ""
    return (
        f"{about}{used:,} words, {plural(config.training.epochs, 'epoch')}, D = {config.model.dim}, "
        f"r = {config.vocabulary.sample:g}, initial learning rate {config.training.initial_lr:g}{remark}"
    )
