"""spaCy: word vectors as a ``Vocab``, and models as a pipeline that ``spacy.load`` opens.

``spacy init vectors`` reads word2vec's text format, which :func:`posvec.convert` writes; with ``--attr LOWER`` it also
finds the vector of "Cat" as that of cat.
"""

from __future__ import annotations

import json
import os

from posvec.model import Model
from posvec.query.conversion import to_spacy, to_spacy_vocab
from posvec.system.atomic import replacing_folder

__all__ = ["save_pipeline", "to_spacy", "to_spacy_vocab"]


def save_pipeline(model: Model, folder: str | os.PathLike[str], overwrite: bool = False, language: str = "xx") -> None:
    """Save the vectors of a model's words as an empty spaCy pipeline.

    Parameters
    ----------
    model
        The model whose word vectors are saved.
    folder
        The folder to write, which ``spacy.load(folder)`` opens.
    overwrite
        Whether to replace a folder that was saved before.
    language
        spaCy's short name of the language, for example ``en``; ``xx`` for several.

    Examples
    --------
    >>> import posvec
    >>> from posvec.interop.spacy import save_pipeline
    >>> save_pipeline(posvec.load("model"), "pipeline", language="en")  # doctest: +SKIP
    """
    pipeline = to_spacy(model.vectors, language)
    with replacing_folder(folder, overwrite) as path:
        pipeline.to_disk(path)
        # Compat: spaCy reads from this file which form of a token to look up, but writes it only for floret vectors.
        settings = path / "vocab" / "vectors.cfg"
        vectors = {**json.loads(settings.read_text()), "attr": pipeline.vocab.vectors.attr}
        settings.write_text(json.dumps(vectors))
