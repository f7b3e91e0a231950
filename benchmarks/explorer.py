"""How long the explorer takes to answer, over HTTP, with words that were not asked for before.

python benchmarks/explorer.py MODEL [--rounds 15] [-o benchmarks/results/explorer.md]
"""

from __future__ import annotations

import argparse
import http.client
import json
import platform
import random
import statistics
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from posvec.explorer.application import listen, make_application
from posvec.explorer.opened import OpenedModel, open_models
from reporting import commit, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "explorer.md")
    arguments = parser.parse_args()
    models = open_models({"model": arguments.model})
    before = time.perf_counter()
    for step in models["model"].warm():
        step()
    warm = time.perf_counter() - before
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(make_application(models), log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        times = measure(models["model"], listening.getsockname()[1], arguments.rounds)
        server.should_exit = True
        thread.join()
    arguments.output.write_text(report(models["model"], times, warm, arguments.rounds))
    print(arguments.output.read_text())


def measure(opened: OpenedModel, port: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each route, asked in turn."""
    words = opened.model.vocabulary.words[:20_000]
    draw = random.Random(1)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times: dict[str, list[float]] = {}
    for turn in range(rounds + 1):
        a, b, c, d = draw.sample(words, 4)
        sentence = f"{a} {b} [MASK] {c} {d}"
        asked = {
            "masked": {"sentence": sentence},
            "explanation": {"sentence": sentence, "word": a},
            "positions": {},
            "clusters": {},
            "context-words": {},
            "examples": {},
            "word": {"word": a},
            "neighbors": {"word": a},
            "similarity": {"one": a, "other": b},
            "analogy": {"a": a, "b": b, "c": c},
            "map": {"word": a},
            "model": {},
        }
        for path, parameters in asked.items():
            begin = time.perf_counter()
            connection.request("GET", f"/api/{path}?{urlencode({'model': 'model', **parameters})}")
            response = connection.getresponse()
            body = json.loads(response.read())
            if response.status != 200:
                raise SystemExit(f"{path}: {body}")
            if turn:  # the first one opens the connection
                times.setdefault(path, []).append(1000 * (time.perf_counter() - begin))
    return times


def report(opened: OpenedModel, times: dict[str, list[float]], warm: float, rounds: int) -> str:
    rows = "\n".join(
        f"| {path} | {statistics.median(each):.0f} | {max(each):.0f} |" for path, each in sorted(times.items())
    )
    shape = repr(opened.model).strip("<>")
    return f"""# Answers of the explorer

Over HTTP on one machine, a {shape}; {rounds} rounds, other words in each.

| route | median ms | longest ms |
|---|---|---|
{rows}

Before, in the background, the tables are read and clusters and examples found: {warm:.1f} s.

    python benchmarks/explorer.py MODEL --rounds {rounds}

{cpu()}, Python {platform.python_version()}, commit {commit()}.
"""


if __name__ == "__main__":
    main()
