"""Fuzz targets: the state of interrupted training, and entries of the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz_targets.models import tiny_model
from posvec import Model
from posvec.corpus.cache import _meta_checksum
from posvec.corpus.encoding import EncodedCorpus, encode
from posvec.corpus.sources import open_corpus
from posvec.datasets.embedded import EMBEDDED_CORPORA
from posvec.storage.records import EpochReport, TrainingState
from posvec.system.checksums import file_checksum
from posvec.training.checkpoints import check_state, sources_of
from posvec.training.loop import train

_SEPARATOR = b"\n=====\n"
_SENTENCES = ["the naïve x the", "x the", "the x naïve"] * 10
_STATE = b'"the state"'


@cache
def _checkpoint() -> tuple[Model, dict[str, bytes], EncodedCorpus]:
    """A model, its files with a placeholder for the state, and the corpus that it is trained on."""
    import tempfile

    model = tiny_model("constrained")
    model.config = model.config.replace(epochs=3, threads=1, sample=0.0)
    with tempfile.TemporaryDirectory() as name:
        model.save(Path(name) / "m")
        files = {file.name: file.read_bytes() for file in (Path(name) / "m").iterdir()}
        corpus = encode(open_corpus(_SENTENCES), model.vocabulary, 1, cache=Path(name) / "cache")
        encoded = EncodedCorpus(np.array(corpus.ids), np.array(corpus.lines), corpus.in_vocabulary, "the corpus")
    files["config.json"] = files["config.json"].replace(b'"state": null', b'"state": ' + _STATE)
    assert _STATE in files["config.json"]
    return model, files, encoded


def check_checkpoint(data: bytes, folder: Path) -> None:
    """The input is the state in JSON. It is refused, or training resumes and ends with all of its epochs."""
    _, files, corpus = _checkpoint()
    for name, content in files.items():
        (folder / name).write_bytes(content.replace(_STATE, data))
    loaded = Model.load(folder)
    state = loaded.state
    if state is None:
        assert data.strip() == b"null" or b'"state"' in data
        return
    repr(state)
    check_state(state, loaded.config, corpus, "the corpus", folder)
    assert state.blocks_done <= 3 * corpus.chunks
    resumed = loaded.trainable()
    report = train(resumed, corpus)
    assert len(report.epochs) == 3
    assert report.masked_words <= report.words <= 3 * corpus.tokens
    TrainingState.from_dict(json.loads(json.dumps(state.to_dict())))
    sources = sources_of(state, folder)
    assert not any("://" in str(source) for source in sources if not str(source).startswith(("file:", "memory:")))


def checkpoint_seeds() -> Iterator[bytes]:
    _, _, corpus = _checkpoint()
    for epochs in range(3):
        state = TrainingState(
            corpus=corpus.digest,
            sources=[*EMBEDDED_CORPORA] if epochs else ["/nowhere", "https://host/x"],
            blocks_done=epochs * corpus.chunks,
            words=epochs * corpus.tokens,
            masked_words=epochs * 50,
            seconds=1.5,
            epoch_words=0,
            epoch_masked_words=0,
            epoch_loss=0.0,
            epoch_seconds=0.0,
            epochs=(EpochReport(2.0, None, 1.0),) * epochs,
        )
        yield json.dumps(state.to_dict()).encode()
    yield b"null"
    yield b"{}"


@cache
def _expected() -> tuple[Any, EncodedCorpus, dict[str, bytes], str]:
    import tempfile

    corpus, vocabulary = open_corpus(_SENTENCES), tiny_model("general").vocabulary
    with tempfile.TemporaryDirectory() as name:
        encoded = encode(corpus, vocabulary, 1, cache=Path(name))
        (entry,) = (Path(name) / "encoded").iterdir()
        return corpus, encoded, {file.name: file.read_bytes() for file in entry.iterdir()}, entry.name


def check_cache_entry(data: bytes, folder: Path) -> None:
    """The input is the description, the ids and the lines of an entry, with a digit: whether its checksums are right.

    With wrong checksums, the entry is made again. With right ones, as only a forger can write them, every chunk can
    still be read.
    """
    corpus, expected, _, name = _expected()
    entry = folder / "encoded" / name
    entry.mkdir(parents=True)
    meta, _, rest = data[1:].partition(_SEPARATOR)
    ids, _, lines = rest.partition(_SEPARATOR)
    (entry / "ids.u32").write_bytes(ids)
    (entry / "lines.u64").write_bytes(lines)
    if forged := data[:1] == b"1":
        meta = _forge(meta, entry)
    (entry / "meta.json").write_bytes(meta)
    encoded = encode(corpus, tiny_model("general").vocabulary, 1, cache=folder)
    if forged:
        assert sum(chunk.end - chunk.begin for chunk in map(encoded.chunk, range(encoded.chunks))) == len(encoded)
        assert int(np.diff(np.asarray(encoded.lines).astype(np.int64)).min(initial=1)) > 0
        return
    assert np.array_equal(encoded.ids, expected.ids)
    assert np.array_equal(encoded.lines, expected.lines)
    assert encoded.in_vocabulary == expected.in_vocabulary


def _forge(meta: bytes, entry: Path) -> bytes:
    """The description with the sizes and checksums of the files, if it is an object."""
    try:
        values = json.loads(meta)
    except (ValueError, RecursionError):
        return meta
    if not isinstance(values, dict):
        return meta
    values.pop("checksum", None)
    files = [entry / name for name in ("ids.u32", "lines.u64")]
    values["sizes"] = {file.name: file.stat().st_size for file in files}
    values["checksums"] = {file.name: file_checksum(file) for file in files}
    return json.dumps({**values, "checksum": _meta_checksum(values)}).encode()


def cache_entry_seeds() -> Iterator[bytes]:
    _, _, files, _ = _expected()
    parts = [files[name] for name in ("meta.json", "ids.u32", "lines.u64")]
    for kind in (b"0", b"1"):
        yield kind + _SEPARATOR.join(parts)
        yield kind + _SEPARATOR.join([parts[0], bytes(len(parts[1])), parts[2]])
        yield kind + _SEPARATOR.join([parts[0], parts[1], parts[2][:-8]])
    yield b"1" + _SEPARATOR.join([b'{"tokens": 90, "lines": 30, "in_vocabulary": 90}', *parts[1:]])
