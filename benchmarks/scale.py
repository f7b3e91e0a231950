"""What workers of a cluster would send and hold: the plan of exchanges, worked out for many of them without training.

    python benchmarks/scale.py TOKENIZED_TEXT --speed WORDS_PER_SECOND [--threads 8] [--model subword]

WORDS_PER_SECOND is that of one thread, as benchmarks/distributed.py measures it for one worker. Numbers of bytes are
those that a run would report, with every row of a block counted as changed; the rest follows from them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import posvec
from posvec.distributed.options import Options
from posvec.distributed.plan import make_plan, tables
from posvec.pipeline import open_source, prepare

STRETCH = 20_000
WORKERS = (2, 4, 10, 100, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--speed", type=float, required=True)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--model", default="subword")
    arguments = parser.parse_args()
    config = posvec.make_config(arguments.model, tokenizer="whitespace")
    with open_source(arguments.corpus, config) as corpus:
        model = prepare(corpus, config)[0]
    size = sum(table.nbytes for table in tables(model))
    print(f"{len(model.vocabulary):,} words, {size / 1e9:.2f} GB of parameters")
    print(
        "| workers | threads each | words per round | s per round | hot rows | MB sent per round | Gbit/s per worker |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for workers in WORKERS:
        for threads in (1, arguments.threads):
            print(row(model, workers, threads, arguments.speed))


def row(model: posvec.Model, workers: int, threads: int, speed: float) -> str:
    options = Options()
    stretches = max(threads, round(options.sync_words / workers / STRETCH))
    words = workers * stretches * STRETCH
    plan = make_plan(model, words, options.sync_updates, workers)
    seconds = stretches * STRETCH / (threads * speed)
    exchanged = sum(block.bytes / block.period for block in plan.blocks)
    # A worker hands over its changes to all rows but those of its own blocks, and its own blocks to all others.
    sent = 2 * exchanged * (workers - 1) / workers
    hot = sum(block.rows for block in plan.blocks if block.hot)
    return (
        f"| {workers:,} | {threads} | {words:,} | {seconds:.3f} | {hot:,} | {sent / 1e6:.1f} "
        f"| {8 * sent / seconds / 1e9:.2f} |"
    )


if __name__ == "__main__":
    main()
