"""spaCy: a Vocab with vectors, and a pipeline that ``spacy.load`` opens.

The file that ``spacy init vectors`` reads is word2vec's text format; with ``--attr LOWER`` it finds "Cat" as cat, too.
"""

from __future__ import annotations

import json
import os

from posvec.model import Model
from posvec.query.conversion import to_spacy as to_spacy
from posvec.query.conversion import to_spacy_vocab as to_spacy_vocab
from posvec.system.atomic import replacing_folder


def save_pipeline(model: Model, folder: str | os.PathLike[str], overwrite: bool = False, language: str = "xx") -> None:
    """Write that pipeline, with the vectors of a model's words, as a folder."""
    pipeline = to_spacy(model.vectors, language)
    with replacing_folder(folder, overwrite) as path:
        pipeline.to_disk(path)
        # Compat: spaCy reads from this file by what tokens are looked up, but writes it for floret's vectors only.
        settings = path / "vocab" / "vectors.cfg"
        vectors = {**json.loads(settings.read_text()), "attr": pipeline.vocab.vectors.attr}
        settings.write_text(json.dumps(vectors))
