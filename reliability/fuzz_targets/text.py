"""Fuzz targets: plain text and vocabulary files."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import posvec
from fuzz_targets.target import TEXT
from posvec import Vocabulary
from posvec._kernel import WordCounter, WordIds, find_invalid_utf8, ngram_buckets, ngrams
from posvec.corpus.lines import whole_lines
from posvec.corpus.tokenizers import get_tokenizer


def check_text(data: bytes, folder: Path) -> None:
    """Compare tokenizing, counting and encoding with ``re`` and ``str``, and reading in pieces with reading at once."""
    first_invalid, text = -1, ""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        first_invalid = error.start
    assert find_invalid_utf8(data) == first_invalid
    if first_invalid >= 0:
        return
    lines = text.removesuffix("\n").split("\n") if text else []
    for name, split in (("word", lambda line: re.findall(r"\w+", line.lower())), ("whitespace", str.split)):
        tokenizer = get_tokenizer(name)
        expected = [split(line) for line in lines]
        assert tokenizer.split(data) == expected, name
        counter = WordCounter(tokenizer)
        counter.add(data)
        words, counts = counter.most_common(1, None)
        assert counter.tokens == counts.sum() == sum(map(len, expected))
        ids, lengths, known = WordIds(words).encode(tokenizer, data)
        assert known == len(ids)
        assert [words[i] for i in ids] == [word for line in expected for word in line]
        assert lengths.tolist() == [len(line) for line in expected if line]
        pieces = list(whole_lines((data[i : i + 5] for i in range(0, len(data), 5)), 24))
        assert b"".join(pieces) == data
        if all(len(run.encode()) < 12 for run in re.split(r"[ \n\x1f]+", text)):
            assert [word for piece in pieces for line in tokenizer.split(piece) for word in line] == [
                word for line in expected for word in line
            ]
    for word in words[:3]:
        marked = f"<{word}>"
        spans = [(i, n) for i in range(len(marked)) for n in (1, 2, 3) if i + n <= len(marked)]
        brackets = ((0, 1), (len(marked) - 1, 1))
        expected_ngrams = [marked[i : i + n] for i, n in spans if (i, n) not in brackets and word != "</s>"]
        assert ngrams(word, 1, 3) == expected_ngrams
        assert (ngram_buckets(word, 1, 3, 7) < 7).all()


def text_seeds() -> Iterator[bytes]:
    yield TEXT.encode()
    yield ("a " * 80 + "\n").encode()
    yield b"caf\xe9 \xed\xa0\x80"


def check_vocabulary(data: bytes, folder: Path) -> None:
    """A vocabulary that was loaded is the same after saving it and loading it again."""
    (folder / "v").write_bytes(data)
    found = Vocabulary.load(folder / "v")
    found.save(folder / "w")
    again = Vocabulary.load(folder / "w")
    assert (again.words, again.counts.tolist(), again.config) == (found.words, found.counts.tolist(), found.config)
    assert np.isfinite(found.keep_probabilities()).all()
    assert np.isfinite(found.alias_table()[0]).all()


def vocabulary_seeds() -> Iterator[bytes]:
    stream = io.BytesIO()
    Vocabulary.from_counts({"the": 9, "a\\b\tc": 6}, posvec.make_config(min_count=1).vocabulary).dump(stream)
    yield stream.getvalue()
