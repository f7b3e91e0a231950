"""A trained language model at work: how likely a sentence is, and how a text goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from posvec.errors import ConfigError, ModelError, PosvecError
from posvec.evaluation.results import Result, Table
from posvec.language_model.data import EOS, UNK, split_words
from posvec.language_model.network import Network, State
from posvec.language_model.report import LanguageModelReport, perplexity
from posvec.language_model.storage import Saved, load_saved
from posvec.language_model.training import mixed_precision
from posvec.language_model.transformer import Features, open_features


@dataclass(frozen=True)
class Score(Result):
    """The probability of each word of a sentence after those before it, the <eos> at its end too."""

    words: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    """Natural logarithms."""

    @property
    def perplexity(self) -> float:
        return perplexity(-sum(self.log_probabilities) / len(self.words))

    def tables(self) -> list[Table]:
        rows = [(word, math.exp(log), log) for word, log in zip(self.words, self.log_probabilities, strict=True)]
        total = [("log-probability", sum(self.log_probabilities)), ("perplexity", self.perplexity)]
        return [
            Table("", ("word", "probability", "log-probability"), rows, ".4g"),
            Table("", ("sentence", ""), total, ".4f"),
        ]


class LanguageModel:
    """A network with its words, as :func:`train` returns and :func:`load` opens it."""

    def __init__(
        self,
        report: LanguageModelReport,
        words: list[str],
        network: Network,
        features: Features | None,
        device: torch.device,
    ) -> None:
        self.report = report
        self.words = words
        self.network = network.to(device).eval()
        self._features = features
        self._device = device
        self._index = {word: number for number, word in enumerate(words)}

    @staticmethod
    def load(
        path: str | Path, transformer: str | Path | None = None, device: torch.device | None = None
    ) -> LanguageModel:
        device = device or torch.device("cpu")
        saved = load_saved(path)
        features = saved_features(saved, transformer, device)
        network = saved_network(saved, features)
        network.load_state_dict(saved.best, strict=False)
        return LanguageModel(saved.report, saved.words, network, features, device)

    def score(self, sentence: str) -> Score:
        """How likely a sentence is, of words that spaces separate."""
        ids = [*self._ids(sentence), self._index[EOS]]
        logs = self._predict([self._index[EOS], *ids[:-1]])[0]
        picked = logs[torch.arange(len(ids)), torch.tensor(ids)].tolist()
        return Score(tuple(self.words[number] for number in ids), tuple(picked))

    def generate(self, prompt: str = "", words: int = 30, temperature: float = 1.0, top: int = 0, seed: int = 1) -> str:
        """The prompt and what follows it: up to so many words drawn at random, or fewer where a line ends.

        A low ``temperature`` prefers likely words, 0 takes the likeliest; ``top`` draws from so many of them only.
        <unk> is never drawn.
        """
        if temperature < 0 or not math.isfinite(temperature):
            raise ConfigError(f"temperature is {temperature}, but must be 0 or more")
        if words < 0 or top < 0:
            raise ConfigError("words and top are numbers of words, and cannot be negative")
        draw = np.random.default_rng(seed)
        ids = [self._index[EOS], *self._ids(prompt)]
        unread, state = ids, None
        generated: list[str] = []
        while len(generated) < words:
            logs, state = self._predict(unread, state, ids)
            number = self._draw(logs[-1], temperature, top, draw)
            if self.words[number] == EOS:
                break
            generated.append(self.words[number])
            ids = [*ids, number]
            unread = [number]
        return " ".join([*prompt.split(), *generated])

    def _ids(self, text: str) -> list[int]:
        words = split_words(text, self.report.config.lowercase)
        unknown = [word for word in words if word not in self._index]
        if unknown and UNK not in self._index:
            raise PosvecError(
                f"the language model does not know {', '.join(unknown)}, and its texts have no {UNK}; use other words"
            )
        return [self._index.get(word, self._index.get(UNK, 0)) for word in words]

    @torch.no_grad()
    def _predict(
        self, ids: list[int], state: State | None = None, line: list[int] | None = None
    ) -> tuple[Tensor, State]:
        """Log-probabilities of what follows each of these words, (len(ids), V); the line is what ends in them."""
        extra = None
        if self._features is not None:
            extra = torch.from_numpy(self._features.of(np.array(line or ids))[-len(ids) :])[:, None].to(self._device)
        with mixed_precision(self.network, self._device):
            hidden, state = self.network(torch.tensor(ids, device=self._device)[:, None], extra, state)
        return self.network.log_probabilities(hidden).cpu(), state

    def _draw(self, logs: Tensor, temperature: float, top: int, draw: np.random.Generator) -> int:
        scores = logs.double().numpy().copy()
        if UNK in self._index:
            scores[self._index[UNK]] = -np.inf
        if temperature == 0:
            return int(scores.argmax())
        if 0 < top < len(scores):
            scores[scores < np.partition(scores, -top)[-top]] = -np.inf
        weights = np.exp((scores - scores.max()) / temperature)
        return int(draw.choice(len(weights), p=weights / weights.sum()))


def saved_features(saved: Saved, transformer: str | Path | None, device: torch.device) -> Features | None:
    """Those of the transformer that it was trained with, perhaps now in another folder."""
    if saved.report.transformer is None:
        if transformer is not None:
            raise ConfigError("this language model was trained without a transformer; leave it out")
        return None
    folder = transformer or saved.report.transformer
    return open_features(folder, saved.report.config.transformer_features, saved.words, str(device))


def saved_network(saved: Saved, features: Features | None) -> Network:
    table = saved.weights.get("lookup")
    if table is None or table.ndim != 2:
        raise ModelError("the saved language model has no vectors in it; restore it from a copy or train it again")
    words, dim = table.shape
    network = Network(saved.report.config, words, dim, features.dim if features else 0)
    try:
        network.load_state_dict(saved.weights)
    except RuntimeError as error:
        raise ModelError(
            "the saved weights do not fit the settings in config.json; restore them from a copy or train again"
        ) from error
    return network
