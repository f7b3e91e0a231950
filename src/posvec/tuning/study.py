"""What a search has found so far: a study in Optuna's storage, and the files that are made of it.

A study's folder has the journal of its trials (unless they are in a database), ``best.json`` for ``posvec train
--config``, ``trials.csv``, and, where there are several objectives, ``front`` with a configuration for each trial that
no other one beats in all of them. The storage alone is the truth; everything else can be made from it again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import logging
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import Config
from posvec.errors import ConfigError, PosvecError
from posvec.system.atomic import cannot_write
from posvec.system.extras import require_extra
from posvec.tuning.journal import JournalLock
from posvec.tuning.results import BEST, FRONT, TRIALS, SearchResult, Trial

if TYPE_CHECKING:
    import optuna

JOURNAL, MODEL, PLOTS = "journal.log", "model", "plots"
IDENTITY, SECONDS, REASON = "posvec", "seconds", "reason"  # attributes of a study and of its trials

_FORMAT = 1
_NAME = "search"  # of the one study that a folder has
_PASSWORD = re.compile(r"(//[^:/@]*):[^@]*@")
_STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "stopped", "RUNNING": "running", "WAITING": "waiting"}
# Where and how quickly a trial runs does not change what it finds.
_LOCAL = ("threads", "checkpoint_minutes")


class OtherStudyError(PosvecError):
    """A study that is there already, of another corpus, space or objective."""


def open_study(
    folder: Path,
    identity: Mapping[str, Any],
    first: Mapping[str, Any],
    storage: str | None,
    name: str | None,
    overwrite: bool,
) -> optuna.Study:
    """The study in a folder or a database; a new one begins with the settings ``first``. Refused if it is another."""
    library = _optuna()
    place, name = _storage(folder, storage, name)
    if overwrite:
        with contextlib.suppress(KeyError):
            library.delete_study(study_name=name, storage=place)
        _remove_files(folder)
    try:
        directions = list(identity["objectives"].values())
        study: optuna.Study = library.create_study(study_name=name, storage=place, directions=directions)
    except library.exceptions.DuplicatedStudyError:
        study = library.load_study(study_name=name, storage=place)
        # Who made it may have been killed before it said what it is.
        if storage or _has_identity(study):
            _check_same(_identity(study), identity, name if storage else str(folder))
            return study
    if not study.get_trials(deepcopy=False):
        study.enqueue_trial(dict(first))
    study.set_user_attr(IDENTITY, {**identity, "format": _FORMAT})  # last: with it, the study is whole
    return study


def load_study(folder: str | os.PathLike[str], storage: str | None = None, name: str | None = None) -> SearchResult:
    """What a search in this folder, or under this name in a database, has found."""
    folder = Path(folder)
    optuna = _optuna()
    if storage is None and not (folder / JOURNAL).is_file():
        raise PosvecError(
            f"there is no study in {folder}; name the --output of posvec search, and its --storage if it had one"
        )
    with storing(folder, storage):
        place, name = _storage(folder, storage, name)
        try:
            return summarize(optuna.load_study(study_name=name, storage=place))
        except KeyError:
            raise PosvecError(f"there is no study {name!r} there; give the --name that it was searched by") from None


def summarize(study: optuna.Study, importance: bool = True) -> SearchResult:
    """The study as frozen values."""
    identity = _identity(study)
    base = Config.from_dict(identity["config"])
    objectives = dict(identity["objectives"])
    trials = tuple(_trial(trial, list(objectives)) for trial in study.get_trials(deepcopy=False))
    shares = _importance(study) if importance else {}
    found = SearchResult(identity["corpus_name"], objectives, tuple(identity["space"]), (), shares, trials, base)
    best = [trial.number for trial in found.ranked()]
    if len(objectives) > 1:
        front = {trial.number for trial in study.best_trials}
        best = [number for number in best if number in front]
    return dataclasses.replace(found, best=tuple(best if len(objectives) > 1 else best[:1]))


def make_identity(
    corpus: str, text: str, base: Config, space: list[str], objectives: dict[str, str], tests: str
) -> dict[str, Any]:
    """What all trials of a study have in common; ``text`` and ``tests`` are digests."""
    return {
        "corpus_name": corpus,
        "corpus": text,
        "config": base.to_dict(),
        "space": space,
        "objectives": objectives,
        "tests": tests,
    }


@contextlib.contextmanager
def storing(folder: Path, url: str | None) -> Iterator[None]:
    """Turns what a storage says into a sentence, without the password that an address may have in it."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, ImportError) as error:
        place, first = (_PASSWORD.sub(r"\1:***@", text) for text in (url or "", str(error).strip().splitlines()[0]))
        raise PosvecError(
            f"the storage {place} cannot be used: {first}; check the address, that the server runs, and that the "
            'database\'s driver is installed (PostgreSQL: pip install "psycopg[binary]", postgresql+psycopg://...)'
        ) from error
    except json.JSONDecodeError as error:
        raise PosvecError(f"{folder / JOURNAL} is damaged ({error}); begin the study anew with --overwrite") from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES):
            raise
        raise cannot_write(folder, error) from error


def check_folder(folder: Path) -> None:
    """Make the folder, unless it has anything else in it than a study."""
    known = {BEST, TRIALS, FRONT, MODEL, PLOTS}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [
            entry.name
            for entry in folder.iterdir()
            if entry.name not in known and not entry.name.startswith((JOURNAL, "."))
        ]
    except FileExistsError:
        raise PosvecError(f"{folder} is a file, and a study is a folder; choose another --output") from None
    except OSError as error:
        raise cannot_write(folder, error) from error
    if others:
        raise PosvecError(f"{folder} is no study: {min(others)} is in it; choose another --output")


def _optuna() -> Any:
    optuna = require_extra("optuna", "search")
    optuna.logging.set_verbosity(logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _storage(folder: Path, url: str | None, name: str | None) -> tuple[Any, str]:
    """Where the study is, and its name there."""
    if url is not None:
        return _database(url), name or folder.absolute().name
    if name is not None:
        raise ConfigError("--name is that of a study in a database; give its address with --storage, or leave it out")
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    journal = folder / JOURNAL
    return JournalStorage(JournalFileBackend(str(journal), JournalLock(journal))), _NAME  # type: ignore[arg-type]


def _database(url: str) -> Any:
    """Optuna's tables in a database. Where several processes make them at the same moment, all but one try again."""
    from optuna.storages import get_storage
    from sqlalchemy.exc import DatabaseError

    for _ in range(3):
        with contextlib.suppress(DatabaseError):
            return get_storage(url)
        time.sleep(0.5)
    return get_storage(url)


def _identity(study: optuna.Study) -> dict[str, Any]:
    if not _has_identity(study):
        raise PosvecError(f"the study {study.study_name} was not made by posvec search; choose another name")
    identity = study.user_attrs[IDENTITY]
    if identity.get("format") != _FORMAT:
        raise PosvecError(f"the study {study.study_name} was made by another version of posvec; use that one")
    return dict(identity)


def _has_identity(study: optuna.Study) -> bool:
    """Another process may have made the study this very moment, and not yet have said what it is."""
    for _ in range(50):
        if IDENTITY in study.user_attrs:
            return True
        time.sleep(0.1)
    return False


def _check_same(there: Mapping[str, Any], here: Mapping[str, Any], name: str) -> None:
    remedy = "choose another --output, or begin it anew with --overwrite"
    for group, settings in here["config"].items():
        for setting, value in settings.items():
            if setting not in _LOCAL and there["config"].get(group, {}).get(setting) != value:
                raise OtherStudyError(
                    f"the study {name} has {setting} {there['config'].get(group, {}).get(setting)}, not {value}; give "
                    f"the same to go on with it, {remedy}"
                )
    if there["corpus"] != here["corpus"]:
        raise OtherStudyError(
            f"the study {name} is of another corpus ({there['corpus_name']}, not {here['corpus_name']}, or that has "
            f"changed); {remedy}"
        )
    if there["tests"] != here["tests"]:
        raise OtherStudyError(f"the study {name} was measured on other --questions or --pairs; {remedy}")
    for what in ("objectives", "space"):
        if there[what] != here[what]:
            raise OtherStudyError(
                f"the study {name} has the {what} {', '.join(there[what])}, not {', '.join(here[what])}; give the same "
                f"to go on with it, {remedy}"
            )


def _remove_files(folder: Path) -> None:
    for name in (BEST, TRIALS):
        (folder / name).unlink(missing_ok=True)
    for name in (FRONT, MODEL, PLOTS):
        shutil.rmtree(folder / name, ignore_errors=True)


def _trial(trial: optuna.trial.FrozenTrial, objectives: list[str]) -> Trial:
    complete = trial.state.name == "COMPLETE"
    return Trial(
        trial.number,
        _STATES[trial.state.name],
        dict(trial.params) or dict(trial.system_attrs.get("fixed_params", {})),
        dict(zip(objectives, trial.values, strict=True)) if complete else {},
        trial.user_attrs.get(SECONDS),
        trial.user_attrs.get(REASON),
    )


def _importance(study: optuna.Study) -> dict[str, float]:
    """By PED-ANOVA, which needs no library more and is made for what TPE samples: unevenly."""
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    complete = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    varied = {name for trial in complete for name, value in trial.params.items() if value != complete[0].params[name]}
    if len(complete) < 10 or len(varied) < 2:
        return {}
    sign = -1 if study.directions[0].name == "MAXIMIZE" else 1  # the evaluator looks for low values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(
            get_param_importances(
                study,
                evaluator=PedAnovaImportanceEvaluator(target_quantile=0.25),
                params=sorted(varied),
                target=lambda trial: sign * trial.values[0],
            )
        )
