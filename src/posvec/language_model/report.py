"""What the training of a language model came to."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posvec.evaluation.results import Result, Table
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.lookup import Coverage


def perplexity(loss: float) -> float:
    """exp of the mean negative log-likelihood; infinite where it is too large."""
    return math.exp(loss) if loss < 700 else math.inf


@dataclass(frozen=True)
class Epoch:
    """One pass over the training text; losses are means per token."""

    loss: float
    validation_loss: float
    lr: float
    seconds: float

    @property
    def validation_perplexity(self) -> float:
        return perplexity(self.validation_loss)


@dataclass(frozen=True)
class LanguageModelReport(Result):
    """Validation perplexity per epoch, and the test perplexity of the weights of the best epoch."""

    name: str
    """Whose vectors these are: runs of one name are compared as one, over their seeds."""
    model: str
    data: str
    language: str | None
    transformer: str | None
    words: int
    tokens: tuple[int, int, int]
    """Of the training, validation and test texts."""
    digest: str
    """Of these texts: perplexities of different texts say nothing about each other."""
    coverage: Coverage
    config: LanguageModelConfig
    epochs: tuple[Epoch, ...] = ()
    test_loss: float | None = None
    """None while training is not over."""

    @property
    def best_epoch(self) -> int:
        """Its number, from 1; 0 before the first has ended."""
        losses = [epoch.validation_loss for epoch in self.epochs]
        return 1 + losses.index(min(losses)) if losses else 0

    @property
    def validation_perplexity(self) -> float | None:
        return self.epochs[self.best_epoch - 1].validation_perplexity if self.epochs else None

    @property
    def test_perplexity(self) -> float | None:
        return None if self.test_loss is None else perplexity(self.test_loss)

    def tables(self) -> list[Table]:
        found = self.coverage
        train, valid, test = self.tokens
        summary = [
            ("vectors", self.name),
            *([("transformer", self.transformer)] if self.transformer else []),
            ("words", self.words),
            ("with a vector of the model", found.vocabulary),
            ("with one made of subwords", found.subwords),
            ("with one drawn at random", found.random),
            ("training tokens", train),
            ("validation tokens", valid),
            ("test tokens", test),
            ("best epoch", self.best_epoch),
            ("validation perplexity", self.validation_perplexity),
            ("test perplexity", self.test_perplexity),
        ]  # fmt: skip
        rows = [
            (number, perplexity(epoch.loss), epoch.validation_perplexity, epoch.lr, epoch.seconds)
            for number, epoch in enumerate(self.epochs, 1)
        ]
        columns = ("epoch", "training perplexity", "validation perplexity", "learning rate", "seconds")
        return [Table("", columns, rows, ".2f"), Table("", ("language model", ""), summary, ".2f")]

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> LanguageModelReport:
        train, valid, test = values["tokens"]
        return LanguageModelReport(
            **{
                **values,
                "tokens": (train, valid, test),
                "coverage": Coverage(**values["coverage"]),
                "config": LanguageModelConfig.from_dict(values["config"]),
                "epochs": tuple(Epoch(**epoch) for epoch in values["epochs"]),
            }
        )

    def replace(self, **values: Any) -> LanguageModelReport:
        return dataclasses.replace(self, **values)
