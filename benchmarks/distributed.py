"""Training on a Ray cluster compared with one process: words/s, accuracy, a killed worker. Runs alternate.

    python benchmarks/distributed.py TOKENIZED_TEXT DATA [--seeds 3] [--rounds 5] [-o results/benchmarks/distributed]

TOKENIZED_TEXT has one line per sentence, tokens separated by spaces; DATA has analogy/ and similarity/ (see
benchmarks/README.md). Accuracy and speed are measured on the whole text, speed in several rounds, around which the
number of available cores is measured (machine.py). Each run is a separate process with one thread per worker; runs that
are in OUTPUT.jsonl already are not repeated. The cost of an exchange, a constant time and a rate of bytes, is fitted to
runs with longer and shorter rounds on every 5th line of the text. scale.py extrapolates from these to many workers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from accuracy import MEASURES
from contestant import accuracy, lookup_in
from machine import OWN_CORES, probed
from reporting import RESULTS, made_by, spread, table, write
from runs import Run, keep_run, read_runs, run_process
from trainers import Sample

CONTESTANTS = {
    "alone": "one process",
    "apart": "two independent processes",
    "1": "1 worker",
    "2": "2 workers",
    "4": "4 workers",
    "2-killed": "2 workers, one killed",
}
TRAINED = ("alone", "2", "4", "2-killed")  # 1 worker gives the same model as one process, up to rounding
TIMED = ("1", "2")
REFERENCES = ("alone", "apart")  # measured in the first round only
EXCHANGING = ("2/40000", "2/80000", "2/150000", "2/300000", "4/300000")  # workers, and sync_words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--model", default="subword")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "distributed")
    parser.add_argument("--run", nargs=3, metavar=("TASK", "CONTESTANT", "NUMBER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        task, contestant, number = arguments.run
        print(json.dumps(TASKS[task](contestant, int(number), arguments)), flush=True)
        return
    lines = arguments.output.with_suffix(".jsonl")
    runs = read_runs(lines)
    done = {(run["task"], run["contestant"], run["number"]) for run in runs}
    with tempfile.TemporaryDirectory() as folder:
        part = Sample(Path(folder), arguments.corpus, arguments.every).text
        texts = {"accuracy": arguments.corpus, "speed": arguments.corpus, "exchanges": part}
        wanted = [("speed", name, 0) for name in REFERENCES if arguments.rounds]
        wanted += [("speed", name, number) for number in range(arguments.rounds) for name in TIMED]
        wanted += [("exchanges", name, 0) for name in EXCHANGING if arguments.rounds]
        wanted += [("accuracy", name, seed) for seed in range(1, arguments.seeds + 1) for name in TRAINED]
        for task, contestant, number in wanted:
            if (task, contestant, number) not in done:
                arguments.corpus = texts[task]
                new = run_process(command(task, contestant, number, arguments), f"{task} of {contestant}, {number}")
                runs.append(keep_run(lines, new))
    write(arguments.output.with_suffix(".md"), report(runs, arguments))


def command(task: str, contestant: str, number: int, arguments: argparse.Namespace) -> list[str | Path]:
    """The command that measures one contestant in a separate process."""
    shared = [sys.executable, __file__, arguments.corpus, arguments.data, "--model", arguments.model]
    return [*shared, "--run", task, contestant, str(number)]


def measure_accuracy(contestant: str, seed: int, arguments: argparse.Namespace) -> Run:
    model = train(contestant, seed, arguments)
    report = model.report
    assert report is not None
    cluster = report.cluster
    return {
        "task": "accuracy",
        "contestant": contestant,
        "number": seed,
        "loss": report.loss,
        "vocabulary": report.vocabulary,
        "gigabytes_sent": cluster.bytes_sent / 1e9 if cluster else 0.0,
        "staleness": list(cluster.staleness) if cluster else [0, 0],
        "replaced": cluster.replaced if cluster else 0,
        **accuracy(arguments.data, model.vocabulary.words, model.vectors.table, lookup_in(model)),
    }


def measure_speed(contestant: str, number: int, arguments: argparse.Namespace) -> Run:
    if contestant == "apart":  # the upper limit on this machine
        with ThreadPoolExecutor(2) as pool:
            alone = [command("speed", "alone", number, arguments)] * 2
            (one, other), cores = probed(lambda: list(pool.map(run_process, alone, ["one of two"] * 2)))
        together = one["words_per_second"] + other["words_per_second"]
        return one | {"contestant": contestant, "words_per_second": together, "cores": cores}
    model, cores = probed(lambda: train(contestant, 1, arguments))
    report = model.report
    assert report is not None
    return {
        "task": "speed",
        "contestant": contestant,
        "number": number,
        "words_per_second": report.words_per_second,
        "seconds": report.seconds,
        "waited": report.cluster.seconds_waited if report.cluster else 0.0,
        "cores": cores,
    }


def measure_exchanges(contestant: str, number: int, arguments: argparse.Namespace) -> Run:
    cluster = train(contestant, 1, arguments).report.cluster
    return {
        "task": "exchanges",
        "contestant": contestant,
        "number": number,
        "rounds": cluster.rounds,
        "seconds": cluster.seconds_waited / cluster.rounds,
        "megabytes": cluster.bytes_sent / cluster.workers / cluster.rounds / 1e6,
    }


TASKS = {"accuracy": measure_accuracy, "speed": measure_speed, "exchanges": measure_exchanges}


def train(contestant: str, seed: int, arguments: argparse.Namespace) -> Any:
    import posvec
    from one_epoch import one_epoch
    from posvec import distributed

    how: dict[str, Any] = {**one_epoch(arguments.model), "tokenizer": "whitespace", "threads": 1, "seed": seed}
    workers, _, more = contestant.partition("-")
    if workers == "alone":
        return posvec.train(arguments.corpus, arguments.model, **{**how, "threads": int(more or 1)})
    workers, _, words = workers.partition("/")
    if words:
        how |= {"sync_words": int(words), "warmup_words": 0}
    how["callbacks"] = [Killer()] if more else []
    return distributed.train(arguments.corpus, arguments.model, cluster="local", workers=int(workers), **how)


class Killer:
    """Kills a worker, by its process id, halfway through the text."""

    def __init__(self) -> None:
        self.killed = False

    def on_chunk(self, progress: Any) -> None:
        if progress.fraction > 0.5 and not self.killed:
            self.killed = True
            os.kill(_process_of_a_worker(), signal.SIGKILL)

    def on_epoch(self, progress: Any) -> None: ...


def _process_of_a_worker() -> int:
    """The process id of a worker, found by the name that Ray gives to its processes."""
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has just ended
            if status.read_bytes().startswith(b"ray::Worker"):
                return int(status.parent.name)
    sys.exit("no worker is running")


def report(runs: list[Run], arguments: argparse.Namespace) -> str:
    timed = [run for run in runs if run["task"] == "speed"]
    trained = [run for run in runs if run["task"] == "accuracy"]
    vocabularies = " or ".join(f"{size:,}" for size in sorted({run["vocabulary"] for run in trained}))
    seeds = len({run["number"] for run in trained})
    made = (
        f"python benchmarks/distributed.py TOKENIZED_TEXT DATA --model {arguments.model} --seeds {arguments.seeds} "
        f"--rounds {arguments.rounds} --every {arguments.every}"
    )
    return f"""# Training on a Ray cluster

All workers on one machine with 2 cores, one thread each, one epoch of the {arguments.model} model with the settings
of benchmarks/one_epoch.py.

## Speed

The whole text, {len({run["number"] for run in timed})} rounds in which runs alternate. Times are training times, from
initialized replicas to the combined model; the time in which a worker does not train counts as waiting. At times, both
CPUs of the machine share one core; “two cores” excludes runs before or after which they did. Median (lowest–highest);
ratios are between runs of the same round.

{speeds(timed)}

## Cost of an exchange

{exchanges([run for run in runs if run["task"] == "exchanges"])}

## Accuracy

The whole text, mean over {seeds} seeds (lowest–highest). 1 worker gives the same model as one process, up to rounding
(tests/distributed/test_distributed.py). 4 workers share 2 cores. The vocabulary had {vocabularies}
words in every run. In the runs of the last line, one of 2 workers was killed halfway (SIGKILL).

{accuracies(trained)}

Analogies: percentage of correct answers to Google's questions, 3CosAdd over the 200,000 most frequent words. Others:
Spearman's ρ × 100, out-of-vocabulary words through their subwords. Bytes went through shared memory. Staleness is the
number of words trained by others whose updates a worker has not received, for its most and least frequently used rows.

{made_by(made, "ray", "numpy")}"""


def speeds(runs: list[Run]) -> str:
    by_round = {(run["contestant"], run["number"]): run for run in runs}
    rows = []
    for name in (*REFERENCES, *TIMED):
        own = [run for run in runs if run["contestant"] == name]
        ratios, ratios_on_two = [], []
        for run in own:
            one = by_round.get(("1", run["number"]))
            if one:
                ratios.append(run["words_per_second"] / one["words_per_second"])
                if min(one["cores"], run["cores"]) >= OWN_CORES:
                    ratios_on_two.append(ratios[-1])
        waited = [run["waited"] / run["seconds"] for run in own]
        thousands = [run["words_per_second"] / 1000 for run in own]
        rows.append(
            [CONTESTANTS[name], spread(thousands, ",.0f"), spread(ratios), spread(ratios_on_two), spread(waited, ".0%")]
        )
    return table(["", "thousand words/s", "over 1 worker", "on two cores", "time waiting"], rows)


def exchanges(runs: list[Run]) -> str:
    """The time that a worker waits in a round as a linear function of the bytes it sends, fitted to two workers."""
    two = [run for run in runs if run["contestant"].startswith("2/")]
    if not two:
        return "Not measured."
    slope, wait = np.polyfit([run["megabytes"] for run in two], [run["seconds"] for run in two], 1)
    rows = [
        [
            *run["contestant"].split("/"),
            f"{run['rounds']:,}",
            f"{run['megabytes']:.1f}",
            f"{1000 * run['seconds']:.0f}",
            f"{1000 * (wait + slope * run['megabytes']):.0f}",
        ]
        for run in runs
    ]
    head = [
        "workers",
        "words between exchanges",
        "rounds",
        "MB sent per worker and round",
        "ms waited",
        "ms by the fit",
    ]
    return f"""One run each on a part of the text, without a warm-up by one worker; MB and ms are per round, and the
waiting time at the end is distributed among the rounds. Fitted to the runs with 2 workers: {1000 * wait:.0f} ms for
each round, and {1 / slope:,.0f} MB/s for the bytes that a worker sends, which are copied into and out of shared memory,
subtracted and added.

{table(head, rows)}"""


def accuracies(runs: list[Run]) -> str:
    rows = []
    for name in TRAINED:
        own = [run for run in runs if run["contestant"] == name]
        if own:
            rows.append([
                CONTESTANTS[name],
                *(mean([run[measure] for run in own]) for measure in MEASURES),
                f"{statistics.mean(run['loss'] for run in own):.3f}",
                f"{statistics.mean(run['gigabytes_sent'] for run in own):.1f}",
                "–".join(f"{words:,}" for words in own[0]["staleness"]),
                f"{sum(run['replaced'] for run in own)}",
            ])  # fmt: skip
    return table(["", *MEASURES, "loss", "GB sent", "staleness", "replaced"], rows)


def mean(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f} ({min(values):.1f}–{max(values):.1f})"


if __name__ == "__main__":
    main()
