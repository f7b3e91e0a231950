"""The lookup table of a language model: a vector for every word of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.data import EOS, UNK
from posvec.model import Model
from posvec.system.arrays import FloatArray
from posvec.vectors import WordVectors


@dataclass(frozen=True)
class Coverage:
    """Where the vectors of the words came from."""

    vocabulary: int
    """From the model's vocabulary."""
    subwords: int
    """Made of n-grams."""
    random: int
    """Drawn at random, as the model knows nothing of the word; of a random baseline all."""


def lookup_table(
    words: Sequence[str], model: Model | WordVectors, config: LanguageModelConfig
) -> tuple[FloatArray, Coverage]:
    """A vector for each word; <eos> gets the mean vector.

    A model of lower-case words is asked for words in lower case. A word that not even n-grams give a vector gets one of
    its own at random, and so does <unk>: a mean vector for all of them would make commas, full stops and <eos> one
    word to a network whose output weights are tied to it. (gensim too has random vectors for such words: those of
    buckets that no word of its vocabulary uses.)
    """
    vectors = model.vectors if isinstance(model, Model) else model
    lowercase = isinstance(model, Model) and model.config.text.tokenizer == "word"
    mean, deviation = vectors.table.mean(0), vectors.table.std(0)
    draw = np.random.default_rng(config.seed)
    table = np.empty((len(words), len(mean)), np.float32)
    known = subwords = 0
    for row, word in enumerate(words):
        form = word if word in vectors or not lowercase else word.lower()
        if word == EOS:
            table[row] = mean
        elif config.baseline == "none" and word != UNK and form in vectors:
            table[row] = vectors[form]
            known += 1
        elif config.baseline == "none" and word != UNK and vectors.oov(form):
            table[row] = vectors[form]
            subwords += 1
        else:
            table[row] = draw.normal(mean, deviation)
    return table, Coverage(known, subwords, len(words) - known - subwords - (EOS in words))
