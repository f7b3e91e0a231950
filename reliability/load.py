"""Load over a long time: an hour of training on growing texts, and many clients of the explorer at once.

    python reliability/load.py training [--minutes 60] [--first 200000]
    python reliability/load.py explorer MODEL [--clients 50] [--minutes 5]

``training`` trains, saves, loads and queries a model in rounds, each on a stream 1.5 times as long as the one before,
and records the memory of the process every minute. ``explorer`` starts ``posvec explore``; every client sends the
requests of its pages one after another.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np

import posvec
from posvec.storage.records import TrainingProgress

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from reporting import made_by, table, write

RESULTS = Path(__file__).parents[1] / "results" / "reliability"
WORDS = 3000
MEGABYTE = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("training")
    training.add_argument("--minutes", type=float, default=60)
    training.add_argument("--first", type=int, default=200_000, help="words in the first round")
    explorer = commands.add_parser("explorer")
    explorer.add_argument("model", type=Path)
    explorer.add_argument("--minutes", type=float, default=5)
    explorer.add_argument("--clients", type=int, default=50)
    arguments = parser.parse_args()
    sys.exit(load_training(arguments) if arguments.command == "training" else load_explorer(arguments))


# ---- training ---------------------------------------------------------------------------------------------------


class Memory(NamedTuple):
    """Memory of the process in MB: its own, and pages of mapped files, which the system can reclaim."""

    minute: float
    round: int
    words: int
    own: float
    files: float


class Round(NamedTuple):
    words: int
    seconds: float
    cpu_seconds: float
    own: float
    files: float
    loss: float


class Watch:
    """Measures the memory of this process five times a second; keeps the maxima of each minute and each round."""

    def __init__(self) -> None:
        self.round, self.words = 0, 0
        self.minutes: list[Memory] = []
        self.highest = (0.0, 0.0)
        self._begin = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure)
        self._thread.start()

    def begin(self, words: int) -> None:
        self.round, self.words, self.highest = self.round + 1, words, resident_memory()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _measure(self) -> None:
        highest = (0.0, 0.0)
        while not self._over.wait(0.2):
            now = resident_memory()
            highest = max(highest[0], now[0]), max(highest[1], now[1])
            self.highest = max(self.highest[0], now[0]), max(self.highest[1], now[1])
            minute = (time.monotonic() - self._begin) / 60
            if minute >= len(self.minutes) + 1:
                self.minutes.append(Memory(round(minute, 1), self.round, self.words, *highest))
                print(self.minutes[-1], flush=True)
                highest = (0.0, 0.0)


def load_training(arguments: argparse.Namespace) -> int:
    end = time.monotonic() + 60 * arguments.minutes
    watch, rounds = Watch(), list[Round]()
    words = arguments.first
    try:
        with tempfile.TemporaryDirectory(dir=os.environ.get("POSVEC_CACHE")) as folder:
            os.environ["POSVEC_CACHE"] = folder
            while time.monotonic() < end:
                watch.begin(words)
                rounds.append(train_once(words, Path(folder, "model"), end, watch))
                posvec.corpus.encoding.clear_cache()
                words += words // 2
                write(RESULTS / "load-training.md", training_report(arguments, watch.minutes, rounds))
    finally:
        watch.end()
    print(training_report(arguments, watch.minutes, rounds))
    return 0


def train_once(words: int, output: Path, end: float, watch: Watch) -> Round:
    class Deadline:
        def on_chunk(self, progress: TrainingProgress) -> None:
            if time.monotonic() > end:
                raise posvec.StopTraining

        def on_epoch(self, progress: TrainingProgress) -> None: ...

    begin, cpu = time.monotonic(), time.process_time()
    posvec.train(
        sentences(words), "constrained", dim=100, threads=1, sample=1e-3, checkpoint_minutes=5, callbacks=[Deadline()],
        output=output, overwrite=output.exists(),
    )  # fmt: skip
    model = posvec.load(output)
    model.vectors.most_similar_batch(model.vocabulary.words[:100])
    assert model.report is not None
    return Round(words, time.monotonic() - begin, time.process_time() - cpu, *watch.highest, model.report.loss)


def sentences(words: int, length: int = 20) -> Iterator[str]:
    """Sentences of words drawn by Zipf's law from one vocabulary."""
    draw = np.random.default_rng(words)
    syllables = np.array([one + two for one in "bdfgklmnprstvz" for two in "aeiou"])
    vocabulary = np.array(["".join(each) for each in syllables[np.random.default_rng(1).integers(70, size=(WORDS, 3))]])
    weights = 1 / np.arange(1, WORDS + 1)
    ends = np.cumsum(weights / weights.sum())
    for _ in range(0, words, 1000 * length):
        chosen = np.searchsorted(ends[:-1], draw.random((1000, length)))
        yield from (" ".join(vocabulary[each]) for each in chosen)


def resident_memory() -> tuple[float, float]:
    """MB of this process's own memory, and of resident pages of mapped files."""
    status = Path("/proc/self/status").read_text()
    own, files = (int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) for name in ("RssAnon", "RssFile"))  # type: ignore[index]
    return own / 1024, files / 1024


def training_report(arguments: argparse.Namespace, minutes: list[Memory], rounds: list[Round]) -> str:
    # Warm-up: until every word is in the vocabulary and the text has more blocks than are in memory at once.
    warm = [each for each in minutes if each.round > WARM]
    slope = np.polyfit([each.minute for each in warm], [each.own for each in warm], 1)[0] * 60 if len(warm) > 1 else 0.0
    later = rounds[WARM:] or rounds
    low, high = min(each.own for each in later), max(each.own for each in later)
    growth = later[-1].words / later[0].words
    memory = ["own memory, peak MB", "mapped files, peak MB"]
    head = ["round", "words of the stream", "seconds", "CPU seconds", *memory, "loss"]
    lines = [
        [str(number), f"{each.words:,}", f"{each.seconds:,.0f}", f"{each.cpu_seconds:,.0f}", f"{each.own:,.1f}",
         f"{each.files:,.1f}", f"{each.loss:.3f}"]
        for number, each in enumerate(rounds, 1)
    ]  # fmt: skip
    by_minute = [
        [f"{each.minute:g}", str(each.round), f"{each.words:,}", f"{each.own:,.1f}", f"{each.files:,.1f}"]
        for each in minutes
    ]
    command = f"python reliability/load.py training --minutes {arguments.minutes:g} --first {arguments.first}"
    return f"""# An hour of training on growing input

One process trains a constrained model (D = 100, one thread) in rounds, each on a stream of sentences 1.5 times as long
as the one before, then saves, loads and queries it. Own memory is the process's RssAnon; mapped files (RssFile) are the
encoded text and the saved model, which the system can reclaim. Memory is measured five times a second.

After {WARM} rounds of warm-up, when every word is in the vocabulary and the text has more blocks of 4 MB than are in
memory at once, the streams grew {growth:.1f} times and the peak of own memory stayed between {low:,.1f} and {high:,.1f}
MB ({(high - low) / low:+.1%}); its slope over the minutes is {slope:+.1f} MB per hour.

{table(head, lines)}

By minute:

{table(["minute", "round", "words of the stream", *memory], by_minute)}

{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(command, "numpy")}"""


WARM = 9


# ---- the explorer -----------------------------------------------------------------------------------------------


def load_explorer(arguments: argparse.Namespace) -> int:
    process = subprocess.Popen(
        [sys.executable, "-m", "posvec", "explore", arguments.model, "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        printed = process.stdout.readline()
        address = re.search(r"http://([^/]+)/", printed)
        if not address:
            sys.exit(f"the explorer did not start: {printed}")
        clients = Clients(address[1], arguments.model, arguments.clients, process.pid)
        clients.ask(time.monotonic() + 60 * arguments.minutes)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    report = explorer_report(arguments, clients, process.returncode)
    write(RESULTS / "load-explorer.md", report)
    print(report)
    return 1 if clients.failures or process.returncode else 0


class Clients:
    """Concurrent clients, each sending one request after another over its own connection."""

    def __init__(self, host: str, model: Path, clients: int, server: int) -> None:
        self.host, self.name, self.clients, self.server = host, model.name, clients, server
        self.model = posvec.load(model)
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.failures: list[str] = []
        self.memory: list[float] = []

    def ask(self, end: float) -> None:
        threads = [threading.Thread(target=self._client, args=(number, end)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            status = Path(f"/proc/{self.server}/status").read_text()
            self.memory.append(int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024)  # type: ignore[index]
            time.sleep(min(10, max(0.1, end - time.monotonic())))
        for thread in threads:
            thread.join()

    def _client(self, number: int, end: float) -> None:
        draw = random.Random(number)
        connection = http.client.HTTPConnection(self.host, timeout=300)
        while time.monotonic() < end:
            name, path = self._question(draw)
            begin = time.monotonic()
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read()
                if response.status != 200 or body.startswith(b'{"error"'):
                    self.failures.append(f"{path}: {response.status} {body[:200]!r}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{path}: {error!r}")
                connection.close()
            self.taken[name].append(1000 * (time.monotonic() - begin))

    def _question(self, draw: random.Random) -> tuple[str, str]:
        from explorer import questions  # benchmarks/explorer.py, which needs the extra of that name

        asked = questions(self.model, draw)
        name = draw.choice(["page", "script", *asked])
        if name in asked:
            return name, f"/api/{name}?{urlencode({'model': self.name, **asked[name]})}"
        return name, "/gap" if name == "page" else "/static/app.js"


def explorer_report(arguments: argparse.Namespace, clients: Clients, code: int) -> str:
    every = [each for times in clients.taken.values() for each in times]
    rows = [
        [name, f"{len(times):,}", *quantiles(times)]
        for name, times in [*sorted(clients.taken.items()), ("all", every)]
    ]  # fmt: skip
    failures = "\n".join(f"    {each}" for each in clients.failures[:20])
    command = f"python reliability/load.py explorer MODEL --clients {arguments.clients} --minutes {arguments.minutes:g}"
    return f"""# Many clients of the explorer at once

{arguments.clients} clients, each sending one request after another over its own connection for
{arguments.minutes:g} minutes, about random words; {posvec.load(arguments.model)!r}. Clients and server
share the machine, whose load average was {os.getloadavg()[1]:.0f}: times are those of a server that is never idle.

{len(every):,} requests, {len(clients.failures)} errors; the explorer ended with exit code {code}. Its own memory was
{clients.memory[0]:,.0f} MB at first, at most {max(clients.memory):,.0f} MB, and {clients.memory[-1]:,.0f} MB at the
end.

{failures}
{table(["request", "count", "median ms", "95 % within", "99 % within", "longest ms"], rows)}

{datetime.now(timezone.utc):%Y-%m-%d}. {made_by(command, "uvicorn", "fastapi")}"""


def quantiles(times: list[float]) -> list[str]:
    cuts = statistics.quantiles(times, n=100, method="inclusive") if len(times) > 1 else times * 99
    return [f"{each:,.0f}" for each in (cuts[49], cuts[94], cuts[98], max(times))]


if __name__ == "__main__":
    main()
