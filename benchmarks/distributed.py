"""Training on a Ray cluster beside one process: words/s, accuracy, a worker that is killed. Runs alternate.

    python benchmarks/distributed.py TOKENIZED_TEXT DATA [--seeds 3] [-o benchmarks/results/distributed]

TOKENIZED_TEXT has one line per sentence, tokens separated by spaces; DATA has analogy/ and similarity/ (see
benchmarks/README.md). Each run is a process of its own with one thread per worker; runs that OUTPUT.jsonl holds already
are not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import statistics
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accuracy import MEASURES
from contestant import accuracy, lookup_in
from reporting import RESULTS, commit, cpu, write
from runs import Run, keep_run, read_runs, run_apart

CONTESTANTS = ["alone", "1", "2", "4", "2-killed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default="subword")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "distributed")
    parser.add_argument("--run", nargs=2, metavar=("CONTESTANT", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(train(arguments.run[0], int(arguments.run[1]), arguments)), flush=True)
        return
    lines = arguments.output.with_suffix(".jsonl")
    runs = read_runs(lines)
    done = {(run["contestant"], run["seed"]) for run in runs}
    for seed in range(1, arguments.seeds + 1):
        for contestant in CONTESTANTS:
            if (contestant, seed) not in done:
                runs.append(keep_run(lines, run(contestant, seed, arguments)))
    write(arguments.output.with_suffix(".md"), report(runs, arguments))


def run(contestant: str, seed: int, arguments: argparse.Namespace) -> Run:
    command = [sys.executable, __file__, arguments.corpus, arguments.data, "--model", arguments.model]
    return run_apart([*command, "--run", contestant, str(seed)], f"{contestant}, seed {seed}")


def train(contestant: str, seed: int, arguments: argparse.Namespace) -> Run:
    import posvec
    from posvec import distributed

    how: dict[str, Any] = {"tokenizer": "whitespace", "threads": 1, "seed": seed}
    if contestant == "alone":
        model = posvec.train(arguments.corpus, arguments.model, **how)
    else:
        workers, _, killed = contestant.partition("-")
        callbacks = [Killer()] if killed else []
        model = distributed.train(
            arguments.corpus, arguments.model, cluster="local", workers=int(workers), callbacks=callbacks, **how
        )
    report = model.report
    assert report is not None
    cluster = report.cluster
    return {
        "contestant": contestant,
        "seed": seed,
        "words_per_second": report.words_per_second,
        "seconds": report.seconds,
        "loss": report.loss,
        "vocabulary": report.vocabulary,
        "rounds": cluster.rounds if cluster else 0,
        "gigabytes_sent": cluster.bytes_sent / 1e9 if cluster else 0.0,
        "waited": cluster.seconds_waited if cluster else 0.0,
        "staleness": list(cluster.staleness) if cluster else [0, 0],
        "replaced": cluster.replaced if cluster else 0,
        **accuracy(arguments.data, model.vocabulary.words, model.vectors.table, lookup_in(model)),
    }


class Killer:
    """Kills a worker, by its process id, halfway through the text."""

    def __init__(self) -> None:
        self.killed = False

    def on_block(self, progress: Any) -> None:
        if progress.share > 0.5 and not self.killed:
            self.killed = True
            os.kill(_process_of_a_worker(), signal.SIGKILL)

    def on_epoch(self, progress: Any) -> None: ...


def _process_of_a_worker() -> int:
    """As an operator finds it: Ray names its processes after what they do."""
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            if status.read_bytes().startswith(b"ray::Worker"):
                return int(status.parent.name)
    sys.exit("no worker is running")


def report(runs: list[dict[str, Any]], arguments: argparse.Namespace) -> str:
    by_name = {name: [run for run in runs if run["contestant"] == name] for name in CONTESTANTS}
    by_name = {name: found for name, found in by_name.items() if found}

    def mean(name: str, key: str) -> float:
        return statistics.mean(run[key] for run in by_name[name])

    def spread(name: str, key: str) -> str:
        values = [run[key] for run in by_name[name]]
        return f"{statistics.mean(values):.1f} ({min(values):.1f}–{max(values):.1f})"

    def ratio(name: str) -> str:
        """The median over seeds, each beside the run of one worker in the same round of runs."""
        one = {run["seed"]: run["words_per_second"] for run in by_name.get("1", [])}
        ratios = [run["words_per_second"] / one[run["seed"]] for run in by_name[name] if run["seed"] in one]
        return f"{statistics.median(ratios):.2f}" if ratios else ""

    titles = {"alone": "one process", "1": "1 worker", "2": "2 workers", "4": "4 workers", "2-killed": "2, one killed"}
    head = ["", "words/s", "beside 1 worker", *MEASURES, "loss", "GB sent", "s waited", "replaced"]
    rows = [
        [
            titles[name],
            f"{mean(name, 'words_per_second'):,.0f}",
            ratio(name),
            *(spread(name, measure) for measure in MEASURES),
            f"{mean(name, 'loss'):.3f}",
            f"{mean(name, 'gigabytes_sent'):.1f}",
            f"{mean(name, 'waited'):.1f}",
            f"{sum(run['replaced'] for run in by_name[name])}",
        ]
        for name in by_name
    ]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    vocabularies = " or ".join(f"{size:,}" for size in sorted({run["vocabulary"] for run in runs}))
    return f"""# Training on a Ray cluster

One thread per worker, all on one machine, one epoch of the {arguments.model} model with its default settings; mean over
{len(by_name["alone"])} seeds, in parentheses lowest and highest. 4 workers share its 2 cores: their speed says
nothing, their accuracy does. The vocabulary had {vocabularies} words in every run.

{table}

Analogies: percent right of Google's questions, 3CosAdd over the 200,000 most frequent words. Others: Spearman's ρ ×
100, out-of-vocabulary words through their subwords. Bytes went through shared memory.

Made by `python benchmarks/distributed.py TOKENIZED_TEXT DATA --seeds {arguments.seeds}` with posvec {version("posvec")}
({commit()}), Ray {version("ray")}, numpy {version("numpy")}, Python {platform.python_version()}, on {cpu()}.
"""


if __name__ == "__main__":
    main()
