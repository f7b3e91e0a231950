"""Use of trained language models: the probability of sentences, and the generation of text."""

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
from posvec.language_model.network import LSTMState, Network
from posvec.language_model.report import LanguageModelReport, perplexity
from posvec.language_model.storage import SavedLanguageModel, load_saved
from posvec.language_model.training import mixed_precision
from posvec.language_model.transformer import WordFeatures, open_features


@dataclass(frozen=True)
class SentenceScore(Result):
    """The probability of each word of a sentence given the words before it.

    Attributes
    ----------
    words
        The words and the final <eos>; unknown words are <unk>.
    log_probabilities
        The natural logarithms of their probabilities.
    """

    words: tuple[str, ...]
    log_probabilities: tuple[float, ...]

    @property
    def perplexity(self) -> float:
        """The perplexity of the sentence."""
        return perplexity(-sum(self.log_probabilities) / len(self.words))

    def tables(self) -> list[Table]:
        """Return the probability of each word, then that of the sentence."""
        rows = [(word, math.exp(log), log) for word, log in zip(self.words, self.log_probabilities, strict=True)]
        total = [("log-probability", sum(self.log_probabilities)), ("perplexity", self.perplexity)]
        return [
            Table("", ("word", "probability", "log-probability"), rows, ".4g"),
            Table("", ("sentence", ""), total, ".4f"),
        ]


class LanguageModel:
    """A trained language model; :func:`posvec.language_model.train` and :func:`posvec.language_model.load` return it.

    Attributes
    ----------
    report
        The report of its training.
    words
        The words that it knows; the id of a word is its index.
    network
        The PyTorch module.
    """

    def __init__(
        self,
        report: LanguageModelReport,
        words: list[str],
        network: Network,
        features: WordFeatures | None,
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
        """Load a saved language model with the weights of its best epoch."""
        device = device or torch.device("cpu")
        saved = load_saved(path)
        features = saved_features(saved, transformer, device)
        network = saved_network(saved, features)
        network.load_state_dict(saved.best, strict=False)
        return LanguageModel(saved.report, saved.words, network, features, device)

    def score(self, sentence: str) -> SentenceScore:
        """Compute the probability of a sentence.

        Parameters
        ----------
        sentence
            Words separated by spaces.

        Returns
        -------
        SentenceScore
            The log-probability of each word and of the end of the sentence.

        Raises
        ------
        PosvecError
            If a word is unknown and the texts of the language model had no <unk>.
        """
        ids = [*self._ids(sentence), self._index[EOS]]
        logs = self._predict([self._index[EOS], *ids[:-1]])[0]
        picked = logs[torch.arange(len(ids)), torch.tensor(ids)].tolist()
        return SentenceScore(tuple(self.words[number] for number in ids), tuple(picked))

    def generate(self, prompt: str = "", words: int = 30, temperature: float = 1.0, top: int = 0, seed: int = 1) -> str:
        """Continue a prompt with random words until the end of the line. <unk> is never generated.

        Parameters
        ----------
        prompt
            The beginning of the text, words separated by spaces.
        words
            The maximum number of words to generate.
        temperature
            Low temperatures prefer probable words; with 0, the most probable word is always chosen.
        top
            Choose among this many of the most probable words; 0 chooses among all.
        seed
            The seed of the random generator.

        Returns
        -------
        str
            The prompt and the generated words.

        Examples
        --------
        >>> from posvec import language_model
        >>> language_model.load("run").generate("the king", words=5, seed=3)  # doctest: +SKIP
        """
        if temperature < 0 or not math.isfinite(temperature):
            raise ConfigError(f"temperature is {temperature}, but must be 0 or more")
        if words < 0 or top < 0:
            raise ConfigError("words and top must not be negative")
        random = np.random.default_rng(seed)
        ids = [self._index[EOS], *self._ids(prompt)]
        unread, state = ids, None
        generated: list[str] = []
        while len(generated) < words:
            logs, state = self._predict(unread, state, ids)
            number = self._draw(logs[-1], temperature, top, random)
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
        self, ids: list[int], state: LSTMState | None = None, line: list[int] | None = None
    ) -> tuple[Tensor, LSTMState]:
        """The log-probabilities of the next word after each of the ids, (len(ids), V); ``line`` ends with the ids."""
        extra = None
        if self._features is not None:
            extra = torch.from_numpy(self._features.of(np.array(line or ids))[-len(ids) :])[:, None].to(self._device)
        with mixed_precision(self.network, self._device):
            hidden, state = self.network(torch.tensor(ids, device=self._device)[:, None], extra, state)
        return self.network.log_probabilities(hidden).cpu(), state

    def _draw(self, logs: Tensor, temperature: float, top: int, random: np.random.Generator) -> int:
        scores = logs.double().numpy().copy()
        if UNK in self._index:
            scores[self._index[UNK]] = -np.inf
        if temperature == 0:
            return int(scores.argmax())
        if 0 < top < len(scores):
            scores[scores < np.partition(scores, -top)[-top]] = -np.inf
        weights = np.exp((scores - scores.max()) / temperature)
        return int(random.choice(len(weights), p=weights / weights.sum()))


def saved_features(
    saved: SavedLanguageModel, transformer: str | Path | None, device: torch.device
) -> WordFeatures | None:
    """Open the transformer of a saved language model, from ``transformer`` if its folder was moved."""
    if saved.report.transformer is None:
        if transformer is not None:
            raise ConfigError("this language model was trained without a transformer; leave out --transformer")
        return None
    folder = transformer or saved.report.transformer
    return open_features(folder, saved.report.config.transformer_features, saved.words, str(device))


def saved_network(saved: SavedLanguageModel, features: WordFeatures | None) -> Network:
    """Make the network of a saved language model with its current weights."""
    table = saved.weights.get("lookup")
    if table is None or table.ndim != 2:
        raise ModelError("the saved language model contains no vectors; restore it from a copy or train it again")
    words, dim = table.shape
    size = saved.report.config, words, dim, features.dim if features else 0
    with torch.device("meta"):  # without memory, because the settings may be those of a much larger network
        expected = {name: weight.shape for name, weight in Network(*size).state_dict().items()}
    if expected != {name: weight.shape for name, weight in saved.weights.items()}:
        raise ModelError(
            "the saved weights do not fit the settings in config.json; restore them from a copy or train again"
        )
    network = Network(*size)
    network.load_state_dict(saved.weights)
    return network
