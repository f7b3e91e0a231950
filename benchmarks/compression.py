"""Size and accuracy of a model under several compression methods.

    python benchmarks/compression.py MODEL DATA [-o results/benchmarks/compression.md]

DATA has analogy/ and similarity/ (see benchmarks/README.md).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from posvec.evaluation.compression import CompressionResult, compress_model
from reporting import RESULTS, commit, cpu

METHODS: dict[str, dict[str, Any]] = {
    "float16": {"method": "float16"},
    "int8": {"method": "int8"},
    "pq, 2 features per byte": {"method": "pq"},
    "pq, 4 features per byte, 100,000 n-gram rows": {"method": "pq", "sub_vector": 4, "buckets": 100_000},
    "the same, word vectors only": {"method": "pq", "sub_vector": 4, "buckets": 100_000, "vectors_only": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "compression.md")
    arguments = parser.parse_args()
    tests = {
        "questions": [arguments.data / "analogy/en/questions-words.txt"],
        "pairs": [arguments.data / f"similarity/EN-{name}.txt" for name in ("WS-353-ALL", "RW-STANFORD")],
    }
    rows = []
    for name, settings in METHODS.items():
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            result = compress_model(arguments.model, Path(folder) / "small", **settings, **tests)
            seconds = time.monotonic() - started
        if not rows:
            rows.append(["original", f"{result.bytes_before / 1e6:,.0f}", *quality(result, "before"), ""])
        rows.append([name, f"{result.bytes_after / 1e6:,.0f}", *quality(result, "after"), f"{seconds:.0f}"])
        print(rows[-1], flush=True)
    head = ["", "MB", "analogies %", "WS-353", "RW", "seconds, tests included"]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    arguments.output.write_text(f"""# Compressed models

A {result.words_before:,}-word subword model with {result.ngram_rows_before:,} n-gram rows. Analogies among the 200,000
most frequent words, Spearman's ρ × 100 with out-of-vocabulary words through their subwords.

{table}

Made by `python benchmarks/compression.py MODEL DATA` with posvec {version("posvec")} ({commit()}) on {cpu()}.
""")


def quality(result: CompressionResult, when: str) -> list[str]:
    return [f"{100 * getattr(score, when):.1f}" for score in result.scores]


if __name__ == "__main__":
    main()
