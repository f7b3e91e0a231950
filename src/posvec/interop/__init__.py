"""Models and vectors in the shapes that other libraries know: a module for each, importing it only when it is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from posvec.errors import ConfigError

if TYPE_CHECKING:
    from posvec.model import Model


@dataclass(frozen=True)
class Target:
    """A folder that another library opens."""

    module: str
    function: str
    """Called with the model, the folder and ``overwrite``."""
    opens: str
    """The expression that opens it."""
    options: tuple[str, ...] = ()
    """What else the function takes."""
    whole: bool = False
    """Whether all of a model has a place in it, or the vectors of its words alone."""

    def omits(self, model: Model) -> list[str]:
        """What of this model has no place in it."""
        if self.whole:
            return []
        subwords = ["the vectors of n-grams"] if len(model.rows.bucket_ids) else []
        positions = ["positional vectors"] if model.config.model.positional_dim else []
        outputs = ["output vectors"] if model.has_outputs else []
        return [*subwords, *positions, *outputs]


TARGETS = {
    "spacy": Target("posvec.interop.spacy", "save_pipeline", "spacy.load({!r})", ("language",)),
    "sentence-transformers": Target(
        "posvec.interop.sentence_transformers",
        "save_sentence_transformer",
        "sentence_transformers.SentenceTransformer({!r})",
    ),
    "hub": Target(
        "posvec.interop.hub",
        "save_pretrained",
        "posvec.Model.from_pretrained({!r})",
        ("language", "license"),
        whole=True,
    ),
}


def export(
    model: Model, to: str, folder: str | os.PathLike[str], overwrite: bool = False, **options: str | None
) -> Target:
    """Write a model as a folder for another library: spacy, sentence-transformers or hub (Hugging Face).

    ``language`` is a short name, such as en; ``license`` goes into the card for the hub.
    """
    if to not in TARGETS:
        raise ConfigError(f"there is no export to {to!r}; choose from {', '.join(TARGETS)}")
    target = TARGETS[to]
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in target.options:
            raise ConfigError(f"an export to {to} has no place for the {name}; leave it out")
    write: Callable[..., None] = getattr(import_module(target.module), target.function)
    write(model, folder, overwrite=overwrite, **given)
    return target
