"""sentence-transformers and Model2Vec: a folder that both open, with word vectors and an equivalent tokenizer."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from posvec.model import Model
from posvec.storage.safetensors import write_tensors
from posvec.system.atomic import replacing_folder
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

_MODULE = "sentence_transformers.models.StaticEmbedding"
# The tokens of posvec's tokenizers as regular expressions of the library tokenizers, whose \w and \s differ from
# Python's. Results may still differ for code points that the running Python does not know yet.
_TOKENS = {"word": r"[\p{L}\p{N}_]+", "whitespace": r"[^\s\x1c-\x1f]+"}
# A capital sigma that Unicode lower-cases to a final sigma: after a cased character and not before one.
_CASED, _IGNORED = r"[\p{Cased}&&[^\p{Case_Ignorable}]]", r"\p{Case_Ignorable}*"
_FINAL_SIGMA = f"(?<={_CASED}{_IGNORED})Σ(?!{_IGNORED}{_CASED})"


def save_sentence_transformer(model: Model, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Save the word vectors of a model, and the tokenizer it was trained with, for sentence-transformers and Model2Vec.

    Parameters
    ----------
    model
        The model to save.
    folder
        The folder to write; see :func:`save_static_embedding`.
    overwrite
        Whether to replace a folder that was saved before.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.sentence_transformers import save_sentence_transformer
    >>> save_sentence_transformer(posvec.load("model"), "embedding")  # doctest: +SKIP
    """
    save_static_embedding(model.vectors, folder, model.config.text.tokenizer, overwrite)


def save_static_embedding(
    vectors: WordVectors, folder: str | os.PathLike[str], tokenizer: str = "word", overwrite: bool = False
) -> None:
    """Save word vectors for ``SentenceTransformer(folder)`` and Model2Vec's ``StaticModel.from_pretrained(folder)``.

    The embedding of a text is the mean of its words' vectors. Out-of-vocabulary words have zero vectors: Model2Vec
    leaves them out of the mean; sentence-transformers counts them, which changes the length of the mean but not its
    direction.

    Parameters
    ----------
    vectors
        The word vectors to save.
    folder
        The folder to write.
    tokenizer
        ``word`` or ``whitespace``, as in training.
    overwrite
        Whether to replace a folder that was saved before.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.sentence_transformers import save_static_embedding
    >>> save_static_embedding(posvec.load("model").vectors, "embedding")  # doctest: +SKIP
    """
    converted = make_tokenizer(list(vectors.index_to_key), tokenizer)
    embeddings = np.zeros((len(vectors) + 1, vectors.vector_size), np.float32)
    embeddings[:-1] = vectors.table
    contents = {
        "tokenizer.json": converted.to_str(),
        "modules.json": json.dumps([{"idx": 0, "name": "0", "path": ".", "type": _MODULE}]),
        "config.json": json.dumps({"model_type": "model2vec", "hidden_dim": vectors.vector_size, "normalize": False}),
    }
    with replacing_folder(folder, overwrite) as path:
        write_tensors(path / "model.safetensors", {"embeddings": embeddings}, {"format": "pt"})
        for name, content in contents.items():
            (path / name).write_text(content, encoding="utf-8")


def make_tokenizer(words: list[str], tokenizer: str = "word") -> Any:
    """Make an equivalent tokenizer of the library tokenizers; out-of-vocabulary words get the last index.

    Parameters
    ----------
    words
        The vocabulary; word i gets index i.
    tokenizer
        ``word`` or ``whitespace``, as in training.

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.

    Examples
    --------
    >>> from posvec.interop.sentence_transformers import make_tokenizer
    >>> make_tokenizer(["the", "cat"]).encode("The cat sees").ids  # doctest: +SKIP
    [0, 1, 2]
    """
    library = require_extra("tokenizers", "sentence-transformers")
    unknown = "[UNK]"
    known = {word: i for i, word in enumerate(words)}
    while unknown in known:
        unknown = f"[{unknown}]"
    converted = library.Tokenizer(library.models.WordLevel({**known, unknown: len(words)}, unk_token=unknown))
    if tokenizer == "word":
        # Lowercase maps each character by itself, so it does not produce the final sigma.
        final_sigma = library.normalizers.Replace(library.Regex(_FINAL_SIGMA), "ς")
        converted.normalizer = library.normalizers.Sequence([final_sigma, library.normalizers.Lowercase()])
    converted.pre_tokenizer = library.pre_tokenizers.Split(library.Regex(_TOKENS[tokenizer]), "removed", invert=True)
    return converted
