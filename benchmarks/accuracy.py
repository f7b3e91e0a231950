"""Accuracy and memory of posvec and gensim on the same tokenized text under the same settings, several seeds each.

    python benchmarks/accuracy.py TOKENIZED_TEXT DATA [--seeds 3] [-o results/benchmarks/accuracy]

TOKENIZED_TEXT has one line per sentence, tokens separated by spaces; DATA has analogy/ and similarity/ (see
benchmarks/README.md). Each run is a separate process (benchmarks/contestant.py); runs that are in OUTPUT.jsonl
already are not repeated. For speed see benchmarks/speed.py.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from contestant import THREADS
from reporting import HERE, RESULTS, commit, cpu, write
from runs import Run, keep_run, read_runs, run_process

CONTESTANTS = ["gensim-subword", "posvec-subword", "posvec-constrained"]
MEASURES = ["analogies", "WS-353", "SimLex", "RW", "MTurk"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "accuracy")
    arguments = parser.parse_args()
    lines = arguments.output.with_suffix(".jsonl")
    runs = read_runs(lines)
    done = {(run["trainer"], run["seed"]) for run in runs}
    for seed in range(1, arguments.seeds + 1):
        for trainer in CONTESTANTS:
            if (trainer, seed) not in done:
                runs.append(keep_run(lines, run(trainer, seed, arguments.corpus, arguments.data)))
    write(arguments.output.with_suffix(".md"), report(runs, arguments))


def run(trainer: str, seed: int, corpus: Path, data: Path) -> Run:
    command = [sys.executable, HERE / "contestant.py", trainer, str(seed), corpus, data]
    return run_process(command, f"{trainer}, seed {seed}")


def report(runs: list[dict[str, Any]], arguments: argparse.Namespace) -> str:
    by_trainer = {name: [run for run in runs if run["trainer"] == name] for name in CONTESTANTS}

    def cell(name: str, key: str, form: Callable[[float], str]) -> str:
        values = [run[key] for run in by_trainer[name]]
        return f"{form(statistics.mean(values))} ({form(min(values))}–{form(max(values))})"

    head = ["trainer", *MEASURES, "peak MB"]
    rows = [
        [
            name,
            *(cell(name, measure, lambda x: f"{x:.1f}") for measure in MEASURES),
            cell(name, "peak_mb", lambda x: f"{x:,.0f}"),
        ]
        for name in CONTESTANTS
    ]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    extra = "\n".join(
        f"- {name}: tables {run['tables_mb']:,.0f} MB, mapped corpus {run['corpus_mb']:,.0f} MB, peak while training "
        f"{run['training_peak_mb']:,.0f} MB; {run['kept_tokens_per_line']:.1f} kept tokens per line, "
        f"{run['rows_per_kept_token']:.1f} rows per kept token; loss {run['loss']:.3f}"
        for name in CONTESTANTS
        if (run := by_trainer[name][0]) and "loss" in run
    )
    return f"""# Accuracy and memory

Mean over {arguments.seeds} seeds, lowest and highest in parentheses. D = 300, 3–6-grams, 2M buckets, 10 negatives, r =
1e-5, min_count 5, one epoch, {THREADS} threads; subword c = 5, constrained c = 15 and D′ = 60; otherwise the defaults
of each program.

{table}

{extra}

Analogies: percentage of correct answers to Google's questions, 3CosAdd over the 200,000 most frequent words. Others:
Spearman's ρ × 100, out-of-vocabulary words through their subwords. gensim stores all 2M buckets, posvec those in use.

In `corpus_file` mode, each of gensim's W workers compares its own progress with the whole text: the learning rate falls
from 0.05 to 0.05 (1 − 1/W), with 2 workers to 0.025, and not to 0. posvec's falls from 0.07 to 0.15 of it, in models
with positions to 0.1 of it. With gensim's rates, posvec's subword model had 38.7, 62.5, 24.0, 37.9 and 55.1 in the five
tests, less than gensim in SimLex and RW; its constrained model had 37.9, 67.4, 24.1, 39.6 and 57.9 (3 seeds, commit
820fd62).

Made by `python benchmarks/accuracy.py TOKENIZED_TEXT DATA --seeds {arguments.seeds}` with posvec {version("posvec")}
({commit()}), gensim {version("gensim")}, numpy {version("numpy")}, Python {platform.python_version()}, on {cpu()}.
"""


if __name__ == "__main__":
    main()
