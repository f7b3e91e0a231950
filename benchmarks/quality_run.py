"""One run of benchmarks/quality.py in a separate process: trains, measures, and prints a line of JSON.

    python benchmarks/quality_run.py TASK TEXT TOKENS DATA WORK

TASK is JSON with trainer, name, words, seed and settings; TEXT is the text, TOKENS the same with its tokens separated
by spaces. posvec gets the text, the others the tokens, and the time of tokenizing is not counted for them. gensim reads
them by iterator, because with its corpus_file the learning rate does not fall to min_alpha.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import posvec
from contestant import SIMILARITY, THREADS
from development import GROUPS, PAIRS, group_accuracy
from posvec import WordVectors
from posvec.evaluation import analogy, similarity
from posvec.evaluation.analogy import AnalogyResult
from reporting import commit, cpu

Settings = dict[str, Any]
PACKAGES = {"posvec": "posvec", "gensim": "gensim", "fasttext": "fasttext"}

GENSIM_SETTINGS = [
    "vector_size", "window", "min_count", "sample", "negative", "alpha", "min_alpha", "epochs", "sg", "hs", "cbow_mean",
    "ns_exponent", "workers", "seed",
]  # fmt: skip


class Trained(NamedTuple):
    """What is computed only after time and memory of training were measured is a function."""

    vectors: Callable[[], WordVectors]
    training_seconds: Callable[[], float]  # without counting words and allocating tables
    all_settings: Settings  # also those that were not given


class Task(NamedTuple):
    trainer: str
    name: str
    words: int
    seed: int
    settings: Settings


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    text, tokens, data, work = map(Path, sys.argv[2:])
    program, _, kind = task.trainer.partition("-")
    with tempfile.TemporaryDirectory(dir=work) as folder:
        os.environ["POSVEC_CACHE"] = folder  # every run counts and encodes the words itself
        load = os.getloadavg()[0]
        wall, cpu_before = time.monotonic(), time.process_time()
        trained = TRAINERS[program](task, kind, text if program == "posvec" else tokens)
        result = {
            **task._asdict(),
            "seconds": time.monotonic() - wall,
            "cpu_seconds": time.process_time() - cpu_before,
            "load_before": load,
            "threads": THREADS,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        result["training_seconds"] = trained.training_seconds()
        result |= quality(trained.vectors(), data)
    package = PACKAGES[program]
    result |= {
        "all_settings": trained.all_settings,
        "versions": f"{package} {version(package)}, numpy {version('numpy')}, Python {platform.python_version()}",
        "commit": commit(),
        "cpu": cpu(),
    }
    print(json.dumps(result), flush=True)


def train_posvec(task: Task, _: str, text: Path) -> Trained:
    model = posvec.train(text, seed=task.seed, threads=THREADS, **task.settings)
    assert model.report is not None
    seconds = model.report.seconds
    return Trained(lambda: model.vectors, lambda: seconds, model.config.to_dict())


class Sentences:
    """The lines of a tokenized text as lists of tokens, any number of times."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[list[str]]:
        with self.path.open(encoding="utf-8") as lines:
            yield from map(str.split, lines)


def train_gensim(task: Task, kind: str, tokens: Path) -> Trained:
    from gensim.models import FastText, Word2Vec

    from posvec.interop.gensim import from_gensim

    sentences = Sentences(tokens)
    program = FastText if kind == "fasttext" else Word2Vec
    model = program(sg=int(kind == "skipgram"), seed=task.seed, workers=THREADS, **task.settings)
    model.build_vocab(sentences)
    started = time.monotonic()
    model.train(sentences, total_examples=model.corpus_count, epochs=model.epochs)
    seconds = time.monotonic() - started
    used = {name: getattr(model, name) for name in GENSIM_SETTINGS}
    if kind == "fasttext":
        used |= {name: getattr(model.wv, name) for name in ("min_n", "max_n", "bucket")}
    return Trained(lambda: from_gensim(model), lambda: seconds, used)


def train_fasttext(task: Task, kind: str, tokens: Path) -> Trained:
    """fastText counts, allocates and trains in one call: the time without training is that of a call with 0 epochs."""
    from fasttext import FastText

    # train_unsupervised takes no seed, but uses that of its defaults.
    FastText.unsupervised_default["seed"] = task.seed
    given = {"model": kind, "thread": THREADS, "verbose": 0, **task.settings}

    def seconds_of(**changed: Any) -> tuple[float, Any]:
        started = time.monotonic()
        model = FastText.train_unsupervised(str(tokens), **(given | changed))
        return time.monotonic() - started, model

    seconds, model = seconds_of()

    def vectors() -> WordVectors:
        with tempfile.TemporaryDirectory(dir=os.environ["POSVEC_CACHE"]) as folder:
            path = Path(folder) / "model.bin"
            model.save_model(str(path))
            return posvec.load_vectors(path)

    return Trained(vectors, lambda: seconds - seconds_of(epoch=0)[0], FastText.unsupervised_default | given)


TRAINERS: dict[str, Callable[[Task, str, Path], Trained]] = {
    "posvec": train_posvec,
    "gensim": train_gensim,
    "fasttext": train_fasttext,
}


def quality(vectors: WordVectors, data: Path) -> dict[str, Any]:
    """All measures of word vectors, in percent; out-of-vocabulary words have vectors from their n-grams if possible.

    Questions and pairs with a word without a vector are left out. "correct of all" counts such questions as wrong, and
    "(all pairs)" gives such pairs the cosine 0.
    """
    answered = analogy.evaluate(vectors, data / "analogy/en/questions-words.txt")
    developed = analogy.evaluate(vectors, PAIRS)
    measures: dict[str, Any] = {
        "vocabulary": len(vectors.index_to_key),
        "analogies": 100 * answered.accuracy,
        **{str(group.kind): _percent(group.accuracy) for group in answered.groups},
        "correct of all": 100 * answered.correct / (answered.total + answered.skipped),
    }
    for name, file in SIMILARITY.items():
        (pairs,) = similarity.evaluate(vectors, data / f"similarity/EN-{file}.txt").files
        measures[name] = 100 * pairs.spearman
        measures[f"{name} (all pairs)"] = 100 * similarity.spearman(pairs.scores, np.nan_to_num(pairs.cosines))
        measures[f"{name} coverage"] = pairs.coverage
    measures |= {group: _percent(group_accuracy(developed, letter)) for letter, group in GROUPS.items()}
    return measures | {"sections": _sections(answered) | _sections(developed)}


def _percent(accuracy: float | None) -> float | None:
    return None if accuracy is None else 100 * accuracy


def _sections(result: AnalogyResult) -> dict[str, list[int]]:
    """The numbers of correct, asked and left-out questions."""
    return {each.name: [each.correct, each.total, each.skipped] for each in result.sections}


if __name__ == "__main__":
    main()
