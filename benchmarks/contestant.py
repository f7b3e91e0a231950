"""One training run of one trainer in a separate process: prints a line of JSON with times, memory and accuracy.

    python benchmarks/contestant.py TRAINER SEED CORPUS DATA [SETTING=JSON ...]

TRAINER is gensim-subword, posvec-subword, ... ; CORPUS is tokenized text, one sentence per line; DATA has analogy/ and
similarity/. All train one epoch with D = 300, 3-6-grams, 2M buckets, 10 negatives, r = 1e-5, min_count 5, 2 threads.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 2
SIMILARITY = {"WS-353": "WS-353-ALL", "SimLex": "SIMLEX-999", "RW": "RW-STANFORD", "MTurk": "MTurk-771"}


def main() -> None:
    trainer, seed, corpus, data = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    result = {"trainer": trainer, "seed": seed}
    run = train_gensim if trainer == "gensim-subword" else train_posvec
    values, words, vectors, lookup = run(trainer, seed, corpus)
    result |= values
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result |= accuracy(data, words, vectors, lookup)
    print(json.dumps(result), flush=True)


Lookup = Callable[[str], "np.ndarray | None"]
Run = tuple[dict[str, float], list[str], np.ndarray, Lookup]


def train_gensim(_: str, seed: int, corpus: Path) -> Run:
    from gensim.models import FastText

    model = FastText(
        vector_size=300, window=5, min_count=5, sample=1e-5, negative=10, sg=0, alpha=0.05, min_alpha=0.0,
        workers=THREADS, bucket=2_000_000, min_n=3, max_n=6, epochs=1, seed=seed,
    )  # fmt: skip
    started = time.monotonic()
    model.build_vocab(corpus_file=str(corpus))
    counted = time.monotonic()
    model.train(
        corpus_file=str(corpus), total_words=model.corpus_total_words, total_examples=model.corpus_count, epochs=1
    )
    seconds = time.monotonic() - counted
    values = {
        "preparing_seconds": counted - started,
        "seconds": seconds,
        "words_per_second": model.corpus_total_words / seconds,
    }
    return values, model.wv.index_to_key, model.wv.vectors, lambda word: model.wv[word]


def train_posvec(trainer: str, seed: int, corpus: Path) -> Run:
    import posvec
    from one_epoch import one_epoch

    kind = trainer.split("-")[1]
    given = {name: json.loads(value) for name, value in (each.split("=") for each in sys.argv[5:])}
    settings = {**one_epoch(kind), **given}
    model = posvec.train(corpus, kind, tokenizer="whitespace", seed=seed, threads=THREADS, **settings)
    report = model.report
    assert report is not None
    tables = (model.input_vectors, model.output_vectors, model.positional_vectors)
    values = {
        "preparing_seconds": report.before.counting + report.before.encoding + report.before.initializing,
        "counting_seconds": report.before.counting,
        "encoding_seconds": report.before.encoding,
        "seconds": report.seconds,
        "words_per_second": report.words_per_second,
        "loss": report.loss,
        "kept_tokens_per_line": report.masked_words / report.lines,
        "rows_per_kept_token": float(
            np.average(
                np.diff(model.rows.row_begin.astype(np.int64)),
                weights=model.vocabulary.counts * model.vocabulary.keep_probabilities(),
            )
        ),
        "tables_mb": sum(len(table) * table.strides[0] for table in tables) / 2**20,
        "corpus_mb": report.tokens * 4 / 2**20,
        "training_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    return values, model.vocabulary.words, model.vectors.table, lookup_in(model)


def lookup_in(model: Any) -> Lookup:
    """The vector of a word of a posvec model, from its subwords if it is out of vocabulary, or None."""
    return lambda word: model.vectors[word] if word in model.vectors or model.vectors.oov(word) else None


def accuracy(data: Path, words: list[str], vectors: np.ndarray, lookup: Lookup) -> dict[str, float]:
    """Percent of Google's analogies (3CosAdd, 200,000 most frequent words) and Spearman's rho of similarity sets."""
    from posvec import WordVectors
    from posvec.evaluation import analogy

    answered = analogy.evaluate(WordVectors.from_table(words, vectors), data / "analogy/en/questions-words.txt")
    return {
        "analogies": 100 * answered.accuracy,
        **{name: similarity(data / f"similarity/EN-{file}.txt", lookup) for name, file in SIMILARITY.items()},
    }


def similarity(path: Path, lookup: Lookup) -> float:
    """Spearman's rho × 100, with the vectors that each trainer itself computes for out-of-vocabulary words."""
    from posvec.evaluation.questions import read_pairs
    from posvec.evaluation.similarity import spearman

    gold, ours = [], []
    for one, other, score in read_pairs(path)[0]:
        u, v = lookup(one.lower()), lookup(other.lower())
        if u is not None and v is not None:
            gold.append(score)
            ours.append(u @ v / max(np.linalg.norm(u) * np.linalg.norm(v), 1e-12))
    return 100 * spearman(np.array(gold), np.array(ours, np.float64))


if __name__ == "__main__":
    main()
