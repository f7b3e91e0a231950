"""Settings of the constrained model for small corpora: trains it with several and writes a table of accuracies.

    python benchmarks/small.py TEXT DATA [-o results/benchmarks/small.md]

TEXT is a corpus of a few million words; DATA has analogy/ and similarity/ (see benchmarks/README.md).
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import posvec
from contestant import accuracy, lookup_in
from one_epoch import one_epoch
from reporting import RESULTS

SETTINGS: list[dict[str, Any]] = [
    {},
    {"sample": 1e-4, "min_count": 3, "dim": 100, "epochs": 5},
    {"sample": 1e-4, "min_count": 3, "dim": 100, "epochs": 10},
    {"sample": 1e-3, "min_count": 3, "dim": 100, "epochs": 10},
    {"sample": 1e-4, "min_count": 3, "dim": 100, "epochs": 10, "final_lr_ratio": 0.0},
    {"sample": 1e-4, "min_count": 3, "dim": 200, "epochs": 10},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "small.md")
    arguments = parser.parse_args()
    rows = []
    for settings in SETTINGS:
        model = posvec.train(arguments.corpus, "constrained", **{**one_epoch("constrained"), **settings})
        assert model.report is not None
        scores = accuracy(arguments.data, model.vocabulary.words, model.vectors.table, lookup_in(model))
        if not rows:
            rows.append(["settings", "seconds", *scores, "mean"])
            rows.append(["---"] * len(rows[0]))
        named = (
            ", ".join(f"{name} {value:g}" for name, value in settings.items()) or "one epoch, sample 1e-5, min_count 5"
        )
        values = [
            f"{value:.1f}" for value in (model.report.seconds, *scores.values(), statistics.mean(scores.values()))
        ]
        rows.append([named, *values])
        print(rows[-1], flush=True)
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(
        f"""# Settings for small corpora

The constrained model on {model.report.tokens:,} words. Analogies: percentage correct of the questions whose words are
all in the vocabulary; others: Spearman's ρ × 100; one seed each.

{table}

Made by `python benchmarks/small.py TEXT DATA`.
"""
    )


if __name__ == "__main__":
    main()
