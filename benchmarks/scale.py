"""What the workers of a cluster would send and hold: the exchange plan computed for many workers, without training.

    python benchmarks/scale.py TOKENIZED_TEXT --speed WORDS/S --wait SECONDS --rate MB/S [--threads 8] [--model subword]

WORDS/S is the speed of one thread, SECONDS the constant time of a round, and MB/S the rate at which a worker can send,
as benchmarks/distributed.py measures them; a slower network limits the rate. Bytes are those that a run would report if
all rows of a block had changed; the other figures follow from them. Workers are assumed not to train during an
exchange.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import posvec
from posvec.distributed.options import Options
from posvec.distributed.plan import make_plan
from posvec.training.pipeline import prepare
from posvec.training.sources import open_source
from posvec.training.tables import RowTables, training_tables
from reporting import table

CHUNK = 20_000
WORKERS = (2, 4, 10, 100, 1000)
NETWORKS = (10, 100)  # Gbit/s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--speed", type=float, required=True)
    parser.add_argument("--wait", type=float, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--model", default="subword")
    arguments = parser.parse_args()
    config = posvec.make_config(arguments.model, tokenizer="whitespace")
    with open_source(arguments.corpus, config) as corpus:
        model, _, _ = prepare(corpus, config)
    tables = training_tables(model).stored
    size = sum(table.nbytes for table in tables)
    print(f"{len(model.vocabulary):,} words, {size / 1e9:.2f} GB of parameters")
    head = ["workers", "threads each", "words per round", "s of training", "hot rows", "MB sent per worker"]
    head += [f"time training, {network} Gbit/s" for network in NETWORKS]
    print(table(head, [row(model, tables, n, each, arguments) for n in WORKERS for each in (1, arguments.threads)]))


def row(model: posvec.Model, tables: RowTables, workers: int, threads: int, arguments: argparse.Namespace) -> list[str]:
    options = Options(workers=workers)
    chunks = max(threads, int(options.round_words / CHUNK))
    words = workers * chunks * CHUNK
    plan = make_plan(model, tables, words, options.row_updates, workers)
    seconds = chunks * CHUNK / (threads * arguments.speed)
    exchanged = sum(block.bytes / block.period for block in plan.blocks) / 1e6
    # A worker sends its changes of all rows except those of its own blocks, and the values of its own blocks to all
    # others.
    sent = 2 * exchanged * (workers - 1) / workers
    hot = sum(block.rows for block in plan.blocks if block.hot)
    rates = [min(arguments.rate, 1000 * network / 8) for network in NETWORKS]
    fractions = [seconds / (seconds + arguments.wait + sent / rate) for rate in rates]
    return [
        f"{workers:,}", f"{threads}", f"{words:,}", f"{seconds:.3f}", f"{hot:,}", f"{sent:.1f}",
        *(f"{fraction:.0%}" for fraction in fractions),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
