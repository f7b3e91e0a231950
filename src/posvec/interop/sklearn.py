"""scikit-learn: texts → sentence vectors, as a step of its pipelines."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from posvec.config import SETTINGS, canonical_names
from posvec.errors import ConfigError, CorpusError
from posvec.model import Model
from posvec.query.sentences import METHODS, first_component
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra
from posvec.training.pipeline import train

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    require_extra("sklearn", "sklearn")  # says what to install
    raise


class PosvecVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sentence vectors of texts, (n, D), from a model that ``fit`` trains on them, or from a ready one.

    ``model`` and ``preset`` are those of :func:`posvec.train`, and so is every setting of :mod:`posvec.config`, as a
    parameter of its own: ``PosvecVectorizer(dim=50)``, or ``posvec__dim`` in a grid of a pipeline; what is None is the
    preset's. ``pretrained`` is a ready model or the folder of one, for which the rest is left out. (Name the folder
    where estimators are cloned: a model would be copied each time.)

    ``method`` is one of :mod:`posvec.query.sentences`: mean, positional, or sif, here without the first principal
    component of the texts that ``fit`` saw. A text without a word that has a vector is a row of zeros.
    """

    def __init__(
        self,
        model: str = "constrained",
        *,
        preset: str = "small",
        pretrained: Model | str | os.PathLike[str] | None = None,
        method: str = "mean",
        **settings: Any,
    ) -> None:
        self.model = model
        self.preset = preset
        self.pretrained = pretrained
        self.method = method
        settings = canonical_names(settings)
        for name in SETTINGS:
            setattr(self, name, settings.pop(name, None))
        if settings:
            raise TypeError(f"PosvecVectorizer has no parameter {', '.join(settings)}; posvec train --help lists all")

    # scikit-learn reads the parameters of an estimator from here.
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each for each in inspect.signature(__init__).parameters.values() if each.kind != each.VAR_KEYWORD]
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in SETTINGS]
    )

    def fit(self, X: Iterable[str], y: object = None) -> PosvecVectorizer:
        """Train on the texts, or take the ready model."""
        texts = _texts(X)
        if self.method not in METHODS:
            raise ConfigError(f"there is no method {self.method!r}; choose from {', '.join(METHODS)}")
        self.model_ = self._ready_model() or train(iter(texts), self.model, preset=self.preset, **self._settings())
        self._n_features_out = self.model_.config.model.dim
        self.component_: FloatArray | None = None
        """The direction that method sif takes out, (D,)."""
        if self.method == "sif":
            self.component_ = first_component(self.model_.sentence_vectors(texts, self.method))
        return self

    def transform(self, X: Iterable[str]) -> FloatArray:
        """The vectors of the texts, (n, D)."""
        check_is_fitted(self)
        vectors = self.model_.sentence_vectors(_texts(X), self.method)
        if self.component_ is not None:
            vectors -= np.outer(vectors @ self.component_, self.component_)
        return vectors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        tags.non_deterministic = self.threads != 1
        return tags

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}

    def _ready_model(self) -> Model | None:
        if self.pretrained is None:
            return None
        if given := self._settings():
            raise ConfigError(f"a pretrained model brings its own settings; leave out {', '.join(given)}")
        return self.pretrained if isinstance(self.pretrained, Model) else Model.load(self.pretrained)


def _texts(given: Iterable[str]) -> list[str]:
    """A list of strings, or what to give instead."""
    dimensions = getattr(given, "ndim", 1)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or dimensions != 1:
        what = f"a {type(given).__name__}" + (f" of {dimensions} dimensions" if dimensions != 1 else "")
        raise CorpusError(f"texts come as a list, an array or a column of strings, not as {what}; put them into a list")
    texts = list(given)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise CorpusError(f"text {place} is {text!r}, which is no string; fill in what is missing, with '' say")
    if not texts:
        raise CorpusError("there are no texts; give at least one")
    return texts
