"""fastText's ``.bin``: settings, dictionary, input rows (words, then all buckets of n-grams) and output vectors.

It is loaded as a general or a subword model. The vectors, also those of out-of-vocabulary words, equal fastText's.

Compat: fastText counts line ends as the word ``</s>``, which is kept like any other word; it has no n-grams.
Compat: fastText has a row for every bucket, posvec only for those that it trained; the others are written as zeros.
fastText represents an out-of-vocabulary word by the mean over all its n-grams, posvec by the mean over those that it
knows. If some n-grams are unknown, the vectors differ in length only; cosines and neighbours are the same. This also
holds for the words of a model that was compressed to fewer buckets.
Compat: of a model with two heads, the file has the weighted vectors, as means of rows that have all features. The
vectors of words are those of posvec. Those of out-of-vocabulary words differ in length only, because fastText does not
scale the mean of the n-grams. Loaded again, it is a subword model, whose masked words are not those of the two heads.
Compat: the file does not contain the learning rate. With the loss ``hs``, output vectors do not belong to words and are
replaced by zeros. A skip-gram model keeps its vectors; further training by posvec trains it as CBOW.
"""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posvec import _kernel
from posvec.config import Config
from posvec.errors import ConfigError, ModelError
from posvec.formats.files import invalid_file, open_for_writing, read_bytes
from posvec.formats.validation import ROWS, check_finite
from posvec.model import Model
from posvec.presets import make_config
from posvec.query.one_head import one_head
from posvec.subwords import saved_rows
from posvec.system.arrays import FloatArray
from posvec.vectors import WordVectors
from posvec.vocabulary import Vocabulary

MAGIC = struct.pack("<i", 793712314)
_VERSION = 12
_SETTINGS = (
    "dim",
    "ws",
    "epoch",
    "minCount",
    "neg",
    "wordNgrams",
    "loss",
    "model",
    "bucket",
    "minn",
    "maxn",
    "lrUpdateRate",
    "t",
)
_LOSS = {"hs": 1, "ns": 2, "softmax": 3}
_MODEL = {"cbow": 1, "skipgram": 2, "supervised": 3}
_ENTRY_TAIL = 9  # bytes after the word of a dictionary entry: its count, and whether it is a label


def load_fasttext(path: str | Path) -> Model:
    """Load a fastText model (cbow or skipgram); its tables are memory-mapped."""
    path = Path(path)
    reader = _FastTextReader(path, read_bytes(path))
    if reader.unpack("4s") != (MAGIC,):
        raise invalid_file(path, "it does not begin like a fastText model")
    (version,) = reader.unpack("i")
    if version not in (11, 12):
        raise ModelError(
            f"{path} has version {version} of fastText's format, but only 11 and 12 can be read; save it in one of them"
        )
    settings = dict(zip(_SETTINGS, reader.unpack("12id"), strict=True))
    if settings["model"] == _MODEL["supervised"]:
        raise ModelError(
            f"{path} is a supervised fastText model (a classifier), which has no word vectors to load; use a cbow or "
            f"skipgram model"
        )
    words, counts, tokens = reader.dictionary()
    config = _config(path, settings)
    table = reader.matrix(settings["dim"], len(words) + settings["bucket"])
    (output_quantized,) = reader.unpack("?")
    output = reader.matrix(settings["dim"], None, output_quantized)
    reader.end()
    check_finite(path, table, words)
    check_finite(path, output, words)
    if settings["loss"] == _LOSS["hs"] or len(output) != len(words):
        output = np.zeros((len(words), settings["dim"]), np.float32)
    if not config.subwords.subwords:
        # These rows are the word vectors themselves, so an aligned copy pays off.
        table = np.require(table[: len(words)], requirements="A")
    if (np.diff(counts) > 0).any():  # not written by fastText or gensim, which order words as posvec does
        order = np.argsort(-counts, kind="stable")
        words, counts, output = [words[i] for i in order], counts[order], output[order]
        table = np.concatenate([table[order], table[len(order) :]])
    vocabulary = Vocabulary(words, counts, tokens, config.vocabulary)
    if len(vocabulary.index) < len(words):
        raise invalid_file(path, "a word occurs twice")
    rows = saved_rows(vocabulary, config.subwords, np.arange(settings["bucket"], dtype=np.uint32))
    return Model(config, vocabulary, rows, table, output, np.empty((2 * config.model.window, 0), np.float32))


def write_fasttext(path: str | Path, vectors: Model | WordVectors, overwrite: bool = False) -> list[str]:
    """Write a model, or word vectors alone, as a ``.bin`` that fastText and gensim load as a CBOW model.

    No word is omitted, so the returned list is empty; a word that the file cannot store raises ModelError.
    """
    if isinstance(vectors, Model) and not vectors.has_outputs:
        vectors = vectors.vectors
    model = vectors if isinstance(vectors, Model) else _model_of(vectors)
    words, config = model.vocabulary.words, model.config
    input_vectors = one_head(vectors.vectors if isinstance(vectors, Model) else vectors).input_vectors
    for word in words:
        if not word or "\0" in word:
            raise ModelError(
                f"the word {word!r} is empty or contains NUL, which fastText's .bin cannot store; remove it"
            )
    buckets = config.subwords.buckets if config.subwords.subwords else 0
    settings = {
        "dim": config.model.dim,
        "ws": config.model.window,
        "epoch": min(config.training.epochs, 2**31 - 1),
        "minCount": min(config.vocabulary.min_count, 2**31 - 1),
        "neg": config.training.negatives,
        "wordNgrams": 1,
        "loss": _LOSS["ns"],
        "model": _MODEL["cbow"],
        "bucket": buckets,
        "minn": config.subwords.min_n if buckets else 0,
        "maxn": config.subwords.max_n if buckets else 0,
        "lrUpdateRate": 100,
        "t": config.vocabulary.sample,
    }
    with open_for_writing(path, overwrite) as stream:
        stream.write(MAGIC + struct.pack("<i12id", _VERSION, *(settings[name] for name in _SETTINGS)))
        # Entries, words, labels, tokens; -1 means that no n-gram was pruned.
        stream.write(struct.pack("<3i2q", len(words), len(words), 0, model.vocabulary.total_words, -1))
        for word, count in zip(words, model.vocabulary.counts.tolist(), strict=True):
            stream.write(word.encode() + struct.pack("<xqb", count, 0))
        stream.write(struct.pack("<?2q", False, len(words) + buckets, config.model.dim))
        for begin in range(0, len(words), ROWS):
            stream.write(_little_endian(input_vectors[begin : min(begin + ROWS, len(words))]))
        bucket_ids = model.rows.bucket_ids
        order = np.argsort(bucket_ids)
        ordered = bucket_ids[order]
        for begin in range(0, buckets, ROWS):
            block = np.zeros((min(ROWS, buckets - begin), config.model.dim), np.float32)
            low, high = np.searchsorted(ordered, [begin, begin + len(block)])
            block[ordered[low:high] - begin] = input_vectors[len(words) + order[low:high]]
            stream.write(_little_endian(block))
        stream.write(struct.pack("<?2q", False, len(words), config.model.dim))
        for begin in range(0, len(words), ROWS):
            stream.write(_little_endian(model.output_vectors[begin : begin + ROWS]))
    return []


class _FastTextReader:
    """Reads a file from its beginning; every part is checked against the number of bytes that remain."""

    def __init__(self, path: Path, content: NDArray[np.uint8]) -> None:
        self.path, self.content, self.offset = path, content, 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}"), "its header").tobytes())

    def take(self, size: int, what: str) -> NDArray[np.uint8]:
        if size > len(self.content) - self.offset:
            raise invalid_file(self.path, f"it ends inside {what}")
        self.offset += size
        return self.content[self.offset - size : self.offset]

    def dictionary(self) -> tuple[list[str], NDArray[np.int64], int]:
        """Return the words, their counts, and the number of tokens of the corpus."""
        size, word_count, labels, tokens, pruned = self.unpack("3i2q")
        if labels or word_count != size or size <= 0:
            raise invalid_file(
                self.path, f"its dictionary has {size:,} entries, {word_count:,} words and {labels:,} labels"
            )
        words, offsets, end, error = _kernel.find_vector_records(self.content, self.offset, size, 0, _ENTRY_TAIL, False)
        if error:
            raise invalid_file(self.path, f"word {len(words) + 1:,} of {size:,} is invalid: {error}")
        self.offset = end
        # As in fastText, only the n-grams of quantized models can be pruned (fastText issue 332).
        if pruned >= 0:
            raise _quantized(self.path)
        counts = np.empty((size, 2), np.float32)  # eight bytes for each word, reinterpreted below
        _kernel.copy_records(self.content, offsets, 0, size, counts)
        if (self.content[offsets + np.uint64(_ENTRY_TAIL - 1)] != 0).any():
            raise invalid_file(self.path, "a word of its dictionary is marked as a label")
        return words, np.maximum(counts.view("<i8")[:, 0], 1), max(tokens, size)

    def matrix(self, dim: int, rows: int | None, quantized: bool | None = None) -> FloatArray:
        if quantized is None:
            (quantized,) = self.unpack("?")
            if quantized:
                raise _quantized(self.path)
        height, width = self.unpack("2q")
        if width != dim or height < 0 or (rows is not None and height != rows):
            raise invalid_file(
                self.path, f"a table of {height:,} rows and {width:,} columns does not fit its dictionary"
            )
        # A view that is rarely aligned to four bytes; the kernel can read it nevertheless.
        table: FloatArray = self.take(4 * height * width, "a table").view("<f4").reshape(height, width)
        return table

    def end(self) -> None:
        if self.offset < len(self.content):
            raise invalid_file(self.path, f"{len(self.content) - self.offset:,} bytes follow its tables")


def _quantized(path: Path) -> ModelError:
    return ModelError(
        f"{path} is a quantized fastText model (.ftz), which cannot be read; use the .bin that it was made from"
    )


def _config(path: Path, settings: dict[str, Any]) -> Config:
    """fastText's settings under posvec's names; settings that are not in the file get fastText's defaults."""
    subwords = settings["bucket"] > 0 and settings["maxn"] >= max(settings["minn"], 1)
    if settings["bucket"] < 0:
        raise invalid_file(path, "its number of buckets is negative")
    ngrams = {"min_n": max(settings["minn"], 1), "max_n": settings["maxn"], "buckets": settings["bucket"]}
    try:
        return make_config(
            "subword" if subwords else "general",
            "fasttext",
            tokenizer="whitespace",
            dim=settings["dim"],
            window=max(settings["ws"], 1),
            epochs=max(settings["epoch"], 1),
            min_count=max(settings["minCount"], 1),
            negatives=max(settings["neg"], 1),
            sample=min(settings["t"], 1.0),
            **(ngrams if subwords else {}),
        )
    except ConfigError as error:
        raise invalid_file(path, f"its settings are invalid ({error})") from error


def _model_of(vectors: WordVectors) -> Model:
    """Word vectors, with their n-grams if they have them, as a model without output vectors."""
    table, ngrams = one_head(vectors).input_vectors, vectors.rows.config
    config = make_config("general", "fasttext", dim=vectors.vector_size, **dataclasses.asdict(ngrams))
    output = np.zeros((len(vectors), vectors.vector_size), np.float32)
    positional = np.empty((2 * config.model.window, 0), np.float32)
    return Model(config, vectors.vocabulary, vectors.rows, table, output, positional)


def _little_endian(rows: FloatArray) -> bytes:
    return rows.astype("<f4", copy=False).tobytes()
