"""Load and write word vectors and models in any format, and convert files from one format to another."""

from __future__ import annotations

import os
from pathlib import Path

from posvec.errors import ModelError
from posvec.formats.detection import format_from_content, format_from_extension
from posvec.formats.files import check_not_existing
from posvec.formats.registry import Format, ModelOrVectors, get_format
from posvec.model import Model
from posvec.storage.folders import check_output
from posvec.system.decompression import is_compressed
from posvec.vectors import WordVectors


def load_vectors(path: str | os.PathLike[str], format: str | None = None) -> WordVectors:
    """Load the word vectors of a file or of a saved model.

    The vectors of a posvec or fastText model include those of out-of-vocabulary words.

    Parameters
    ----------
    path
        The file, plain or compressed (.gz, .bz2, .xz, .zst), or the folder of a model.
    format
        A name in :data:`FORMATS`; by default the format is detected from the content.

    Returns
    -------
    WordVectors
        The vectors.

    Raises
    ------
    PosvecError
        If the file is missing, damaged or in no known format.

    Examples
    --------
    >>> import posvec
    >>> posvec.load_vectors("model")
    <vectors of 12 words, D=32>
    """
    loaded = load_model_or_vectors(path, format)
    return loaded.vectors if isinstance(loaded, Model) else loaded


def load_model_or_vectors(path: str | os.PathLike[str], format: str | None = None) -> ModelOrVectors:
    """Load a file as the most complete object that it holds.

    Parameters
    ----------
    path, format
        As in :func:`load_vectors`.

    Returns
    -------
    Model or WordVectors
        A Model for the formats that store models (posvec and fastText's ``.bin``), WordVectors for all others.

    Examples
    --------
    >>> from posvec.formats import load_model_or_vectors
    >>> type(load_model_or_vectors("model")).__name__
    'Model'
    """
    path = Path(path)
    return get_format(format or format_from_content(path)).load(path)


def write_vectors(
    path: str | os.PathLike[str], vectors: ModelOrVectors, format: str | None = None, overwrite: bool = False
) -> list[str]:
    """Write a model or word vectors.

    Parameters
    ----------
    path
        The file or folder to write. Text and ``.bin`` files are compressed if the name ends in .gz, .bz2, .xz or .zst.
    vectors
        A model or word vectors.
    format
        A name in :data:`FORMATS`; by default the format of the file extension.
    overwrite
        Whether to replace what is already there.

    Returns
    -------
    list of str
        Descriptions of what the format cannot store; empty if everything was written.

    Examples
    --------
    >>> import posvec
    >>> from posvec.formats import write_vectors
    >>> write_vectors("vectors.txt", posvec.load("model").vectors, overwrite=True)
    ['n-gram vectors', 'word counts']
    """
    path = Path(path)
    name = format or format_from_extension(path)
    chosen = get_format(name)
    if is_compressed(path) and name in ("npz", "safetensors", "posvec"):
        raise ModelError(f"the format {name} cannot be compressed; leave out {path.suffix}")
    omitted = _omissions(chosen, vectors)
    if isinstance(vectors, Model) and not chosen.stores_models:
        vectors = vectors.vectors
    words = chosen.write(path, vectors, overwrite)
    if words:
        omitted.append(f"{_examples(words)} (the format cannot store such words)")
    return omitted


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    format: str | None = None,
    source_format: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Convert a file or model folder to another format.

    Parameters
    ----------
    source
        The file or folder to read.
    target
        The file or folder to write.
    format
        The format of ``target``, a name in :data:`FORMATS`; by default that of its file extension.
    source_format
        The format of ``source``; by default it is detected from the content.
    overwrite
        Whether to replace what is already there.

    Returns
    -------
    list of str
        Descriptions of what the new format cannot store; empty if everything was written.

    Examples
    --------
    >>> import posvec
    >>> posvec.convert("model", "vectors.npz", overwrite=True)
    ['output vectors', 'n-gram vectors', 'positional vectors']
    """
    format = format or format_from_extension(Path(target))
    get_format(format)
    # Before the source is read, which may take long.
    if format == "posvec":
        check_output(target, overwrite)
    elif not overwrite:
        check_not_existing(Path(target))
    return write_vectors(target, load_model_or_vectors(source, source_format), format, overwrite)


def _omissions(format: Format, vectors: ModelOrVectors) -> list[str]:
    """What the format cannot store of the vectors, or of the model."""
    omitted = []
    if isinstance(vectors, Model) and vectors.has_outputs and not format.stores_models:
        omitted.append("output vectors")
    rows = (vectors.vectors if isinstance(vectors, Model) else vectors).rows
    if len(rows.bucket_ids) and not format.stores_models:
        omitted.append("n-gram vectors")
    if isinstance(vectors, Model) and vectors.positional_vectors.size and not format.stores_positions:
        omitted.append("positional vectors")
    counts = vectors.vocabulary.counts
    if not format.stores_counts and (counts != counts[0]).any():
        omitted.append("word counts")
    return omitted


def _examples(words: list[str]) -> str:
    shown = ", ".join(repr(word) for word in words[:3])
    return f"the word {shown}" if len(words) == 1 else f"{len(words):,} words, for example {shown}"
