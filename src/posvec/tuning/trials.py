"""The trials of a search: choose settings, train, measure, store, until the budget is used up."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import Config, TextConfig
from posvec.corpus.cache import digest_of
from posvec.corpus.sources import Corpus
from posvec.errors import ConfigError, CorpusError, TrainingError
from posvec.model import Model
from posvec.storage.records import TrainingProgress
from posvec.system.atomic import file_digest
from posvec.system.extras import require_extra
from posvec.system.files import find_files
from posvec.training.display import format_seconds
from posvec.training.loop import StopTraining
from posvec.training.pipeline import Display, prepare, train_prepared
from posvec.tuning.objectives import Objective, TestFiles
from posvec.tuning.results import SearchResult, write_files
from posvec.tuning.space import Dimension, configured, value_in
from posvec.tuning.study import MODEL, REASON, SECONDS, check_folder, make_identity, open_study, summarize
from posvec.vocabulary import Vocabulary

if TYPE_CHECKING:
    import optuna

# Lines that are held out where a search goes by validation loss and the configuration holds out none.
VALIDATION = 0.05
TRIALS = 50  # where no budget is given

_LATE = "time is up"
_CHECKS = 4  # parts of training; after all but the last it is asked whether to go on
_TRIALS_BEFORE_PRUNING = 5
_UNFIT_IN_A_ROW = 200  # combinations that cannot be, after which a search gives up on the space


class Search:
    """A study that is being searched by this process, perhaps among others."""

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
    ) -> None:
        self.corpus, self.base, self.dimensions, self.objectives = corpus, base, dimensions, objectives
        self.display = display
        self.early = objectives[0].early if prune and len(objectives) == 1 else None
        self.deadline: float | None = None
        self.unfit = 0

    # ---- the study ----------------------------------------------------------------------------------------------

    def open(
        self,
        folder: Path,
        tests: TestFiles,
        storage: str | None = None,
        name: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Make the study, or go on with it if it is of the same corpus, settings, space and objectives."""
        optuna = require_extra("optuna", "search")
        check_folder(folder)
        directions = {each.name: "maximize" if each.maximize else "minimize" for each in self.objectives}
        space = [str(each) for each in self.dimensions]
        identity = make_identity(self.corpus.name, self._text(), self.base, space, directions, _digest(tests))
        # What one would train without a search comes first, so that what is found is never worse than that.
        given = {each.name: value_in(self.base, each.name) for each in self.dimensions}
        first = {each.name: given[each.name] for each in self.dimensions if each.has(given[each.name])}
        self.folder = folder
        self.study = open_study(folder, identity, first, storage, name, overwrite)
        self.study.pruner = optuna.pruners.MedianPruner(_TRIALS_BEFORE_PRUNING)

    def _text(self) -> str:
        """Identifies the text, wherever it is; the corpus's own digest has its place in it, and machines differ."""
        with self.display.stage("counting") as progress:
            words = Vocabulary.count(self.corpus, self.base.vocabulary, self.base.training.threads, progress)
        return digest_of(*words.words, *words.counts.tolist(), words.total_words)

    # ---- trials -------------------------------------------------------------------------------------------------

    def run(self, trials: int | None, seconds: float | None, keep_best: bool) -> SearchResult:
        if trials is None and seconds is None:
            trials = TRIALS
        started, before = time.monotonic(), self.finished()
        self.deadline = None if seconds is None else started + seconds
        while not self._is_late() and (trials is None or self.finished() < trials):
            done, now = self.finished(), time.monotonic()
            left = None if self.deadline is None else self.deadline - now
            if left is None and trials is not None and done > before:
                left = (now - started) / (done - before) * (trials - done)
            self._try_next(_title(done + 1, trials, left, summarize(self.study, importance=False)), keep_best)
        return self.conclude()

    def conclude(self) -> SearchResult:
        """What was found, also written to the study's folder."""
        result = summarize(self.study)
        write_files(result, self.folder)
        if not result.best:
            raise TrainingError(f"no trial of {self.folder} could be completed{result.last_reason}; change the space")
        return result

    def finished(self) -> int:
        """Trials that were trained, by any process; those stopped midway are yet to come."""
        trials = self.study.get_trials(deepcopy=False)
        return sum(trial.state.name in ("COMPLETE", "PRUNED") and SECONDS in trial.user_attrs for trial in trials)

    def _is_late(self) -> bool:
        """Whether time is up. One trial is always finished: without it there is nothing to show."""
        return self.deadline is not None and time.monotonic() >= self.deadline and self.finished() > 0

    def _try_next(self, title: str, keep_best: bool) -> None:
        trial = self.study.ask()
        # Every trial draws from a seed of its own, in whichever process it runs: none draws what another one did.
        self.study.sampler = _sampler(self.base.training.seed + trial.number)
        try:
            ended = self._try(trial, title, keep_best)
        except BaseException as error:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            # Where that cannot be stored either, or all but the files was, the first failure is the one to tell.
            with contextlib.suppress(OSError, require_extra("optuna", "search").exceptions.UpdateFinishedTrialError):
                self._stop(trial, reason, again=isinstance(error, KeyboardInterrupt))
            raise
        self.display.note(f"  {described(trial.params)}: {ended}")

    def _try(self, trial: optuna.Trial, title: str, keep_best: bool) -> str:
        """Train and measure; how it ended, in words."""
        values = {each.name: each.suggest(trial) for each in self.dimensions}
        try:
            config = configured(self.base, values)
        except ConfigError as error:
            return self._pass_over(trial, str(error))
        if not config.training.validation and any(each.name == "validation_loss" for each in self.objectives):
            config = config.replace(validation=VALIDATION)
        self.unfit = 0
        started = time.monotonic()
        try:
            with self.display.stage(title) as show:
                created, encoded, before = prepare(_read_as(self.corpus, config.text), config)
                watch = _Watch(show, created, trial, self.early, self._is_late)
                model = train_prepared(created, encoded, before, [watch])
                measured = [] if watch.verdict else [each.measure(model) for each in self.objectives]
        except (TrainingError, CorpusError) as error:
            if isinstance(error, CorpusError) and not self.finished():
                raise  # not the fault of what this trial tries
            trial.set_user_attr(SECONDS, time.monotonic() - started)
            return self._prune(trial, str(error))
        if watch.verdict == _LATE:
            self._stop(trial, _LATE, again=True)
            return _LATE
        trial.set_user_attr(SECONDS, time.monotonic() - started)
        if watch.verdict:
            return self._prune(trial, watch.verdict)
        self.study.tell(trial, measured)
        result = summarize(self.study, importance=False)
        remark = " (best so far)" if len(self.objectives) == 1 else " (on the Pareto front)"
        if keep_best and trial.number == result.best[0]:
            model.save(self.folder / MODEL, overwrite=True)
        write_files(result, self.folder)
        return _measured(result.trials[trial.number].values) + (remark if trial.number in result.best else "")

    def _pass_over(self, trial: optuna.Trial, reason: str) -> str:
        self.unfit += 1
        if self.unfit == _UNFIT_IN_A_ROW:
            raise ConfigError(f"hardly any combination of the space can be trained: {reason}")
        return self._prune(trial, reason)

    def _prune(self, trial: optuna.Trial, reason: str) -> str:
        """A trial that TPE counts among the bad ones; one that was stopped tells it nothing."""
        trial.set_user_attr(REASON, reason)
        self.study.tell(trial, state=require_extra("optuna.trial", "search").TrialState.PRUNED)
        return f"given up: {reason}"

    def _stop(self, trial: optuna.Trial, reason: str, again: bool) -> None:
        trial.set_user_attr(REASON, reason)
        if again:
            self.study.enqueue_trial(trial.params)
        self.study.tell(trial, state=require_extra("optuna.trial", "search").TrialState.FAIL)


def described(settings: dict[str, Any]) -> str:
    """The settings of a trial in one line."""
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )


class _Watch:
    """Told how the training of a trial goes; ends it when it does badly or time is up."""

    def __init__(
        self,
        show: Callable[[float], None],
        model: Model,
        trial: optuna.Trial,
        early: Callable[[Model, TrainingProgress], float] | None,
        is_late: Callable[[], bool],
    ) -> None:
        self.show, self.model, self.trial, self.early, self.is_late = show, model, trial, early, is_late
        self.checked = 0
        self.asked = time.monotonic()
        self.verdict = ""

    def on_block(self, progress: TrainingProgress) -> None:
        self.show(progress.share)
        if time.monotonic() - self.asked > 0.2:  # a question to the storage, which other processes write to
            self.asked = time.monotonic()
            if self.is_late():
                self.verdict = _LATE
                raise StopTraining
        if self.early and self.checked < int(progress.share * _CHECKS) < _CHECKS:
            self.checked = int(progress.share * _CHECKS)
            self.trial.report(self.early(_snapshot(self.model), progress), self.checked)
            if self.trial.should_prune():
                self.verdict = f"worse than most after {self.checked / _CHECKS:.0%} of training"
                raise StopTraining

    def on_epoch(self, progress: TrainingProgress) -> None: ...


def _sampler(seed: int) -> Any:
    # Not multivariate: the paper's estimator takes each setting by itself, and draws once the trial has its number.
    return require_extra("optuna.samplers", "search").TPESampler(
        seed=seed % 2**32, multivariate=False, constant_liar=True
    )


def _snapshot(model: Model) -> Model:
    """The model as it is now: word vectors are made once and kept, and these are made anew."""
    return Model(
        model.config,
        model.vocabulary,
        model.rows,
        model.input_vectors,
        model.output_vectors,
        model.positional_vectors,
    )


def _read_as(corpus: Corpus, text: TextConfig) -> Corpus:
    """The same files, read by the rules that a trial tries."""
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
        parts.append(f"best {_measured(result.best_trial.values)}")
    if left is not None:
        parts.append(f"{format_seconds(max(0.0, left))} left")
    return ", ".join(parts)


def _measured(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())
