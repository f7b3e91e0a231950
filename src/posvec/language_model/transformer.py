"""What a transformer says about each word, to stand beside its vector; from a local Hugging Face folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from posvec.errors import ModelError
from posvec.language_model.data import EOS, Ids
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra

_LINES = 16  # that go through a transformer together


class Features(Protocol):
    """Numbers beside the vectors of words."""

    dim: int

    def of(self, inputs: Ids) -> FloatArray:
        """(len(inputs), dim), of words read in this order; a line begins with the <eos> of the one before."""


def open_features(folder: str | Path, kind: str, words: Sequence[str], device: str = "cpu") -> Features:
    """``embeddings``: of a word, the mean of its pieces; ``hidden``: the last state of its last piece, in its line."""
    transformers = require_extra("transformers", "transformers")
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder} with a transformer; save one there with save_pretrained")
    try:
        with _no_progress_bar(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, add_prefix_space=True)
            model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval().to(device)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise ModelError(f"{folder} holds no transformer and tokenizer that can be loaded ({reason})") from error
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer in {folder} cannot tell words from pieces; save a fast one (tokenizer.json)")
    return Embeddings(model, tokenizer, words) if kind == "embeddings" else HiddenStates(model, tokenizer, words)


@contextmanager
def _no_progress_bar(transformers: Any) -> Iterator[None]:
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


class Embeddings:
    """Features that depend on the word alone."""

    def __init__(self, model: Any, tokenizer: Any, words: Sequence[str]) -> None:
        weights = model.get_input_embeddings().weight.detach().float().cpu().numpy()
        self.dim = int(weights.shape[1])
        self._table = np.zeros((len(words), self.dim), np.float32)
        for row, word in enumerate(words):
            pieces = tokenizer([word], is_split_into_words=True, add_special_tokens=False)["input_ids"]
            if pieces:
                self._table[row] = weights[pieces].mean(0)

    def of(self, inputs: Ids) -> FloatArray:
        features: FloatArray = self._table[inputs]
        return features


class HiddenStates:
    """Features of a word in its line, from a transformer that sees only the words before it."""

    def __init__(self, model: Any, tokenizer: Any, words: Sequence[str]) -> None:
        self._model, self._tokenizer, self._words = model, tokenizer, words
        self.dim = int(model.config.hidden_size)
        starts = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.pad_token_id, 0)
        self._start = next(token for token in starts if token is not None)
        self._longest = int(getattr(model.config, "max_position_embeddings", None) or 512)
        self._eos = words.index(EOS)
        self._refuse_foresight()

    def of(self, inputs: Ids) -> FloatArray:
        features = np.zeros((len(inputs), self.dim), np.float32)
        begins = np.flatnonzero(np.asarray(inputs) == self._eos)
        if not len(begins) or begins[0]:
            begins = np.concatenate([[0], begins])
        lines = [(begin, inputs[begin:end]) for begin, end in zip(begins, [*begins[1:], len(inputs)], strict=True)]
        sequences = [piece for begin, line in lines for piece in self._sequences(int(begin), line)]
        # Lines of like length together, so that little is padded.
        sequences.sort(key=lambda sequence: len(sequence[0]))
        for first in range(0, len(sequences), _LINES):
            group = sequences[first : first + _LINES]
            states = self._states([tokens for tokens, _ in group])
            for row, (_, places) in zip(states, group, strict=True):
                for token, place in places:
                    features[place] = row[token]
        return features

    def _sequences(self, begin: int, line: Ids) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """A line as tokens, and the token whose state each word has; a line that is too long as several of them."""
        skip = int(line[0] == self._eos)
        words = [self._words[number] for number in line[skip:]]
        encoded = self._tokenizer(words, is_split_into_words=True, add_special_tokens=False) if words else None
        pieces = list(zip(encoded["input_ids"], encoded.word_ids(), strict=True)) if encoded else []
        room = self._longest - 1
        sequences = []
        for first in range(0, len(pieces), room) if pieces else [0]:
            part = pieces[first : first + room]
            # The last piece of a word wins.
            places = {begin + skip + word: token + 1 for token, (_, word) in enumerate(part)}
            if first == 0 and skip:
                places[begin] = 0
            sequences.append(
                ([self._start, *(piece for piece, _ in part)], [(token, place) for place, token in places.items()])
            )
        return sequences

    def _states(self, sequences: list[list[int]]) -> FloatArray:
        import torch

        longest = max(map(len, sequences))
        tokens = torch.tensor([[*each, *[self._start] * (longest - len(each))] for each in sequences])
        mask = torch.tensor([[1] * len(each) + [0] * (longest - len(each)) for each in sequences])
        device = self._model.device
        with torch.no_grad():
            states = self._model(input_ids=tokens.to(device), attention_mask=mask.to(device)).last_hidden_state
        values: FloatArray = states.float().cpu().numpy()
        return values

    def _refuse_foresight(self) -> None:
        """A transformer that sees the words to come would tell the network what it is to predict."""
        size = int(self._model.config.vocab_size)
        line = [self._start, *(7 * place % size for place in range(1, 6))]
        before, after = self._states([line, [*line[:-1], (line[-1] + 1) % size]])
        if not np.allclose(before[:-1], after[:-1], atol=1e-4):
            raise ModelError(
                "the hidden states of this transformer depend on words to come, and would give away what is to be "
                "predicted; use a causal one such as GPT-2, or transformer_features=embeddings "
                "(--transformer-features embeddings)"
            )
