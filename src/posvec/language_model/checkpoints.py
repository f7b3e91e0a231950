"""Whether training of a language model can resume from a checkpoint: its state must fit the network and the texts.

A checkpoint may have been changed, or may come from somebody else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from posvec.errors import ModelError
from posvec.language_model.storage import SavedLanguageModel
from posvec.storage.parsing import parse_record


@dataclass(frozen=True)
class LoopState:
    """The state of the training loop.

    Attributes
    ----------
    lr
        The learning rate.
    steps_done, loss_sum, tokens, seconds
        The steps of this epoch, the sum of their losses, their tokens and their time.
    """

    lr: float
    steps_done: int
    loss_sum: float
    tokens: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the values to save as JSON."""
        return dataclasses.asdict(self)


def read_loop_state(
    saved: SavedLanguageModel, trained: Mapping[str, Tensor], steps: int, device: torch.device
) -> LoopState:
    """Return the state of the loop in a checkpoint, and set the random generators to theirs.

    Parameters
    ----------
    saved
        The checkpoint.
    trained
        The weights of the network that are trained.
    steps
        The steps of an epoch.
    device
        The device that training resumes on.

    Raises
    ------
    ModelError
        If the state cannot be that of interrupted training.
    """
    try:
        state = parse_record(LoopState, saved.progress)
        _check(saved, state, trained, steps)
        torch.set_rng_state(saved.states["cpu"])
        if "cuda" in saved.states and device.type == "cuda":
            torch.cuda.set_rng_state(saved.states["cuda"], device)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error.args[0] if error.args else error).partition("\n")[0]
        raise ModelError(
            f"the checkpoint is damaged ({reason}); restore it from a copy, or train the language model again"
        ) from error
    return state


def _check(saved: SavedLanguageModel, state: LoopState, trained: Mapping[str, Tensor], steps: int) -> None:
    report = saved.report
    if len(report.epochs) > report.config.epochs:
        raise ValueError(f"it has {len(report.epochs):,} epochs of {report.config.epochs:,}")
    if state.steps_done > steps:
        raise ValueError(f"steps_done is {state.steps_done:,}, and an epoch has {steps:,}")
    if state.tokens > report.tokens[0]:
        raise ValueError(f"tokens is {state.tokens:,}, and an epoch has {report.tokens[0]:,}")
    if (state.tokens > 0) != (state.steps_done > 0):
        raise ValueError(f"tokens is {state.tokens:,} after {state.steps_done:,} steps")
    if not 0 <= state.lr <= report.config.lr:
        raise ValueError(f"lr is {state.lr:g}, and was {report.config.lr:g} at the beginning")
    best = {name: weight.shape for name, weight in trained.items()} if report.epochs else {}
    _check_tensors("the best weights", saved.best, best)
    states: dict[str, tuple[int, ...]] = {"cpu": torch.get_rng_state().shape}
    if state.steps_done:
        shape = (report.config.layers, report.config.batch, report.config.hidden)
        states |= {"hidden": shape, "cell": shape}
    _check_tensors("the states", {name: saved.states[name] for name in saved.states if name != "cuda"}, states)


def _check_tensors(what: str, found: Mapping[str, Tensor], shapes: Mapping[str, Iterable[int]]) -> None:
    if found.keys() != shapes.keys() or any(list(found[name].shape) != list(shapes[name]) for name in found):
        raise ValueError(f"{what} do not have the names and shapes that this training has")
    if not all(bool(tensor.isfinite().all()) for tensor in found.values()):
        raise ValueError(f"{what} are not finite")
