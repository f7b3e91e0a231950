"""Malicious files: nothing in them is executed, nothing outside their folder is read, no size is trusted."""

import ast
import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import posvec
from posvec import Model, PosvecError, Vocabulary
from posvec.errors import CorpusError, ModelError
from posvec.evaluation.questions import read_pairs
from posvec.formats import load_model_or_vectors
from posvec.storage.folders import load_folder
from posvec.storage.safetensors import read_tensors
from posvec.system import files
from posvec.system.files import read_file

SOURCES = sorted(Path(posvec.__file__).parent.rglob("*.py"))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small model with n-grams and positional vectors."""
    config = posvec.make_config("constrained", dim=4, positional_dim=2, window=2, buckets=50, min_count=1)
    vocabulary = Vocabulary.from_counts({"the": 9, "naïve": 8, "x": 6}, config.vocabulary)
    Model.create(config, vocabulary).save(tmp_path / "m")
    return tmp_path / "m"


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Replace the content of a file of a model, and its size in config.json."""

    def change(config: dict[str, Any]) -> None:
        (folder / config["files"][name]["name"]).write_bytes(content)
        config["files"][name]["bytes"] = len(content)

    rewrite(folder, change)


# ---- execution of code ------------------------------------------------------------------------------------------

EXECUTING = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_no_module_can_execute_what_it_reads(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not {name.partition(".")[0] for name in names} & EXECUTING, f"{source}:{node.lineno}"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("eval", "exec", "np.load", "numpy.load", "torch.load"), f"{source}:{node.lineno}"
            assert "allow_pickle" not in {keyword.arg for keyword in node.keywords}, f"{source}:{node.lineno}"


def test_opening_a_model_executes_imports_and_opens_nothing_but_its_files(saved: Path) -> None:
    code = """
import sys, posvec
from posvec.formats import load_model_or_vectors
folder, seen = sys.argv[1], []
def use(): load_model_or_vectors(folder).vectors.most_similar("the", topn=2)
use()  # runs imports that are deferred to the first use
sys.addaudithook(lambda event, arguments: seen.append((event, arguments[0] if arguments else None)))
use()
bad = [each for each in list(seen) if each[0] in ("exec", "compile", "import", "os.system", "subprocess.Popen",
       "pickle.find_class", "marshal.loads", "code.__new__", "ctypes.dlopen", "socket.connect", "os.exec", "os.fork")]
opened = [each[1] for each in list(seen) if each[0] == "open"]
assert not bad, bad
assert len(opened) == 3 and all(str(each).startswith(folder) for each in opened), opened
"""
    subprocess.run([sys.executable, "-c", code, str(saved)], check=True)


@pytest.mark.parametrize("array", ["words", "vectors"])
def test_objects_of_python_in_npz_are_refused(tmp_path: Path, array: str) -> None:
    harmless = {"words": np.array(["a"]), "vectors": np.ones((1, 2), np.float32)}
    np.savez(tmp_path / "v.npz", **{**harmless, array: np.array([{}], object)})
    with pytest.raises(ModelError, match="holds Python objects"):
        load_model_or_vectors(tmp_path / "v.npz")


# ---- paths out of the folder ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vocabulary.txt", "model.safetensors", "config.json"])
def test_a_link_out_of_the_folder_is_refused(saved: Path, name: str) -> None:
    files = load_folder(saved).files
    file = files.get(name, saved / name)
    file.rename(saved.parent / "outside")
    file.symlink_to(saved.parent / "outside")
    with pytest.raises(ModelError, match="link to another folder"):
        Model.load(saved)


def test_a_link_to_the_folder_and_the_store_of_the_hub_are_followed(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(saved)
    assert len(Model.load(tmp_path / "link").vocabulary) == 3
    snapshot, blobs = tmp_path / "hub" / "snapshots" / "1f", tmp_path / "hub" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, file in enumerate(saved.iterdir()):
        file.rename(blobs / str(number))
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", str(number)))
    assert len(Model.load(snapshot).vocabulary) == 3


@pytest.mark.parametrize("name", ["config.json", "vocabulary.txt"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_refused_at_once(saved: Path, name: str) -> None:
    file = load_folder(saved).files.get(name, saved / name)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ModelError, match="missing or damaged"):
        Model.load(saved)
    file.unlink()
    file.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="missing or damaged"):
        Model.load(saved)


# ---- false sizes, types and numbers --------------------------------------------------------------------------


def tensor_file(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(shape: object, begin: object, end: object, dtype: object = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HOSTILE_TENSORS = {
    "huge": tensor_file({"a": tensor([2**40], 0, 2**42)}),
    "product that overflows to nothing": tensor_file({"a": tensor([2**32, 2**32], 0, 0)}),
    "product that overflows to little": tensor_file({"a": tensor([2**62 + 1], 0, 4)}, b"1234"),
    "beyond 64 bits": tensor_file({"a": tensor([2**64 + 1], 0, 4)}, b"1234"),
    "negative": tensor_file({"a": tensor([-1, -1], 0, 4)}, b"1234"),
    "negative place": tensor_file({"a": tensor([1], -4, 0)}, b"1234"),
    "backwards": tensor_file({"a": tensor([1], 4, 0)}, b"1234"),
    "overlapping": tensor_file({"a": tensor([2], 0, 8), "b": tensor([2], 4, 12)}, b"123456789012"),
    "the same twice": tensor_file({"a": tensor([1], 0, 4), "b": tensor([1], 0, 4)}, b"1234"),
    "gap": tensor_file({"a": tensor([1], 4, 8)}, b"12345678"),
    "into the header": tensor_file({"a": tensor([1], -8, -4)}, b"1234"),
    "fractions": tensor_file({"a": tensor([1.0], 0, 4)}, b"1234"),
    "not a number": tensor_file(b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 4]}}', b"1234"),
    "truth": tensor_file({"a": tensor([True], 0, 4)}, b"1234"),
    "many axes": tensor_file({"a": tensor([1] * 100_000, 0, 4)}, b"1234"),
    "a type of objects": tensor_file({"a": tensor([1], 0, 8, "O")}, b"12345678"),
    "a list for a type": tensor_file({"a": tensor([1], 0, 4, ["F32"])}, b"1234"),
    "deep": tensor_file(b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "long numbers": tensor_file(b'{"a": {"dtype": "U8", "shape": [' + b"9" * 100_000 + b'], "data_offsets": [0, 4]}}'),
    "doubled": tensor_file(b'{"a": 1, "a": 2}'),
}


@pytest.mark.parametrize("content", HOSTILE_TENSORS.values(), ids=HOSTILE_TENSORS)
def test_tables_with_false_headers_are_refused_before_memory_is_allocated(saved: Path, content: bytes) -> None:
    Model.load(saved)  # imports what loading needs, so that modules are not counted
    replace_file(saved, "model.safetensors", content)
    tracemalloc.start()
    with pytest.raises(ModelError):
        Model.load(saved)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000 + 100 * len(content)
    with pytest.raises(ModelError):
        read_tensors(next(saved.glob("model*")))


@pytest.mark.parametrize("ids", [np.zeros((1, 4), np.uint32), np.zeros(4, np.float64), np.zeros(4, np.uint64)])
def test_buckets_of_another_type_or_shape_are_refused(saved: Path, ids: Any) -> None:
    tensors, _ = read_tensors(load_folder(saved).files["model.safetensors"])
    posvec.storage.safetensors.write_tensors(saved.parent / "t", {**tensors, "bucket_ids": ids})
    replace_file(saved, "model.safetensors", (saved.parent / "t").read_bytes())
    with pytest.raises(ModelError, match="bucket_ids is missing or is not uint32"):
        Model.load(saved)


def test_a_model_that_claims_many_buckets_allocates_no_memory_for_them(saved: Path) -> None:
    rewrite(saved, lambda config: config["settings"]["subwords"].update(buckets=2**26))
    code = """
import resource, sys, posvec
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = posvec.load(sys.argv[1])
try:
    model.vectors.table
except posvec.PosvecError:
    pass
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
"""
    subprocess.run([sys.executable, "-c", code, str(saved)], check=True)


HEAD = '{"format": "posvec vocabulary", "version": 1, "words": %d, "total_words": 20, "settings": {}}\n'
HOSTILE_VOCABULARIES = {
    "doubled words": HEAD % 2 + "a\t3\na\t2\n",
    "doubled by an escape": HEAD % 2 + "a\\tb\t3\na\\tb\t2\n",
    "more words promised": HEAD % 10**9 + "a\t3\n",
    "fewer words promised": HEAD % 1 + "a\t3\nb\t2\n",
    "no words": HEAD % 0,
    "a count beyond 64 bits": HEAD % 1 + f"a\t{2**63}\n",
    "counts that overflow": HEAD % 3 + f"a\t{2**62}\nb\t{2**62}\nc\t{2**62}\n",
    "differences that overflow": HEAD % 2 + f"a\t-{2**62}\nb\t{2**62}\n",
    "a long number": HEAD % 1 + "a\t" + "9" * 100_000 + "\n",
    "deep": "[" * 100_000 + "\n",
    "infinite": HEAD.replace("20", "1e999") % 1 + "a\t3\n",
    "not a number": HEAD.replace("20", "NaN") % 1 + "a\t3\n",
    "unknown settings": HEAD.replace("{}", '{"__class__": 1}') % 1 + "a\t3\n",
    "settings of another type": HEAD.replace("{}", "[1]") % 1 + "a\t3\n",
}


@pytest.mark.parametrize("text", HOSTILE_VOCABULARIES.values(), ids=HOSTILE_VOCABULARIES)
def test_invalid_vocabularies_are_refused(saved: Path, text: str) -> None:
    replace_file(saved, "vocabulary.txt", text.encode())
    with pytest.raises(ModelError):
        Model.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"report": {"epochs": "abc", "before": {}}},
        {"report": [1]},
        {"state": {"before": {"counting": "soon"}}},
        {"settings": {"model": {"dim": float("nan")}}},
        {"settings": {"model": {"dim": 2**70}}},
        {"settings": {"model": {"dim": "4"}}},
        {"settings": {"nothing": {}}},
        {"settings": 5},
        {"compression": {"codes": ["int8"], "pruned": 0}},
        {"files": {}},
        {"files": {"model.safetensors": {"name": ["x"]}}},
    ],
    ids=str,
)
def test_a_config_with_impossible_values_is_refused(saved: Path, change: dict[str, Any]) -> None:
    rewrite(saved, lambda config: config.update(change))
    with pytest.raises(PosvecError):
        Model.load(saved)


def test_a_report_with_invalid_numbers_is_refused(saved: Path, tmp_path: Path) -> None:
    posvec.train(["a b c d e"] * 50, min_count=1, dim=4, sample=0.0).save(tmp_path / "trained")
    rewrite(tmp_path / "trained", lambda config: config["report"].update(seconds="soon"))
    with pytest.raises(ModelError, match="seconds is 'soon'"):
        Model.load(tmp_path / "trained")


# ---- decompression and long input --------------------------------------------------------------------------------

COMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.compressobj(9, wbits=31),
    ".bz2": bz2.BZ2Compressor,
    ".xz": lambda: lzma.LZMACompressor(preset=0),
    ".zst": lambda: zstandard.ZstdCompressor().compressobj(),
}


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Compressed files of 200 MB, each a single line with few words."""
    folder = tmp_path_factory.mktemp("bombs")
    block = (b"word" + b" " * 99_996) * 10
    for ending, make in COMPRESSORS.items():
        stream = make()
        with (folder / f"bomb{ending}").open("wb") as file:
            for _ in range(200):
                file.write(stream.compress(block))
            file.write(stream.flush())
        assert (folder / f"bomb{ending}").stat().st_size < 1_000_000
    return {ending: folder / f"bomb{ending}" for ending in COMPRESSORS}


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_a_compressed_corpus_of_one_line_of_hundreds_of_megabytes_takes_little_memory(
    bombs: dict[str, Path], ending: str, tmp_path: Path
) -> None:
    code = """
import resource, sys
from posvec.corpus.sources import open_corpus
from posvec.corpus.encoding import encode
from posvec.vocabulary import Vocabulary
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
corpus = open_corpus(sys.argv[1])
vocabulary = Vocabulary.count(corpus, threads=2)
encoded = encode(corpus, vocabulary, threads=2)
assert vocabulary.counts.tolist() == [2000] and encoded.tokens == 2000
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
"""
    environment = {**os.environ, "POSVEC_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", code, str(bombs[ending])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 120


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_files_that_are_loaded_at_once_are_refused_beyond_the_decompression_limit(
    bombs: dict[str, Path], ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MAX_EXPANDED", 10_000_000)
    monkeypatch.setattr(files, "_MAX_EXPANSION", 5)
    for read in (
        read_file,
        read_pairs,
        lambda path: load_model_or_vectors(path, "glove"),
        lambda path: load_model_or_vectors(path, "word2vec-bin"),
    ):
        with pytest.raises(CorpusError, match="exceeds the decompression limit"):
            read(bombs[ending])


def test_lines_of_a_million_words_are_trained_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSVEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "line").write_bytes(b" ".join(b"w%d" % (i * i % 97) for i in range(1_000_000)))
    code = """
import sys, posvec
model = posvec.train(sys.argv[1], "positional", dim=8, positional_dim=8, epochs=1, threads=2, window=5)
assert model.report.tokens == 1_000_000 and 10 <= model.report.lines <= 12, model.report.lines
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "line")], check=True)


def test_xz_that_requests_gigabytes_is_refused(tmp_path: Path) -> None:
    small = lzma.compress(b"a text\n" * 100)
    # Set the dictionary size in the block header to a gigabyte, and correct the checksum.
    begin, size = 12, (small[12] + 1) * 4
    block = bytearray(small[begin : begin + size - 4])
    block[block.index(b"\x21\x01") + 2] = 36
    bomb = small[:begin] + bytes(block) + zlib.crc32(block).to_bytes(4, "little") + small[begin + size :]
    (tmp_path / "a.xz").write_bytes(bomb)
    with pytest.raises(CorpusError, match="Memory usage limit exceeded"):
        read_file(tmp_path / "a.xz")


def test_a_dump_whose_page_never_ends_is_refused(tmp_path: Path) -> None:
    from posvec.datasets.wikipedia import dump_events

    with gzip.open(tmp_path / "dump.gz", "wb", 1) as file:
        file.write(b"<mediawiki><page><text>")
        for _ in range(40):
            file.write(b"word " * 200_000)
    with pytest.raises(CorpusError, match="no page ends"):
        list(dump_events(tmp_path / "dump.gz", lambda read: None))


def test_exponentially_growing_entities_are_refused(tmp_path: Path) -> None:
    from posvec.datasets.wikipedia import dump_events

    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 20 if i else "lol" * 20}">' for i in range(9))
    (tmp_path / "dump.xml").write_text(f"<!DOCTYPE m [{entities}]><mediawiki>&e8;</mediawiki>")
    with pytest.raises(CorpusError, match="damaged or not a Wikipedia dump"):
        list(dump_events(tmp_path / "dump.xml", lambda read: None))


def test_markup_that_takes_too_long_costs_only_its_page(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("wikitextparser")
    from posvec.datasets import wikitext

    monkeypatch.setattr(wikitext, "_CPU_SECONDS", 0.5)
    wikitext.serve([json.dumps([["<!--" * 200_000, "A '''good''' page."], ["Category"]])])
    assert json.loads(capsys.readouterr().out) == [["A good page."], 1]
