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
    """The sources of the vectors in a lookup table.

    Attributes
    ----------
    vocabulary
        The number of words with a vector in the model's vocabulary.
    subwords
        The number of words whose vectors are composed of n-grams.
    random
        The number of words with random vectors: words for which the model has no vector, or all words of a random
        baseline.
    """

    vocabulary: int
    subwords: int
    random: int


def lookup_table(
    words: Sequence[str], model: Model | WordVectors, config: LanguageModelConfig
) -> tuple[FloatArray, Coverage]:
    """Return a vector for each word, and where the vectors come from.

    Words are looked up in lower case if the model was trained on lower-case text. <eos> gets the mean vector. A word
    without a vector, not even one composed of n-grams, gets a random vector, and so does <unk>. With the mean vector
    for all of them, commas, full stops and <eos> would be the same word to a network whose output weights are tied.
    (gensim also has random vectors for such words: those of buckets that no word of its vocabulary uses.)
    """
    vectors = model.vectors if isinstance(model, Model) else model
    lowercase = isinstance(model, Model) and model.config.text.tokenizer == "word"
    mean, deviation = vectors.table.mean(0), vectors.table.std(0)
    random = np.random.default_rng(config.seed)
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
            table[row] = random.normal(mean, deviation)
    return table, Coverage(known, subwords, len(words) - known - subwords - (EOS in words))
