"""Features of words from a transformer in a local Hugging Face folder, to append to their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from posvec.errors import ModelError
from posvec.language_model.data import EOS, TokenIds
from posvec.system.arrays import FloatArray
from posvec.system.extras import require_extra

_SEQUENCES = 16  # sequences in a batch


class WordFeatures(Protocol):
    """Features to append to the vectors of words."""

    dim: int
    """The number of features."""

    def of(self, inputs: TokenIds) -> FloatArray:
        """The features of consecutive tokens, (len(inputs), dim); a line begins with the <eos> of the previous line."""


def open_features(folder: str | Path, kind: str, words: Sequence[str], device: str = "cpu") -> WordFeatures:
    """Load a transformer.

    The features of a word are the mean embedding of its tokens if ``kind`` is "embeddings", or the last hidden state of
    its last token in the line if ``kind`` is "hidden".
    """
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
        raise ModelError(
            f"cannot load a transformer and tokenizer from {folder} ({reason}); save both there with save_pretrained"
        ) from error
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer in {folder} does not map tokens to words; save a fast one (tokenizer.json)")
    features = EmbeddingFeatures if kind == "embeddings" else HiddenStateFeatures
    return features(model, tokenizer, words)


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


class EmbeddingFeatures:
    """Features that depend only on the word: the mean embedding of its tokens."""

    def __init__(self, model: Any, tokenizer: Any, words: Sequence[str]) -> None:
        weights = model.get_input_embeddings().weight.detach().float().cpu().numpy()
        self.dim = int(weights.shape[1])
        self._table = np.zeros((len(words), self.dim), np.float32)
        for row, word in enumerate(words):
            tokens = tokenizer([word], is_split_into_words=True, add_special_tokens=False)["input_ids"]
            if tokens:
                self._table[row] = weights[tokens].mean(0)

    def of(self, inputs: TokenIds) -> FloatArray:
        """The features of the tokens, (len(inputs), dim)."""
        features: FloatArray = self._table[inputs]
        return features


class HiddenStateFeatures:
    """Features of a word in its line: hidden states of a causal transformer, which depend only on earlier words."""

    def __init__(self, model: Any, tokenizer: Any, words: Sequence[str]) -> None:
        self._model, self._tokenizer, self._words = model, tokenizer, words
        self.dim = int(model.config.hidden_size)
        starts = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.pad_token_id, 0)
        self._start = next(token for token in starts if token is not None)
        self._longest = int(getattr(model.config, "max_position_embeddings", None) or 512)
        self._eos = words.index(EOS)
        self._check_causal()

    def of(self, inputs: TokenIds) -> FloatArray:
        """The features of the tokens, (len(inputs), dim)."""
        features = np.zeros((len(inputs), self.dim), np.float32)
        begins = np.flatnonzero(np.asarray(inputs) == self._eos)
        if not len(begins) or begins[0]:
            begins = np.concatenate([[0], begins])
        lines = [(begin, inputs[begin:end]) for begin, end in zip(begins, [*begins[1:], len(inputs)], strict=True)]
        sequences = [sequence for begin, line in lines for sequence in self._sequences(int(begin), line)]
        # Batches of sequences of similar lengths need little padding.
        sequences.sort(key=lambda sequence: len(sequence[0]))
        for first in range(0, len(sequences), _SEQUENCES):
            group = sequences[first : first + _SEQUENCES]
            states = self._states([tokens for tokens, _ in group])
            for row, (_, alignment) in zip(states, group, strict=True):
                for token, index in alignment:
                    features[index] = row[token]
        return features

    def _sequences(self, begin: int, line: TokenIds) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Sequences of tokens for a line, each with pairs (index of a token, index of its word in the text).

        A line with more tokens than the transformer accepts is split into several sequences.
        """
        skip = int(line[0] == self._eos)
        words = [self._words[number] for number in line[skip:]]
        encoded = self._tokenizer(words, is_split_into_words=True, add_special_tokens=False) if words else None
        tokens = list(zip(encoded["input_ids"], encoded.word_ids(), strict=True)) if encoded else []
        limit = self._longest - 1
        sequences = []
        for first in range(0, len(tokens), limit) if tokens else [0]:
            part = tokens[first : first + limit]
            # Later tokens overwrite earlier tokens of the same word.
            token_of = {begin + skip + word: index + 1 for index, (_, word) in enumerate(part)}
            if first == 0 and skip:
                token_of[begin] = 0
            sequences.append(
                ([self._start, *(token for token, _ in part)], [(token, index) for index, token in token_of.items()])
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

    def _check_causal(self) -> None:
        """Raise if hidden states depend on following words, because these are what the language model predicts."""
        size = int(self._model.config.vocab_size)
        line = [self._start, *(7 * number % size for number in range(1, 6))]
        before, after = self._states([line, [*line[:-1], (line[-1] + 1) % size]])
        if not np.allclose(before[:-1], after[:-1], atol=1e-4):
            raise ModelError(
                "the hidden states of this transformer depend on following words, which the language model predicts; "
                "use a causal transformer, for example GPT-2, or transformer_features=embeddings "
                "(--transformer-features embeddings)"
            )
