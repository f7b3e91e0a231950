"""scikit-learn: sentence vectors of texts, as a step of its pipelines."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from posvec.config import SETTINGS, canonical_names
from posvec.errors import ConfigError, CorpusError
from posvec.model import Model
from posvec.presets import DEFAULT_PRESET
from posvec.query.sentences import METHODS, first_component
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra
from posvec.training.pipeline import train

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    # Without scikit-learn the class can still be imported, listed and documented; its constructor raises.
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator = (type("object", (), {}) for _ in range(3))


class PosvecVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform texts to sentence vectors, (n, D), with a pretrained model or one trained on the texts by ``fit``.

    A text without any word that has a vector becomes a row of zeros.

    Parameters
    ----------
    model
        The kind of model to train, as in :func:`posvec.train`.
    preset
        The preset of settings to train with, as in :func:`posvec.train`.
    pretrained
        A model, or the folder of one, to use instead of training; settings cannot be given with it. If the estimator
        is cloned, as in a grid search, give the folder, because a model would be copied each time.
    method
        How to combine word vectors: mean, positional, or sif, here without the first principal component of the
        texts passed to ``fit``; see :mod:`posvec.query.sentences`.
    **settings
        Every setting of :mod:`posvec.config` is a parameter: ``PosvecVectorizer(dim=50)``, or ``posvec__dim`` in the
        grid of a pipeline. None stands for the value of the preset.

    Examples
    --------
    >>> from posvec import PosvecVectorizer
    >>> vectorizer = PosvecVectorizer(pretrained="model")
    >>> vectorizer.fit_transform(["the cat sees the dog", "the house near the river"]).shape
    (2, 32)
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        preset: str = DEFAULT_PRESET,
        pretrained: Model | str | os.PathLike[str] | None = None,
        method: str = "mean",
        **settings: Any,
    ) -> None:
        require_extra("sklearn.base", "sklearn")
        self.model = model
        self.preset = preset
        self.pretrained = pretrained
        self.method = method
        settings = canonical_names(settings)
        for name in SETTINGS:
            setattr(self, name, settings.pop(name, None))
        if settings:
            raise TypeError(f"PosvecVectorizer has no parameter {', '.join(settings)}; posvec train --help lists them")

    # scikit-learn reads the parameters of an estimator from this signature.
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each for each in inspect.signature(__init__).parameters.values() if each.kind != each.VAR_KEYWORD]
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in SETTINGS]
    )

    def fit(self, X: Iterable[str], y: object = None) -> PosvecVectorizer:
        """Train a model on the texts, or load the pretrained one.

        Parameters
        ----------
        X
            The texts, as strings.
        y
            Ignored.

        Returns
        -------
        PosvecVectorizer
            The estimator itself, with the model as ``model_``.
        """
        texts = _texts(X)
        if self.method not in METHODS:
            raise ConfigError(f"unknown method {self.method!r}; choose from {', '.join(METHODS)}")
        self.model_ = self._pretrained_model() or train(iter(texts), self.model, preset=self.preset, **self._settings())
        self._n_features_out = self.model_.config.model.dim
        self.component_: FloatArray | None = None
        """The direction that the method sif removes, (D,)."""
        if self.method == "sif":
            self.component_ = first_component(self.model_.sentence_vectors(texts, self.method))
        return self

    def transform(self, X: Iterable[str]) -> FloatArray:
        """Return the vectors of texts.

        Parameters
        ----------
        X
            The texts, as strings.

        Returns
        -------
        numpy.ndarray
            A vector in each row, (n, D).
        """
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

    def _pretrained_model(self) -> Model | None:
        if self.pretrained is None:
            return None
        if given := self._settings():
            raise ConfigError(f"a pretrained model has its own settings; leave out {', '.join(given)}")
        return self.pretrained if isinstance(self.pretrained, Model) else Model.load(self.pretrained)


def _texts(given: Iterable[str]) -> list[str]:
    """The texts as a list; raise CorpusError if they are not strings."""
    dimensions = getattr(given, "ndim", 1)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or dimensions != 1:
        what = f"a {type(given).__name__}" + (f" of {dimensions} dimensions" if dimensions != 1 else "")
        raise CorpusError(f"texts must be a list, an array or a column of strings, not {what}; put them into a list")
    texts = list(given)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise CorpusError(f"text {number} is not a string but {text!r}; replace missing texts, for example by ''")
    if not texts:
        raise CorpusError("there are no texts; give at least one")
    return texts
