"""The trials of a search: choose settings, train, measure and store, until the budget is used up."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import Config, TextConfig
from posvec.corpus.cache import digest_of
from posvec.corpus.sources import Corpus
from posvec.errors import ConfigError, CorpusError, TrainingError
from posvec.model import Model
from posvec.storage.records import Preparation
from posvec.system.atomic import file_digest
from posvec.system.extras import require_extra
from posvec.system.files import find_files
from posvec.training.chunks import ChunkedCorpus
from posvec.training.display import format_seconds
from posvec.training.pipeline import Display, prepare, train_prepared
from posvec.tuning.monitoring import TIME_IS_UP, TrialMonitor
from posvec.tuning.objectives import Objective, TestFiles
from posvec.tuning.results import SearchResult, format_settings, format_values, write_files
from posvec.tuning.space import Dimension, setting_value, trial_config
from posvec.tuning.study import MODEL_FOLDER, make_identity, open_study, prepare_folder
from posvec.tuning.summary import REASON, SECONDS, summarize
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    import optuna

# The fraction of lines held out if the objective is the validation loss and the configuration holds out none.
VALIDATION_FRACTION = 0.05
DEFAULT_TRIALS = 50  # without a budget

_TRIALS_BEFORE_PRUNING = 5
_MAX_INVALID_IN_A_ROW = 200  # invalid combinations of settings before the search reports an error


class TrialRunner:
    """Runs trials of one study in this process; other processes may run trials of the same study."""

    study: optuna.Study
    folder: Path

    def __init__(
        self,
        corpus: Corpus,
        base: Config,
        dimensions: tuple[Dimension, ...],
        objectives: tuple[Objective, ...],
        display: Display,
        prune: bool,
        automatic: Collection[str] = (),
    ) -> None:
        self.corpus, self.base, self.dimensions, self.objectives = corpus, base, dimensions, objectives
        self.display = display
        searched = {each.name for each in dimensions}
        self.automatic = tuple(name for name in automatic if name not in searched)
        """The settings of all trials that followed the corpus."""
        self.early = objectives[0].early if prune and len(objectives) == 1 else None
        self.deadline: float | None = None
        self.invalid_in_a_row = 0

    # ---- the study ----------------------------------------------------------------------------------------------

    def open(
        self,
        folder: Path,
        tests: TestFiles,
        storage: str | None = None,
        name: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Create the study, or continue it if it has the same corpus, settings, space and objectives."""
        optuna = require_extra("optuna", "search")
        prepare_folder(folder)
        directions = {each.name: "maximize" if each.maximize else "minimize" for each in self.objectives}
        space = [str(each) for each in self.dimensions]
        identity = make_identity(self.corpus.name, self._text_digest(), self.base, space, directions, _digest(tests))
        # The first trial is the base configuration, so that the result of a search is never worse.
        given = {each.name: setting_value(self.base, each.name) for each in self.dimensions}
        first = {each.name: given[each.name] for each in self.dimensions if each.contains(given[each.name])}
        self.folder = folder
        self.study = open_study(folder, identity, first, storage, name, overwrite)
        self.study.pruner = optuna.pruners.MedianPruner(_TRIALS_BEFORE_PRUNING)

    def _text_digest(self) -> str:
        """Return a digest of the words. The corpus's own digest includes its path, which differs between machines."""
        with self.display.stage("counting") as progress:
            words = Vocabulary.count(self.corpus, self.base.vocabulary, self.base.training.threads, progress)
        return digest_of(*words.words, *words.counts.tolist(), words.total_words)

    # ---- trials -------------------------------------------------------------------------------------------------

    def run(self, trials: int | None, seconds: float | None, keep_best: bool) -> SearchResult:
        """Run trials until the study has enough of them or time is up."""
        if trials is None and seconds is None:
            trials = DEFAULT_TRIALS
        started, before = time.monotonic(), self.finished()
        self.deadline = None if seconds is None else started + seconds
        while not self._is_late() and (trials is None or self.finished() < trials):
            done, now = self.finished(), time.monotonic()
            left = None if self.deadline is None else self.deadline - now
            if left is None and trials is not None and done > before:
                left = (now - started) / (done - before) * (trials - done)
            self._run_next(_title(done + 1, trials, left, summarize(self.study, importance=False)), keep_best)
        return self.conclude()

    def conclude(self) -> SearchResult:
        """Return the result, and write it to the folder of the study."""
        result = summarize(self.study)
        write_files(result, self.folder)
        if not result.best:
            raise TrainingError(f"no trial of {self.folder} could be completed{result.last_reason}; change the space")
        return result

    def finished(self) -> int:
        """Count the trials that were trained by any process; stopped trials will be run again."""
        trials = self.study.get_trials(deepcopy=False)
        return sum(trial.state.name in ("COMPLETE", "PRUNED") and SECONDS in trial.user_attrs for trial in trials)

    def _is_late(self) -> bool:
        """Whether time is up; never before one trial is finished, because there would be no result."""
        return self.deadline is not None and time.monotonic() >= self.deadline and self.finished() > 0

    def _run_next(self, title: str, keep_best: bool) -> None:
        trial = self.study.ask()
        # Each trial has its own seed, whichever process runs it, so that processes do not repeat each other's draws.
        self.study.sampler = _make_sampler(self.base.training.seed + trial.number)
        try:
            outcome = self._run_trial(trial, title, keep_best)
        except BaseException as error:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            # If the storage fails as well, or the trial is stored and only its files failed, the first error counts.
            with contextlib.suppress(OSError, require_extra("optuna", "search").exceptions.UpdateFinishedTrialError):
                self._stop(trial, reason, again=isinstance(error, KeyboardInterrupt))
            raise
        self.display.note(f"  {format_settings(trial.params)}: {outcome}")

    def _run_trial(self, trial: optuna.Trial, title: str, keep_best: bool) -> str:
        """Train and measure a model, store the trial, and return its outcome as text."""
        values = {each.name: each.suggest(trial) for each in self.dimensions}
        try:
            config = trial_config(self.base, values)
        except ConfigError as error:
            return self._prune_invalid(trial, str(error))
        if not config.training.validation and any(each.name == "validation_loss" for each in self.objectives):
            config = config.replace(validation=VALIDATION_FRACTION)
        self.invalid_in_a_row = 0
        started = time.monotonic()
        try:
            with self.display.stage(title) as show:
                created, encoded, before = self.prepare(_with_text_settings(self.corpus, config.text), config)
                monitor = TrialMonitor(show, created, trial, self.early, self._is_late)
                model = train_prepared(created, encoded, before, [monitor])
                measured = [] if monitor.stopped else [each.measure(model) for each in self.objectives]
        except (TrainingError, CorpusError) as error:
            if isinstance(error, CorpusError) and not self.finished():
                raise  # the corpus itself is at fault, not the settings of this trial
            trial.set_user_attr(SECONDS, time.monotonic() - started)
            return self._prune(trial, str(error))
        if monitor.stopped == TIME_IS_UP:
            self._stop(trial, TIME_IS_UP, again=True)
            return TIME_IS_UP
        trial.set_user_attr(SECONDS, time.monotonic() - started)
        if monitor.stopped:
            return self._prune(trial, monitor.stopped)
        self.study.tell(trial, measured)
        result = summarize(self.study, importance=False)
        remark = " (best so far)" if len(self.objectives) == 1 else " (on the Pareto front)"
        if keep_best and trial.number == result.best[0]:
            model.save(self.folder / MODEL_FOLDER, overwrite=True)
        write_files(result, self.folder)
        return format_values(result.trials[trial.number].values) + (remark if trial.number in result.best else "")

    def prepare(
        self, corpus: Corpus, config: Config, display: Display | None = None
    ) -> tuple[Model, ChunkedCorpus, Preparation]:
        """Return a model to train with the settings of a trial, and what it is trained on."""
        model, encoded, before = prepare(corpus, config, display)
        return model, encoded, dataclasses.replace(before, automatic=self.automatic)

    def _prune_invalid(self, trial: optuna.Trial, reason: str) -> str:
        self.invalid_in_a_row += 1
        if self.invalid_in_a_row == _MAX_INVALID_IN_A_ROW:
            raise ConfigError(f"hardly any combination of the space is valid: {reason}")
        return self._prune(trial, reason)

    def _prune(self, trial: optuna.Trial, reason: str) -> str:
        """Mark a trial as pruned, which TPE counts as bad; it ignores stopped trials."""
        trial.set_user_attr(REASON, reason)
        self.study.tell(trial, state=require_extra("optuna.trial", "search").TrialState.PRUNED)
        return f"given up: {reason}"

    def _stop(self, trial: optuna.Trial, reason: str, again: bool) -> None:
        trial.set_user_attr(REASON, reason)
        if again:
            self.study.enqueue_trial(trial.params)
        self.study.tell(trial, state=require_extra("optuna.trial", "search").TrialState.FAIL)


def _make_sampler(seed: int) -> Any:
    # Not multivariate: the paper's estimator treats each setting separately, and draws after the trial has its number.
    return require_extra("optuna.samplers", "search").TPESampler(
        seed=seed % 2**32, multivariate=False, constant_liar=True
    )


def _with_text_settings(corpus: Corpus, text: TextConfig) -> Corpus:
    """Return the same files, read with the text settings of a trial."""
    other = copy.copy(corpus)
    other.errors = text.errors
    if corpus.tokenizer != "tokens":
        other.tokenizer = text.tokenizer
    return other


def _digest(tests: TestFiles) -> str:
    files = [file_digest(file) for path in (*tests.questions, *tests.pairs) for file in find_files(path)]
    return digest_of(*files, tests.restrict_vocab)


def _title(number: int, trials: int | None, left: float | None, result: SearchResult) -> str:
    parts = [f"trial {number}" + (f" of {trials}" if trials else "")]
    if result.best:
        parts.append(f"best {format_values(result.best_trial.values)}")
    if left is not None:
        parts.append(f"{format_seconds(max(0.0, left))} left")
    return ", ".join(parts)
