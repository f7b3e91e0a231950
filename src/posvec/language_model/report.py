"""Reports of the training of language models."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posvec.evaluation.results import Result, Table
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.lookup import Coverage
from posvec.storage.parsing import parse_record


def perplexity(loss: float) -> float:
    """Return exp of the mean negative log-likelihood, or infinity if that overflows."""
    return math.exp(loss) if loss < 700 else math.inf


@dataclass(frozen=True)
class Epoch:
    """One pass over the training text.

    Attributes
    ----------
    loss, validation_loss
        The mean negative log-likelihoods per token of the training text and of the validation text.
    lr
        The learning rate.
    seconds
        The time spent on training.
    """

    loss: float
    validation_loss: float
    lr: float
    seconds: float

    @property
    def validation_perplexity(self) -> float:
        """The perplexity of the validation text."""
        return perplexity(self.validation_loss)


@dataclass(frozen=True)
class LanguageModelReport(Result):
    """The perplexities of a language model and what it was trained on.

    Attributes
    ----------
    name
        The name of the vectors. Comparisons average the runs of one name, which differ only in their seeds.
    model
        The path of the model with the vectors, or an empty string.
    data, language, transformer
        The paths of the texts and of the transformer, and the language of the texts.
    words
        The number of distinct words in the texts.
    tokens
        The numbers of tokens in the training, validation and test texts.
    digest
        The digest of the texts. Only perplexities of the same texts can be compared.
    coverage
        The sources of the word vectors.
    config
        The settings.
    epochs
        The losses of each epoch.
    test_loss
        The loss on the test text with the weights of the best epoch; None until training is complete.

    Examples
    --------
    >>> from posvec.language_model import LanguageModelConfig, LanguageModelReport
    >>> from posvec.language_model.lookup import Coverage
    >>> from posvec.language_model.report import Epoch
    >>> report = LanguageModelReport(
    ...     "animals", "model", "texts", "en", None, 12, (900, 50, 50), "", Coverage(12, 0, 0), LanguageModelConfig(),
    ...     (Epoch(loss=1.5, validation_loss=2.0, lr=20.0, seconds=1.0),), test_loss=0.0,
    ... )
    >>> report.best_epoch, report.test_perplexity
    (1, 1.0)
    """

    name: str
    model: str
    data: str
    language: str | None
    transformer: str | None
    words: int
    tokens: tuple[int, int, int]
    digest: str
    coverage: Coverage
    config: LanguageModelConfig
    epochs: tuple[Epoch, ...] = ()
    test_loss: float | None = None

    @property
    def best_epoch(self) -> int:
        """The number of the epoch with the lowest validation loss, from 1; 0 before the end of the first epoch."""
        losses = [epoch.validation_loss for epoch in self.epochs]
        return 1 + losses.index(min(losses)) if losses else 0

    @property
    def validation_perplexity(self) -> float | None:
        """The perplexity of the validation text after the best epoch."""
        return self.epochs[self.best_epoch - 1].validation_perplexity if self.epochs else None

    @property
    def test_perplexity(self) -> float | None:
        """The perplexity of the test text with the weights of the best epoch; None until training is complete."""
        return None if self.test_loss is None else perplexity(self.test_loss)

    def tables(self) -> list[Table]:
        """Return the perplexities by epoch, and a summary."""
        train, valid, test = self.tokens
        summary = [
            ("vectors", self.name),
            *([("transformer", self.transformer)] if self.transformer else []),
            ("words", self.words),
            ("words in the model's vocabulary", self.coverage.vocabulary),
            ("words composed of subwords", self.coverage.subwords),
            ("words with random vectors", self.coverage.random),
            ("training tokens", train),
            ("validation tokens", valid),
            ("test tokens", test),
            ("best epoch", self.best_epoch),
            ("validation perplexity", self.validation_perplexity),
            ("test perplexity", self.test_perplexity),
        ]
        rows = [
            (number, perplexity(epoch.loss), epoch.validation_perplexity, epoch.lr, epoch.seconds)
            for number, epoch in enumerate(self.epochs, 1)
        ]
        columns = ("epoch", "training perplexity", "validation perplexity", "learning rate", "seconds")
        return [Table("", columns, rows, ".2f"), Table("", ("language model", ""), summary, ".2f")]

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> LanguageModelReport:
        """Return the report of values from :meth:`to_dict`; TypeError or ConfigError if they are not valid."""
        config = LanguageModelConfig.from_dict(values["config"])
        return parse_record(LanguageModelReport, values, {"config": config})

    def replace(self, **values: Any) -> LanguageModelReport:
        """Return the same report with some fields changed."""
        return dataclasses.replace(self, **values)
