"""Export of models as folders that other libraries open."""

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
class ExportTarget:
    """A library that models are exported to, and the function that writes its folder.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop import TARGETS
    >>> TARGETS["spacy"].omissions(posvec.load("model"))
    ['the vectors of n-grams', 'positional vectors', 'output vectors']
    >>> TARGETS["hub"].omissions(posvec.load("model"))
    []
    """

    module: str
    function: str
    """Called with the model, the folder, ``overwrite`` and the given ``options``."""
    open_expression: str
    """A Python expression that opens the folder, with ``{!r}`` in place of its path."""
    options: tuple[str, ...] = ()
    """Further keyword arguments of the function."""
    stores_models: bool = False
    """Whether the folder stores the whole model, not only the vectors of its words."""

    def omissions(self, model: Model) -> list[str]:
        """Return descriptions of what the folder does not store of a model."""
        if self.stores_models:
            return []
        subwords = ["the vectors of n-grams"] if len(model.rows.bucket_ids) else []
        positions = ["positional vectors"] if model.config.model.positional_dim else []
        outputs = ["output vectors"] if model.has_outputs else []
        return [*subwords, *positions, *outputs]


TARGETS = {
    "spacy": ExportTarget("posvec.interop.spacy", "save_pipeline", "spacy.load({!r})", ("language",)),
    "sentence-transformers": ExportTarget(
        "posvec.interop.sentence_transformers",
        "save_sentence_transformer",
        "sentence_transformers.SentenceTransformer({!r})",
    ),
    "hub": ExportTarget(
        "posvec.interop.hub",
        "save_pretrained",
        "posvec.Model.from_pretrained({!r})",
        ("language", "license"),
        stores_models=True,
    ),
}
"""All export targets by name, as ``posvec export --to NAME`` takes them."""


def export(
    model: Model, to: str, folder: str | os.PathLike[str], overwrite: bool = False, **options: str | None
) -> ExportTarget:
    """Export a model as a folder for another library.

    Parameters
    ----------
    model
        The model to export.
    to
        ``spacy``, ``sentence-transformers`` or ``hub`` (Hugging Face).
    folder
        The folder to write.
    overwrite
        Whether to replace a folder that was exported before.
    **options
        ``language`` (for spacy and hub), a short name, for example en; ``license`` (for hub), named in the model card.

    Returns
    -------
    ExportTarget
        The target, which tells what was omitted and how to open the folder.

    Raises
    ------
    ConfigError
        If the target is unknown or does not take an option.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop import export
    >>> target = export(posvec.load("model"), "hub", "exported", overwrite=True, license="mit")
    >>> target.open_expression.format("exported")
    "posvec.Model.from_pretrained('exported')"
    """
    if to not in TARGETS:
        raise ConfigError(f"unknown export target {to!r}; choose from {', '.join(TARGETS)}")
    target = TARGETS[to]
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in target.options:
            raise ConfigError(f"the export to {to} has no option {name}; leave it out")
    write: Callable[..., None] = getattr(import_module(target.module), target.function)
    write(model, folder, overwrite=overwrite, **given)
    return target
