"""Kill commands of posvec at random moments and check that nothing is lost.

    python reliability/crash.py [--runs N] [--seed S] [ACTION...]

Each run creates its inputs, starts the command and kills it (SIGKILL to its process group). Then every output must be
absent, the old complete version, the new complete version, or a partial one that can be resumed. The command, given
again, or posvec resume must succeed. The result must be that of a run that was never killed, and no temporary file may
be left. Some runs are killed a second time, while they recover. Writes results/reliability/crash.md if all actions ran.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from actions import ACTIONS, Action, Fault, Inputs, missing_module, serving
from killing import NEVER, Ended, Moment, run
from posvec.system.atomic import TEMPORARY

RESULT = Path(__file__).parents[1] / "results" / "reliability" / "crash.md"
MAX_RUNS = {"search": 30, "reproduce": 12, "lm": 6}  # of slow actions
STATES = ("absent", "old", "partial", "new")


@dataclass
class Outcome:
    """What the runs of one action led to."""

    runs: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    faults: list[str] = field(default_factory=list)


def crash(action: Action, runs: int, seed: int) -> Outcome:
    """Run an action several times, killing each run once or twice."""
    outcome = Outcome()
    log = action.folder.with_name("log")
    undisturbed: dict[str, tuple[Ended, object]] = {}  # how each variant ends, and its result, if it is not killed
    for number in range(runs):
        draw = random.Random(f"{type(action).__name__} {seed} {number}")
        variant_seed = draw.random()
        variant = _prepare(action, variant_seed)
        if variant not in undisturbed:
            # The first run also imports what is imported late; only the second one is timed.
            expected = _result(action, run(action.command, log))
            _prepare(action, variant_seed)
            undisturbed[variant] = run(action.command, log), expected
            _prepare(action, variant_seed)
        complete, expected = undisturbed[variant]
        outcome.runs += 1
        command: Callable[[], object] = action.command
        moment = NEVER
        try:
            for _ in range(draw.choice([1, 1, 2])):
                moment = _draw_moment(draw, complete)
                ended = run(command, log, moment)
                if not ended.killed and ended.code:
                    raise Fault(f"the command failed: {ended.output}")
                outcome.killed["time" if moment.operation < 0 else "operation"] += ended.killed
                state = action.state()
                outcome.states[state] += 1
                command = partial(action.recover, state)
            if _result(action, run(command, log)) != expected:
                raise Fault("the result is not that of a run that was never killed")
            outcome.recovered += 1
        except Exception:
            outcome.faults.append(f"run {number}, {moment}: {traceback.format_exc().strip().splitlines()[-1]}")
            print(f"FAULT {type(action).__name__} {outcome.faults[-1]}", flush=True)
    return outcome


def _prepare(action: Action, seed: float) -> str:
    """Create the inputs of a run in an empty folder; the name of the variant."""
    shutil.rmtree(action.folder, ignore_errors=True)
    action.folder.mkdir()
    return action.prepare(random.Random(seed))


def _draw_moment(draw: random.Random, complete: Ended) -> Moment:
    """A CPU time within that of an undisturbed run, or one of its file operations."""
    if draw.random() < 0.5:
        return Moment(cpu_seconds=draw.random() * complete.cpu_seconds)
    return Moment(operation=draw.randint(1, complete.operations))


def _result(action: Action, ended: Ended) -> object:
    """The result of a command that was not killed."""
    if ended.code:
        raise Fault(f"the command failed: {ended.output}")
    left = [path for path in action.folder.rglob("*") if TEMPORARY.fullmatch(path.name)]
    if left:
        raise Fault(f"{len(left)} temporary files were left, for example {left[0]}")
    return action.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("actions", nargs="*", metavar="ACTION", help=", ".join(ACTIONS), default=[])
    parser.add_argument("--runs", type=int, default=50, help="runs of each action (default 50; fewer of slow actions)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    unknown = set(options.actions) - set(ACTIONS)
    if unknown:
        parser.error(f"unknown action {', '.join(sorted(unknown))}; choose from {', '.join(ACTIONS)}")
    sys.dont_write_bytecode = True
    os.environ["OMP_NUM_THREADS"] = "1"  # every run is a fork, which must not have threads
    began, rows, faults = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(prefix="posvec-crash-") as temporary, serving():
        folder = Path(temporary) / "run"
        os.environ["POSVEC_CACHE"] = str(folder / "cache")
        inputs = Inputs(Path(temporary) / "inputs")
        for name in options.actions or ACTIONS:
            if absent := missing_module(ACTIONS[name]):
                print(f"{name}: skipped, {absent} is not installed", flush=True)
                rows.append([name, "0", "–", "–", "–", f"skipped: no {absent}"])
                continue
            runs = min(options.runs, MAX_RUNS.get(name, options.runs))
            outcome = crash(ACTIONS[name](inputs, folder), runs, options.seed)
            faults += [f"- {name}, {fault}" for fault in outcome.faults]
            states = ", ".join(f"{state} {outcome.states[state]}" for state in STATES if outcome.states[state])
            killed = f"{outcome.killed['time']} + {outcome.killed['operation']}"
            rows.append([name, str(outcome.runs), killed, states, str(outcome.recovered), str(len(outcome.faults))])
            print(" | ".join(rows[-1]), f"| {time.monotonic() - began:.0f} s", flush=True)
    if not options.actions:
        _write_report(rows, faults, options.runs, options.seed)
    sys.exit(bool(faults))


def _write_report(rows: list[list[str]], faults: list[str], runs: int, seed: int) -> None:
    head = ["action", "runs", "killed (at a time + before an operation)", "state afterwards", "recovered", "faults"]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])
    total = sum(int(row[1]) for row in rows)
    found = f"{len(faults)} faults:\n\n" + "\n".join(faults) if faults else "no fault."
    RESULT.write_text(f"""# Commands killed at random moments

Made by `python reliability/crash.py --runs {runs} --seed {seed}` on {time.strftime("%Y-%m-%d")}.
Inputs: a corpus of 42,000 words, models with D = 20. Times are CPU times, drawn uniformly from that of an undisturbed
run. Operations are file operations (open for writing, rename, remove, lock, create a folder). Some runs are killed
twice, the second time while they recover. Recovered: the result was that of a run that was never killed.

{table}

{total} runs in total, {found}
""")


if __name__ == "__main__":
    main()
