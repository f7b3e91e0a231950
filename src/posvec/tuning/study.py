"""Studies: all trials of a search, kept in Optuna's storage and in the study's folder.

The folder of a study has the journal of its trials (unless they are in a database), ``best.json`` for ``posvec train
--config``, ``trials.csv``, and, if there are several objectives, ``front`` with the configurations of the Pareto front.
Only the storage is needed to continue a study: all other files are made from it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.config import Config
from posvec.errors import PosvecError
from posvec.system.atomic import cannot_write
from posvec.system.extras import require_extra
from posvec.tuning.results import BEST_FILE, FRONT_FOLDER, TRIALS_FILE, SearchResult
from posvec.tuning.storage import JOURNAL, locate_storage, storage_errors
from posvec.tuning.summary import FORMAT, IDENTITY, has_identity, read_identity, summarize

if TYPE_CHECKING:
    import optuna

MODEL_FOLDER, PLOTS_FOLDER = "model", "plots"

# Settings that do not change what a trial finds, only where and how fast it runs.
_LOCAL_SETTINGS = ("threads", "checkpoint_minutes")


class StudyMismatchError(PosvecError):
    """The study that exists already has another corpus, configuration, space or objective."""


def open_study(
    folder: Path,
    identity: Mapping[str, Any],
    first: Mapping[str, Any],
    storage: str | None,
    name: str | None,
    overwrite: bool,
) -> optuna.Study:
    """Open or create the study in a folder or a database; a new one first tries the settings ``first``."""
    library = _import_optuna()
    location, name = locate_storage(folder, storage, name)
    if overwrite:
        with contextlib.suppress(KeyError):
            library.delete_study(study_name=name, storage=location)
        _remove_files(folder)
    try:
        directions = list(identity["objectives"].values())
        study: optuna.Study = library.create_study(study_name=name, storage=location, directions=directions)
    except library.exceptions.DuplicatedStudyError:
        study = library.load_study(study_name=name, storage=location)
        # A journal without identity was left by a process that was killed while it created the study.
        if storage or has_identity(study):
            _check_identity(read_identity(study), identity, name if storage else str(folder))
            return study
    if not study.get_trials(deepcopy=False):
        study.enqueue_trial(dict(first))
    study.set_user_attr(IDENTITY, {**identity, "format": FORMAT})  # last: a study with an identity is complete
    return study


def load_study(folder: str | os.PathLike[str], storage: str | None = None, name: str | None = None) -> SearchResult:
    """Load the trials of a search.

    Parameters
    ----------
    folder
        The folder of the study, which is the ``output`` of the search.
    storage
        The address of the database, if the search used one.
    name
        The name of the study in that database; by default, the name of the folder.

    Returns
    -------
    SearchResult
        All trials so far, and which of them are best.

    Raises
    ------
    PosvecError
        If there is no such study.

    Examples
    --------
    >>> from posvec import tuning
    >>> tuning.load_study("nowhere")
    Traceback (most recent call last):
    posvec.errors.PosvecError: there is no study in nowhere; ...
    """
    folder = Path(folder)
    optuna = _import_optuna()
    if storage is None and not (folder / JOURNAL).is_file():
        raise PosvecError(
            f"there is no study in {folder}; give the --output of posvec search, and its --storage if it had one"
        )
    with storage_errors(folder, storage):
        location, name = locate_storage(folder, storage, name)
        try:
            return summarize(optuna.load_study(study_name=name, storage=location))
        except KeyError:
            raise PosvecError(f"there is no study {name!r} in the storage; give the --name of the search") from None


def make_identity(
    corpus: str, text: str, base: Config, space: list[str], objectives: dict[str, str], tests: str
) -> dict[str, Any]:
    """Return what all trials of a study have in common; ``text`` and ``tests`` are digests."""
    return {
        "corpus_name": corpus,
        "corpus": text,
        "config": base.to_dict(),
        "space": space,
        "objectives": objectives,
        "tests": tests,
    }


def prepare_folder(folder: Path) -> None:
    """Create the folder of a study; refuse a folder with other files."""
    known = {BEST_FILE, TRIALS_FILE, FRONT_FOLDER, MODEL_FOLDER, PLOTS_FOLDER}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [
            entry.name
            for entry in folder.iterdir()
            if entry.name not in known and not entry.name.startswith((JOURNAL, "."))
        ]
    except FileExistsError:
        raise PosvecError(f"{folder} is a file, but a study is a folder; choose another --output") from None
    except OSError as error:
        raise cannot_write(folder, error) from error
    if others:
        raise PosvecError(f"{folder} is not a study: it contains {min(others)}; choose another --output")


def _import_optuna() -> Any:
    optuna = require_extra("optuna", "search")
    optuna.logging.set_verbosity(logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _check_identity(existing: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> None:
    remedy = "choose another --output, or start it again with --overwrite"
    settings = Config.from_dict(existing["config"]).to_dict()  # reads the settings of earlier versions too
    for group, values in wanted["config"].items():
        for setting, value in values.items():
            if setting not in _LOCAL_SETTINGS and settings[group][setting] != value:
                raise StudyMismatchError(
                    f"the study {name} has {setting} {settings[group][setting]}, not {value}; use the same value to "
                    f"continue it, {remedy}"
                )
    if existing["corpus"] != wanted["corpus"]:
        raise StudyMismatchError(
            f"the study {name} has another corpus ({existing['corpus_name']}, not {wanted['corpus_name']}), or the "
            f"corpus has changed; {remedy}"
        )
    if existing["tests"] != wanted["tests"]:
        raise StudyMismatchError(f"the study {name} was measured on other --questions or --pairs; {remedy}")
    for key in ("objectives", "space"):
        if existing[key] != wanted[key]:
            raise StudyMismatchError(
                f"the study {name} has the {key} {', '.join(existing[key])}, not {', '.join(wanted[key])}; use the "
                f"same to continue it, {remedy}"
            )


def _remove_files(folder: Path) -> None:
    for name in (BEST_FILE, TRIALS_FILE):
        (folder / name).unlink(missing_ok=True)
    for name in (FRONT_FOLDER, MODEL_FOLDER, PLOTS_FOLDER):
        shutil.rmtree(folder / name, ignore_errors=True)
