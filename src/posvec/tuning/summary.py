"""The state of a study as immutable values."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import TYPE_CHECKING, Any

from posvec.config import Config
from posvec.errors import PosvecError
from posvec.tuning.results import SearchResult, Trial

if TYPE_CHECKING:
    import optuna

# User attributes of a study (its identity) and of its trials.
IDENTITY, SECONDS, REASON = "posvec", "seconds", "reason"
FORMAT = 1

_STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "stopped", "RUNNING": "running", "WAITING": "waiting"}


def summarize(study: optuna.Study, importance: bool = True) -> SearchResult:
    """Return all trials of a study and which of them are best."""
    identity = read_identity(study)
    base = Config.from_dict(identity["config"])
    objectives = dict(identity["objectives"])
    trials = tuple(_make_trial(trial, list(objectives)) for trial in study.get_trials(deepcopy=False))
    weights = _setting_importance(study) if importance else {}
    result = SearchResult(identity["corpus_name"], objectives, tuple(identity["space"]), (), weights, trials, base)
    best = [trial.number for trial in result.ranked()]
    if len(objectives) > 1:
        front = {trial.number for trial in study.best_trials}
        best = [number for number in best if number in front]
    return dataclasses.replace(result, best=tuple(best if len(objectives) > 1 else best[:1]))


def read_identity(study: optuna.Study) -> dict[str, Any]:
    """Return what all trials of a study have in common; see :func:`posvec.tuning.study.make_identity`."""
    if not has_identity(study):
        raise PosvecError(f"the study {study.study_name} was not made by posvec search; choose another name")
    identity = study.user_attrs[IDENTITY]
    if identity.get("format") != FORMAT:
        raise PosvecError(f"the study {study.study_name} was made by another version of posvec; use that version")
    return dict(identity)


def has_identity(study: optuna.Study) -> bool:
    """Wait up to 5 s for the identity: another process may have created the study but not written it yet."""
    for _ in range(50):
        if IDENTITY in study.user_attrs:
            return True
        time.sleep(0.1)
    return False


def _make_trial(trial: optuna.trial.FrozenTrial, objectives: list[str]) -> Trial:
    complete = trial.state.name == "COMPLETE"
    return Trial(
        trial.number,
        _STATES[trial.state.name],
        dict(trial.params) or dict(trial.system_attrs.get("fixed_params", {})),
        dict(zip(objectives, trial.values, strict=True)) if complete else {},
        trial.user_attrs.get(SECONDS),
        trial.user_attrs.get(REASON),
    )


def _setting_importance(study: optuna.Study) -> dict[str, float]:
    """Compute PED-ANOVA, which allows for the uneven sampling of TPE and needs no further library."""
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
