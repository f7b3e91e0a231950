"""sentence-transformers and Model2Vec: one folder that both open, of word vectors and a tokenizer that cuts alike."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from posvec.model import Model
from posvec.storage.folders import write_tensors
from posvec.system.atomic import replacing_folder
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

_MODULE = "sentence_transformers.models.StaticEmbedding"
# What posvec's tokenizers take for a token, in the regular expressions of the library tokenizers, whose \w and \s are
# others than Python's. Code points that are newer than the running Python may still differ.
_TOKENS = {"word": r"[\p{L}\p{N}_]+", "whitespace": r"[^\s\x1c-\x1f]+"}
# A capital sigma that lowers to a final one, as Unicode has it: cased characters before it and none behind it.
_CASED, _IGNORED = r"[\p{Cased}&&[^\p{Case_Ignorable}]]", r"\p{Case_Ignorable}*"
_FINAL_SIGMA = f"(?<={_CASED}{_IGNORED})Σ(?!{_IGNORED}{_CASED})"


def save_sentence_transformer(model: Model, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the vectors of a model's words, and the tokenizer it was trained with, as such a folder."""
    save_static_embedding(model.vectors, folder, model.config.text.tokenizer, overwrite)


def save_static_embedding(
    vectors: WordVectors, folder: str | os.PathLike[str], tokenizer: str = "word", overwrite: bool = False
) -> None:
    """Write a folder that ``SentenceTransformer(folder)`` and Model2Vec's ``StaticModel.from_pretrained(folder)`` open.

    A text becomes the mean of its words' vectors. Words outside the vocabulary are zeros: Model2Vec leaves them out of
    the mean, and sentence-transformers counts them, which makes a vector shorter and leaves its direction.
    """
    cut = make_tokenizer(list(vectors.index_to_key), tokenizer)
    embeddings = np.zeros((len(vectors) + 1, vectors.vector_size), np.float32)
    embeddings[:-1] = vectors.table
    contents = {
        "tokenizer.json": cut.to_str(),
        "modules.json": json.dumps([{"idx": 0, "name": "0", "path": ".", "type": _MODULE}]),
        "config.json": json.dumps({"model_type": "model2vec", "hidden_dim": vectors.vector_size, "normalize": False}),
    }
    with replacing_folder(folder, overwrite) as path:
        write_tensors(path / "model.safetensors", {"embeddings": embeddings}, {"format": "pt"})
        for name, content in contents.items():
            (path / name).write_text(content, encoding="utf-8")


def make_tokenizer(words: list[str], tokenizer: str = "word") -> Any:
    """A tokenizer of the library tokenizers that finds the same words in a text; unknown ones get the last number."""
    library = require_extra("tokenizers", "sentence-transformers")
    unknown = "[UNK]"
    known = {word: i for i, word in enumerate(words)}
    while unknown in known:
        unknown = f"[{unknown}]"
    cut = library.Tokenizer(library.models.WordLevel({**known, unknown: len(words)}, unk_token=unknown))
    if tokenizer == "word":
        # Its Lowercase goes by single characters.
        final_sigma = library.normalizers.Replace(library.Regex(_FINAL_SIGMA), "ς")
        cut.normalizer = library.normalizers.Sequence([final_sigma, library.normalizers.Lowercase()])
    cut.pre_tokenizer = library.pre_tokenizers.Split(library.Regex(_TOKENS[tokenizer]), "removed", invert=True)
    return cut
