"""posvec and gensim on the same tokenized text, same settings, alternating; writes a table of ratios and accuracies.

    python benchmarks/training.py TOKENIZED_TEXT DATA [--rounds 3] [-o benchmarks/results/training]

TOKENIZED_TEXT has one line per sentence, tokens separated by spaces; DATA has analogy/ and similarity/ (see
benchmarks/README.md). Each run is a process of its own (benchmarks/contestant.py), each round has a seed of its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

CONTESTANTS = ["gensim-subword", "posvec-subword", "posvec-constrained", "posvec-positional", "posvec-general"]
MEASURES = ["analogies", "WS-353", "SimLex", "RW", "MTurk"]
HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS[:3], choices=CONTESTANTS)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "training")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.output.with_suffix(".jsonl")
    lines.write_text("")
    runs = []
    for seed in range(1, arguments.rounds + 1):
        for trainer in arguments.contestants:
            command = [sys.executable, HERE / "contestant.py", trainer, str(seed), arguments.corpus, arguments.data]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{trainer}, seed {seed}: {done.stderr}")
            print(done.stdout.strip(), flush=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
            with lines.open("a") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    arguments.output.with_suffix(".md").write_text(report(runs, arguments))


def report(runs: list[dict[str, float]], arguments: argparse.Namespace) -> str:
    base = arguments.contestants[0]
    by_trainer = {name: [run for run in runs if run["trainer"] == name] for name in arguments.contestants}

    def cell(name: str, key: str, form: Callable[[float], str]) -> str:
        values = [run[key] for run in by_trainer[name]]
        spread = f" ({form(min(values))}–{form(max(values))})" if len(values) > 1 else ""
        return form(statistics.mean(values)) + spread

    def ratio(name: str) -> str:
        pairs = zip(by_trainer[name], by_trainer[base], strict=True)
        ratios = [one["words_per_second"] / other["words_per_second"] for one, other in pairs]
        return f"{statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})"

    head = ["trainer", "words/s", f"of {base}", "peak MB", *MEASURES]
    rows = [
        [
            name,
            cell(name, "words_per_second", lambda x: f"{x / 1000:,.0f}k"),
            ratio(name),
            cell(name, "peak_mb", lambda x: f"{x:,.0f}"),
            *(cell(name, measure, lambda x: f"{x:.1f}") for measure in MEASURES),
        ]
        for name in arguments.contestants
    ]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    extra = "\n".join(
        f"- {name}: tables {run['tables_mb']:,.0f} MB, mapped corpus {run['corpus_mb']:,.0f} MB, peak while training "
        f"{run['training_peak_mb']:,.0f} MB; {run['kept_tokens_per_line']:.1f} kept tokens per line, "
        f"{run['rows_per_kept_token']:.1f} rows per kept token; counting {run['counting_seconds']:.1f} s, encoding "
        f"{run['encoding_seconds']:.1f} s; loss {run['loss']:.3f}"
        for name in arguments.contestants
        if (run := by_trainer[name][0]) and "loss" in run
    )
    return f"""# Training, side by side

Mean over {arguments.rounds} rounds, one seed each, contestants alternating; in parentheses lowest and highest. Words/s
of training alone, without counting; ratios are medians of the ratios within each round. D = 300, 3–6-grams, 2M buckets,
10 negatives, r = 1e-5, min_count 5, one epoch, 2 threads; subword c = 5, constrained c = 15 and D′ = 60.

{table}

{extra}

Analogies: percent right of Google's questions, 3CosAdd over the 200,000 most frequent words. Others: Spearman's ρ ×
100, out-of-vocabulary words through their subwords.

gensim in `corpus_file` mode lets each of its W workers compare its own share of the text with the whole: the learning
rate falls from 0.05 to 0.05 (1 − 1/W), not to 0. With 2 workers that is 0.025.

Made by `python benchmarks/training.py TOKENIZED_TEXT DATA --rounds {arguments.rounds}` with posvec {version("posvec")}
({commit()}), gensim {version("gensim")}, numpy {version("numpy")}, Python {platform.python_version()}, on {cpu()}.
"""


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    )
    return done.stdout.strip() or "no commit"


def cpu() -> str:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()


if __name__ == "__main__":
    main()
