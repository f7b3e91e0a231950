"""What is fuzzed: every parser of posvec, with the files that a campaign begins with and what must hold of any input.

A check is given any bytes. It returns, or the parser refuses them with a PosvecError of one line: everything else is
a finding. Where another program knows the answer (Python's own ``re``, ``gzip``, a second reading of what was written),
the check compares.
"""

from __future__ import annotations

import atexit
import bz2
import contextlib
import gzip
import io
import json
import lzma
import re
import shutil
import tarfile
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import zstandard

import posvec
from posvec import Model, PosvecError, Vocabulary, WordVectors
from posvec._kernel import WordCounter, WordIds, find_invalid_utf8, ngram_buckets, ngrams
from posvec.corpus import sources as corpus
from posvec.corpus.tokenizers import get_tokenizer
from posvec.datasets import archives, wikipedia, wikitext
from posvec.evaluation.compression import compress
from posvec.evaluation.questions import is_pair_file, read_pairs, read_questions
from posvec.formats import load_model_or_vectors, write_vectors
from posvec.system import files

MEMORY = (16 << 20, 300)
"""What reading an input may take: so many bytes, and so many for each of its own."""
SECONDS = 10
"""Of CPU time, likewise."""


@dataclass(frozen=True)
class Target:
    check: Callable[[bytes, Path], None]
    """Called with the input and an empty folder to write it to."""
    seeds: Callable[[], Iterator[bytes]]


def refused_or_right(target: Target, data: bytes) -> None:
    """Raises what is wrong with the parser, if anything is."""
    folder = _folder()
    begun = time.process_time()
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        target.check(data, folder)
    except PosvecError as error:
        if "\n" in str(error):
            raise AssertionError(f"not one line: {error}") from error
    finally:
        taken = tracemalloc.get_traced_memory()[1] - before
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    if (seconds := time.process_time() - begun) > SECONDS:
        raise AssertionError(f"{seconds:.0f} s for {len(data):,} bytes of input")
    constant, factor = MEMORY
    if taken > constant + factor * len(data):
        raise AssertionError(f"{taken:,} bytes of memory for {len(data):,} bytes of input")


@cache
def _folder() -> Path:
    """An empty folder in memory, one for all inputs; what is made once for all of them is made before."""
    for name in ("word", "whitespace"):
        get_tokenizer(name).split("ΑΣ".encode())
    folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


TEXT = "The quick brown fox\njumps over, ΣΑΣ the naïve 日本語 İstanbul.\n\tA\u200bb \ufb01n x\u0307 𝔘\r\n"


# ---- text and vocabularies ----------------------------------------------------------------------------------------


def _check_text(data: bytes, folder: Path) -> None:
    """Tokenizing, counting and encoding beside Python's ``re`` and ``str``; reading in pieces beside all at once."""
    bad, text = -1, ""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        bad = error.start
    assert find_invalid_utf8(data) == bad
    if bad >= 0:
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
        pieces = list(corpus.whole_lines((data[i : i + 5] for i in range(0, len(data), 5)), 24))
        assert b"".join(pieces) == data
        if all(len(run.encode()) < 12 for run in re.split(r"[ \n\x1f]+", text)):
            assert [word for piece in pieces for line in tokenizer.split(piece) for word in line] == [
                word for line in expected for word in line
            ]
    for word in words[:3]:
        marked = f"<{word}>"
        places = [(i, n) for i in range(len(marked)) for n in (1, 2, 3) if i + n <= len(marked)]
        alone = ((0, 1), (len(marked) - 1, 1))
        slow = [marked[i : i + n] for i, n in places if (i, n) not in alone and word != "</s>"]
        assert ngrams(word, 1, 3) == slow
        assert (ngram_buckets(word, 1, 3, 7) < 7).all()


def _text_seeds() -> Iterator[bytes]:
    yield TEXT.encode()
    yield ("a " * 80 + "\n").encode()
    yield b"caf\xe9 \xed\xa0\x80"


def _check_vocabulary(data: bytes, folder: Path) -> None:
    (folder / "v").write_bytes(data)
    found = Vocabulary.load(folder / "v")
    found.save(folder / "w")
    again = Vocabulary.load(folder / "w")
    assert (again.words, again.counts.tolist(), again.config) == (found.words, found.counts.tolist(), found.config)
    assert np.isfinite(found.keep_probabilities()).all()
    assert np.isfinite(found.alias_table()[0]).all()


def _vocabulary_seeds() -> Iterator[bytes]:
    stream = io.BytesIO()
    Vocabulary.from_counts({"the": 9, "a\\b\tc": 6}, posvec.make_config(min_count=1).vocabulary).dump(stream)
    yield stream.getvalue()


# ---- files of word vectors ----------------------------------------------------------------------------------------


def _vector_file(format: str | None) -> Callable[[bytes, Path], None]:
    def check(data: bytes, folder: Path) -> None:
        (folder / "v").write_bytes(data)
        found = load_model_or_vectors(folder / "v", format)
        vectors = found.vectors if isinstance(found, Model) else found
        if not np.isfinite(vectors.table).all():  # the mean of finite rows overflows, as fastText's does
            vectors.most_similar(vectors.vocabulary.words[0])  # says so
            raise AssertionError("vectors that are not finite were searched")
        assert len(set(vectors.vocabulary.words)) == len(vectors) == len(vectors.table)
        vectors.has_vector("naïver")
        name = format or "safetensors"
        if not write_vectors(folder / "w", found, name) and name != "fasttext-bin":
            again = load_model_or_vectors(folder / "w", name)
            assert isinstance(again, WordVectors)
            assert again.vocabulary.words == vectors.vocabulary.words
            assert np.array_equal(again.table, vectors.table)

    return check


def _vector_seeds(*formats: str) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        for format in formats:
            for model in (_model("subword"), _model("general")):
                with tempfile.TemporaryDirectory() as folder:
                    write_vectors(Path(folder) / "v", model, format)
                    yield (Path(folder) / "v").read_bytes()

    return seeds


_VECTORS = ("word2vec-text", "word2vec-bin", "glove", "fasttext-bin", "npz", "safetensors")


# ---- saved models -------------------------------------------------------------------------------------------------


def _model(kind: str) -> Model:
    settings = {"dim": 3, "window": 2, "min_count": 1, "buckets": 5, "max_n": 3, "positional_dim": 0}
    if kind == "constrained":
        settings["positional_dim"] = 2
    elif kind == "general":
        settings = {name: settings[name] for name in ("dim", "window", "min_count")}
    config = posvec.make_config(kind, **settings)
    vocabulary = Vocabulary.from_counts({"the": 9, "naïve": 8, "x": 6}, config.vocabulary)
    model = Model.create(config, vocabulary)
    model.output_vectors[:] = np.arange(9).reshape(3, 3)
    return model


def _saved(model: Model) -> dict[str, bytes]:
    """The files of a saved model, by their names without tags."""
    with tempfile.TemporaryDirectory() as name:
        model.save(Path(name) / "m")
        return {re.sub(r"-\w{12}", "", file.name): file.read_bytes() for file in (Path(name) / "m").iterdir()}


def _check_model(data: bytes, folder: Path) -> None:
    """config.json, vocabulary and tables, one behind another; the manifest is given the sizes that they have."""
    config, _, rest = data.partition(_BETWEEN)
    vocabulary, _, tensors = rest.partition(_BETWEEN)
    for name, content in (("vocabulary.txt", vocabulary), ("model.safetensors", tensors)):
        (folder / name).write_bytes(content)
        marked = f'"bytes": "{name}"'.encode()
        config = config.replace(marked, f'"bytes": {len(content)}'.encode())
    (folder / "config.json").write_bytes(config)
    model = Model.load(folder)
    model.vectors.has_vector("naïver")
    assert model.vectors.table.shape == (len(model.vocabulary), model.config.model.dim)
    repr(model), model.report and model.report.words_per_second
    if model.has_outputs:
        model.predict_masked(["[MASK]", model.vocabulary.words[0]], 3)


_BETWEEN = b"\n=====\n"


def _model_seeds() -> Iterator[bytes]:
    for model in (_model("general"), _model("constrained"), *(compress(_model("subword"), m) for m in _METHODS)):
        files = _saved(model)
        config = json.loads(files["config.json"])
        for name in config["files"]:
            config["files"][name] = {"name": name, "bytes": name}
        for group in config["settings"].values():  # what is left out takes its default
            for setting in [*group]:
                if setting not in ("dim", "window", "buckets", "max_n", "positional_dim", "subwords"):
                    del group[setting]
        yield _BETWEEN.join([json.dumps(config).encode(), files["vocabulary.txt"], files["model.safetensors"]])


_METHODS = ("float16", "int8", "pq")


# ---- containers ---------------------------------------------------------------------------------------------------


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
_DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def _check_compressed(data: bytes, folder: Path) -> None:
    """The first byte says which; what the standard library also reads must be the same."""
    ending = [*_COMPRESS][data[0] % 4] if data else ".gz"
    path = folder / f"f{ending}"
    path.write_bytes(data[1:])
    size, blocks = 0, []
    for block in files.read_blocks(path, lambda read: None):
        assert len(block) <= files.BLOCK
        size += len(block)
        if size < 1 << 20:
            blocks.append(block)
        elif size > 64 << 20:
            return  # a bomb: enough was seen
    if size < 1 << 20 and ending in _DECOMPRESS:
        # It does not read all that posvec does: a file of no bytes, zeros of any number behind the last stream.
        with contextlib.suppress(EOFError, lzma.LZMAError):
            assert b"".join(blocks) == _DECOMPRESS[ending](data[1:])


def _compressed_seeds() -> Iterator[bytes]:
    for number, compressed in enumerate(_COMPRESS.values()):
        yield bytes([number]) + compressed(TEXT.encode())
        yield bytes([number]) + compressed(b"one\n") + compressed(b"two\n")
        yield bytes([number]) + compressed(b"\0" * 100_000)


def _check_archive(data: bytes, folder: Path) -> None:
    (folder / "archive").write_bytes(data)
    (folder / "inside").mkdir()
    for file in archives.unpack(folder / "archive", folder / "inside"):
        assert (folder / "inside").resolve() in file.resolve().parents
    assert sorted(path.name for path in folder.iterdir()) == ["archive", "inside"]


def _archive_seeds() -> Iterator[bytes]:
    for names in (["a.txt", "b/c.txt"], ["../a.txt"]):
        zipped, tarred = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), TEXT)
        yield zipped.getvalue()
        with tarfile.open(fileobj=tarred, mode="w:gz", compresslevel=9) as tar:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 5
                tar.addfile(member, io.BytesIO(b"12345"))
        yield tarred.getvalue()


# ---- Wikipedia ----------------------------------------------------------------------------------------------------


def _check_wiki_xml(data: bytes, folder: Path) -> None:
    (folder / "dump.xml").write_bytes(data)
    for _, text in wikipedia._events(folder / "dump.xml", lambda read: None):
        assert isinstance(text, str)


def _wiki_xml_seeds() -> Iterator[bytes]:
    yield (
        '<mediawiki xmlns="http://x/"><siteinfo><namespaces><namespace key="14">Kategorie</namespace></namespaces>'
        f"</siteinfo><page><title>T</title><ns>0</ns><revision><text>{TEXT}</text></revision></page>"
        '<page><ns>0</ns><redirect title="T"/><revision><text>#REDIRECT [[T]]</text></revision></page></mediawiki>'
    ).encode()
    yield b'<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><mediawiki>&b;</mediawiki>'


def _check_wiki_markup(data: bytes, folder: Path) -> None:
    """A page that the parser of markup cannot read is left out by posvec, so only time and crashes count."""
    try:
        paragraphs = wikitext.plain_paragraphs(data.decode("utf-8", "replace"))
    except Exception:  # as wikitext._serve does
        return
    assert all(line and "\n" not in line for line in paragraphs)


def _wiki_markup_seeds() -> Iterator[bytes]:
    yield b"'''Oslo''' is the [[capital city|capital]] of {{flag|{{x}}}} [[Norway]].<ref name=a>no</ref>&amp;<!-- c -->"
    yield b"== Head ==\n* item ''it''\n{|\n| cell\n|}\n[[File:a.jpg|thumb|A [[link]]]]\n[http://x y] <math>x</math>"


def _check_wiki_json(data: bytes, folder: Path) -> None:
    (folder / "w.gz").write_bytes(gzip.compress(data, 1))
    for line in wikipedia.section_paragraphs([folder / "w.gz"]):
        assert line.strip() == line != ""
        assert "\n" not in line


def _wiki_json_seeds() -> Iterator[bytes]:
    yield json.dumps({"title": "T", "section_texts": ["'''One''' is.\n* two\n== h ==", "three"]}).encode() + b"\n{}"


# ---- questions ----------------------------------------------------------------------------------------------------


def _check_questions(data: bytes, folder: Path) -> None:
    path = folder / "q.txt"
    path.write_bytes(data)
    is_pair_file(path)
    for skip_invalid in (True, False):
        for read in (read_questions, read_pairs):
            message = ""
            try:
                read(path, skip_invalid)
            except PosvecError as error:
                message = str(error)
            assert "\n" not in message


def _question_seeds() -> Iterator[bytes]:
    yield b": capital\nAthens Greece Oslo Norway\nOslo Norway Rome Italy/Italia\n: gram1\na\tb c\td\te\n"
    yield b"word,other,score\ntiger,cat,7.35\n# note\ncat,dog,1e1\n"
    yield b"cat cats\ndog dogs/doggies\n"
    yield b"\xef\xbb\xbfone\ttwo\t.5\r\n\xff\n"


TARGETS: dict[str, Target] = {
    "text": Target(_check_text, _text_seeds),
    "vocabulary": Target(_check_vocabulary, _vocabulary_seeds),
    **{format: Target(_vector_file(format), _vector_seeds(format)) for format in _VECTORS},
    "any-vectors": Target(_vector_file(None), _vector_seeds(*_VECTORS)),
    "model": Target(_check_model, _model_seeds),
    "compressed": Target(_check_compressed, _compressed_seeds),
    "archive": Target(_check_archive, _archive_seeds),
    "wiki-xml": Target(_check_wiki_xml, _wiki_xml_seeds),
    "wiki-markup": Target(_check_wiki_markup, _wiki_markup_seeds),
    "wiki-json": Target(_check_wiki_json, _wiki_json_seeds),
    "questions": Target(_check_questions, _question_seeds),
}
