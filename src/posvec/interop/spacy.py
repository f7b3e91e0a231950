"""spaCy: a Vocab with vectors, and a pipeline that ``spacy.load`` opens.

The file that ``spacy init vectors`` reads is word2vec's text format; with ``--attr LOWER`` it finds "Cat" as cat, too.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from posvec.errors import ConfigError
from posvec.model import Model
from posvec.system.atomic import replacing_folder
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors


def to_spacy(vectors: WordVectors, lang: str = "en") -> Any:
    """An empty pipeline of a language, such as en, de or xx for several, whose vocabulary has a copy of the vectors.

    Where all words are lower-case, tokens are looked up by their lower-case form: "Cat" finds cat.
    """
    spacy = require_extra("spacy", "spacy")
    try:
        pipeline = spacy.blank(lang)
    except ImportError as error:
        raise ConfigError(
            f"spaCy does not know the language {lang!r}; give its short name, such as en, or xx"
        ) from error
    words = vectors.index_to_key
    pipeline.vocab.vectors = spacy.vectors.Vectors(
        strings=pipeline.vocab.strings,
        data=np.array(vectors.table),
        keys=words,
        name="posvec",
        attr="LOWER" if all(word == word.lower() for word in words) else "ORTH",
    )
    return pipeline


def to_spacy_vocab(vectors: WordVectors, lang: str = "en") -> Any:
    """The vocabulary of that pipeline: a ``spacy.vocab.Vocab`` with vectors."""
    return to_spacy(vectors, lang).vocab


def save_pipeline(model: Model, folder: str | os.PathLike[str], overwrite: bool = False, language: str = "xx") -> None:
    """Write that pipeline, with the vectors of a model's words, as a folder."""
    pipeline = to_spacy(model.vectors, language)
    with replacing_folder(folder, overwrite) as path:
        pipeline.to_disk(path)
        # Compat: spaCy reads from this file by what tokens are looked up, but writes it for floret's vectors only.
        settings = path / "vocab" / "vectors.cfg"
        vectors = {**json.loads(settings.read_text()), "attr": pipeline.vocab.vectors.attr}
        settings.write_text(json.dumps(vectors))
