"""Write the golden files of this version: a few kilobytes of every kind of model and file that posvec writes.

    python tests/golden/make.py

They are written to tests/golden/VERSION, and those of models with two heads to tests/golden/VERSION-heads, with the
results of queries on each of them in expected.json. tests/storage/test_golden.py opens the files of every version. A
folder that exists is left as it is: files of a released version are never written again.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import posvec
from posvec.evaluation.compression import compress_model
from posvec.formats import FORMATS, load_model_or_vectors, write_vectors
from posvec.storage.quantization import QUANTIZATIONS

HERE = Path(__file__).parent
SETTINGS: dict[str, Any] = {
    "dim": 4, "window": 2, "min_count": 1, "sample": 0.0, "buckets": 60, "max_n": 4, "epochs": 3, "threads": 1,
    "initial_lr": 0.1, "negatives": 3,
}  # fmt: skip
KNOWN, UNKNOWN, SENTENCE = "karan", "karandun", "karan [MASK] lotek"
CHECKPOINT = "checkpoint"
KINDS = ("general", "subword", "positional", "constrained")
HEADS = "two-heads"


class Golden(NamedTuple):
    """The files of one folder."""

    kinds: tuple[str, ...]
    compressed: str
    """The kind that is compressed, and that is saved as a checkpoint."""
    converted: str
    """The kind that is written in the formats of other programs."""
    settings: dict[str, Any]


FOLDERS = {
    "": Golden(KINDS, "constrained", "subword", SETTINGS),
    "-heads": Golden((HEADS,), HEADS, HEADS, {**SETTINGS, "dim": 20}),  # W = 16
}
"""What is written, by the end of the folder's name."""


def main() -> None:
    missing = {HERE / f"{posvec.__version__}{end}": golden for end, golden in FOLDERS.items()}
    missing = {folder: golden for folder, golden in missing.items() if not folder.exists()}
    if not missing:
        sys.exit(f"all files of {posvec.__version__} exist; if it has not been released, remove them first")
    for folder, golden in missing.items():
        write_folder(folder, golden)


def write_folder(folder: Path, golden: Golden) -> None:
    folder.mkdir()
    for kind in golden.kinds:
        posvec.train(sentences(), kind, **golden.settings, output=folder / kind)
    whole, converted = folder / golden.compressed, folder / golden.converted
    for method in (*QUANTIZATIONS, "prune"):
        compress_model(whole, folder / method, method, **({"buckets": 5} if method == "prune" else {}))
    compress_model(converted, folder / "vectors-only", "int8", vectors_only=True)
    model = posvec.load(converted)
    for name, format in FORMATS.items():
        if name != "posvec":
            write_vectors(folder / f"{name}{format.extension}", model, name)
    make_checkpoint(folder / CHECKPOINT, golden)
    expected = {path.name: answers(path) for path in sorted(folder.iterdir())}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


def sentences() -> list[list[str]]:
    """A fixed corpus of tokens, because tokenizing text depends on the Unicode version of Python."""
    words = ["karan", "lotek", "mimol", "nebis", "sudun", "tatek"]
    draw = random.Random(1)
    return [[words[int(draw.random() * 6)] for _ in range(8)] for _ in range(100)]


def make_checkpoint(path: Path, golden: Golden) -> None:
    class Interrupter:
        def on_chunk(self, progress: object) -> None: ...

        def on_epoch(self, progress: Any) -> None:
            signal.raise_signal(signal.SIGINT)

    try:
        posvec.train(sentences(), golden.compressed, **golden.settings, output=path, callbacks=[Interrupter()])
    except KeyboardInterrupt:
        return
    raise SystemExit("training was not interrupted")


def answers(path: Path) -> dict[str, Any]:
    """The results of queries on a file or folder."""
    loaded = load_model_or_vectors(path)
    # Not weighted: the weights of the heads are constants of queries, which may change, and not part of the file.
    vectors = (loaded.vectors if isinstance(loaded, posvec.Model) else loaded).unweighted
    found: dict[str, Any] = {
        "words": list(vectors.index_to_key),
        "known": vectors[KNOWN].tolist(),
        "nearest": [[each.word, each.similarity] for each in vectors.most_similar(KNOWN, topn=3)],
    }
    if vectors.has_vector(UNKNOWN):
        found["unknown"] = vectors[UNKNOWN].tolist()
    if isinstance(loaded, posvec.Model):
        found["kind"] = loaded.config.kind
        found["counts"] = loaded.vocabulary.counts.tolist()
        found["positional"] = loaded.positional_vectors.tolist()
        if loaded.has_outputs:
            # Version 0.1.0 weighted context words equally, and ranked words by the score.
            masked = loaded.predict_masked(SENTENCE, topn=3, weighting="equal", ranking="paper")
            found["masked"] = [[each.word, each.score] for each in masked]
        if loaded.state:
            found["state"] = [loaded.state.blocks_done, loaded.state.words]
    return found


if __name__ == "__main__":
    main()
