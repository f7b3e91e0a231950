"""Response times of the explorer over HTTP, for words that were not requested before.

python benchmarks/explorer.py MODEL [MODEL ...] [--rounds 40] [-o results/benchmarks/explorer.md]
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

from posvec import Model
from posvec.explorer.application import listen, server_settings
from posvec.explorer.loaded_models import LoadedModel, load_models
from reporting import RESULTS, commit, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "explorer.md")
    arguments = parser.parse_args()
    models = load_models({str(path): path for path in arguments.models})
    warm = {name: warm_up(loaded) for name, loaded in models.items()}
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(server_settings(models))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            times = measure(models, listening.getsockname()[1], arguments.rounds)
        finally:
            server.should_exit = True
            thread.join()
    arguments.output.write_text(report(models, times, warm, arguments.rounds))
    print(arguments.output.read_text())


def warm_up(loaded: LoadedModel) -> float:
    """Seconds of the steps that the explorer does in the background after it starts."""
    begin = time.perf_counter()
    for step in loaded.warm_up_steps():
        step()
    return time.perf_counter() - begin


def measure(models: dict[str, LoadedModel], port: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of each call, in rounds over all models and calls."""
    draw = random.Random(1)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times: dict[str, dict[str, list[float]]] = {name: {} for name in models}
    for turn in range(rounds + 1):
        for name, loaded in models.items():
            for path, parameters in questions(loaded.model, draw).items():
                begin = time.perf_counter()
                connection.request("GET", f"/api/{path}?{urlencode({'model': name, **parameters})}")
                response = connection.getresponse()
                body = json.loads(response.read())
                taken = 1000 * (time.perf_counter() - begin)
                if response.status != 200 or "error" in body:
                    raise SystemExit(f"{path}: {body}")
                if turn:  # the first one opens the connection
                    times[name].setdefault(path, []).append(taken)
    return times


def questions(model: Model, draw: random.Random) -> dict[str, dict[str, str]]:
    """The calls of the pages, for random words."""
    a, b, c, d = draw.sample(model.vocabulary.words[:20_000], 4)
    sentence = f"{a} {b} [MASK] {c} {d}"
    positional = {"positions": {}, "clusters": {}, "context-words": {}, "examples": {}}
    return {
        "models": {},
        "model": {},
        "masked": {"sentence": sentence},
        "explanation": {"sentence": sentence, "word": a},
        **(positional if model.config.model.positional_dim else {}),
        "word": {"word": a},
        "neighbors": {"word": a},
        "similarity": {"first": a, "second": b},
        "analogy": {"a": a, "b": b, "c": c},
        "map": {"word": a},
    }


def report(
    models: dict[str, LoadedModel], times: dict[str, dict[str, list[float]]], warm: dict[str, float], rounds: int
) -> str:
    parts = []
    for name, loaded in models.items():
        rows = "\n".join(
            f"| {path} | {statistics.median(each):.1f} | {statistics.quantiles(each, n=20)[-1]:.1f} |"
            for path, each in times[name].items()
        )
        shape = repr(loaded.model).strip("<>")
        parts.append(f"""
## {shape[:1].upper()}{shape[1:]}

| call | median ms | 95 % within ms |
|---|---|---|
{rows}

The steps in the background after the start (reading the tables, slow results) take {warm[name]:.1f} s.
""")
    slow = [path for calls in times.values() for path, each in calls.items() if statistics.median(each) >= 100]
    return f"""# Response times of the explorer

Over HTTP on one machine, {rounds} rounds of all calls with different words in each. Calls with a median of 100 ms or
more: {", ".join(slow) or "none"}. {"".join(parts)}
    python benchmarks/explorer.py {"MODEL " * len(models)}--rounds {rounds}

{cpu()}, Python {platform.python_version()}, commit {commit()}.
"""


if __name__ == "__main__":
    main()
